#pragma once

#include <kernelwright.h>

#include "parts/global_pool.h"
#include "parts/wide.h"

// GlobalAveragePool: the mean of each channel.
template <class T>
void GlobalAveragePool(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  pool_channels(x, y, [](const T* first, int64_t count) {
    Wide<T> sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += Wide<T>(first[i]);
    return sum / Wide<T>(count);
  });
}
