#pragma once

#include "common.cuh"

// Tuples of indices, which lie along the last axis: which slice of the data each points to.
struct Tuples {
  int64_t width, count, run;  // of a tuple; of all tuples of a batch; elements of a slice
  int64_t slices;             // of the data of a batch
  int64_t lengths[8];         // of the axes that a tuple names
#ifdef __CUDACC__
  template <class I>
  __device__ int64_t place(const I* indices, int64_t tuple) const {
    int64_t at = 0;
    for (int64_t k = 0; k < width; ++k) {
      const int64_t index = int64_t(indices[tuple * width + k]);
      at = at * lengths[k] + (index < 0 ? index + lengths[k] : index);
    }
    return at;
  }
#endif
};

#ifndef __CUDACC__
inline Tuples tuples_of(const kw::Shape& data, const kw::Shape& indices, int batch) {
  const int last = indices.rank - 1, width = static_cast<int>(indices[last]);
  Tuples of{width, indices.count(batch, last), data.count(batch + width, data.rank), data.count(batch, batch + width), {}};
  for (int k = 0; k < width; ++k) of.lengths[k] = data[batch + k];
  return of;
}
#endif
