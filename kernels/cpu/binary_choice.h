// The smaller, the larger or the sum of two tensors, broadcast: whole runs at a time, in vectors.
//
// serves: Max, Min, Sum
// types: float32, int32, int64
// when: inputs == 2
// parts: any
#pragma once

#include <kernelwright.h>

#include <vector>

#include "../plain/parts/wide.h"
#include "parts/binary_runs.h"

template <class T>
using Inputs = std::vector<kw::Tensor<const T>>;

template <class T>
void Max(const kw::Node& node, const Inputs<T>& xs, kw::Tensor<T>& y) {
  binary(node, xs[0], xs[1], y, [](T p, T q) { return p < q ? q : p; });
}
template <class T>
void Min(const kw::Node& node, const Inputs<T>& xs, kw::Tensor<T>& y) {
  binary(node, xs[0], xs[1], y, [](T p, T q) { return p > q ? q : p; });
}
template <class T>
void Sum(const kw::Node& node, const Inputs<T>& xs, kw::Tensor<T>& y) {
  binary(node, xs[0], xs[1], y, [](T p, T q) { return Wide<T>(p) + Wide<T>(q); });
}
