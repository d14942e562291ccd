#pragma once

#include <kernelwright.h>

// Calls f(tuple, place) for every tuple of indices, which lie along their last axis: `place` counts the slices of the
// data that tuples can point to. The first `batch` axes belong to data and indices both.
template <class F>
void each_tuple(const kw::Shape& data, kw::Tensor<const int64_t> indices, int batch, F f) {
  const int last = indices.rank() - 1;
  const int width = static_cast<int>(indices.shape(last));
  const int64_t batches = indices.shape().count(0, batch);
  const int64_t tuples = indices.shape().count(batch, last);
  const int64_t* index = indices.data();
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t tuple = b * tuples; tuple < (b + 1) * tuples; ++tuple) {
      int64_t place = b;
      for (int i = 0; i < width; ++i, ++index) {
        const int64_t length = data[batch + i];
        place = place * length + (*index < 0 ? *index + length : *index);
      }
      f(tuple, place);
    }
  }
}
