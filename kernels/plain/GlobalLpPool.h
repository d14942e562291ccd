#pragma once

#include <kernelwright.h>

#include "parts/global_pool.h"
#include "parts/norm.h"
#include "parts/wide.h"

// GlobalLpPool: the p-norm of each channel.
template <class T>
void GlobalLpPool(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t p = node.integer("p");
  pool_channels(x, y, [p](const T* first, int64_t count) {
    Wide<T> sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += magnitude_power(Wide<T>(first[i]), p);
    return root_of_powers(sum, p);
  });
}
