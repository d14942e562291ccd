#pragma once

#include <kernelwright.h>

#include "parts/global_pool.h"

// GlobalMaxPool: the largest element of each channel.
template <class T>
void GlobalMaxPool(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  pool_channels(x, y, [](const T* first, int64_t count) {
    T largest = first[0];
    for (int64_t i = 1; i < count; ++i) largest = first[i] > largest ? first[i] : largest;
    return largest;
  });
}
