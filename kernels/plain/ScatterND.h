#pragma once

#include <kernelwright.h>

#include "parts/join.h"
#include "parts/tuples.h"

// ScatterND: the data with a slice replaced (or joined) at every tuple of indices.
template <class T>
void ScatterND(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const int64_t> indices,
               kw::Tensor<const T> updates, kw::Tensor<T>& y) {
  y.allocate(data.shape());
  std::copy(data.begin(), data.end(), y.data());
  const int64_t run = data.shape().count(static_cast<int>(indices.shape(-1)), data.rank());
  with_join<T>(node, [&](auto join) {
    each_tuple(data.shape(), indices, 0, [&](int64_t tuple, int64_t place) {
      for (int64_t i = 0; i < run; ++i) join(y[place * run + i], updates[tuple * run + i]);
    });
  });
}
