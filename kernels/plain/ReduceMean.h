#pragma once

#include <kernelwright.h>

#include "parts/reduce.h"
#include "parts/wide.h"

// ReduceMean: the mean of the elements along the axes.
template <class T>
void ReduceMean(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  using W = Wide<T>;
  reduce_axes(
      node, x, axes, y, W(0), [](W sum, T value) { return sum + W(value); },
      [](W sum, int64_t terms) {
        if constexpr (std::is_integral_v<T>) {
          return terms == 0 ? T(0) : T(T(sum) / T(terms));  // in T, as W has no sign
        } else {
          return sum / W(terms);
        }
      });
}
