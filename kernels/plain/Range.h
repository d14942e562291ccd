#pragma once

#include <kernelwright.h>

#include "parts/range_count.h"
#include "parts/wide.h"

// Range: the numbers from start up to before limit, delta apart.
template <class T>
void Range(const kw::Node&, kw::Tensor<const T> start, kw::Tensor<const T> limit, kw::Tensor<const T> delta,
           kw::Tensor<T>& y) {
  y.allocate({range_count<T>(start[0], limit[0], delta[0])});
  const Wide<T> first = Wide<T>(start[0]);
  const Wide<T> step = Wide<T>(delta[0]);
  for (int64_t i = 0; i < y.count(); ++i) y[i] = T(first + Wide<T>(i) * step);
}
