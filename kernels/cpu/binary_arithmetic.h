// Arithmetic of two tensors, broadcast: whole runs at a time, in vectors.
//
// serves: Add, BitwiseAnd, BitwiseOr, BitwiseXor, Div, Mul, PRelu, Sub
// types: float32, int32, int64
// parts: any
#pragma once

#include <kernelwright.h>

#include "../plain/parts/wide.h"
#include "parts/binary_runs.h"

template <class T>
void Add(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) { return Wide<T>(p) + Wide<T>(q); });
}
template <class T>
void Sub(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) { return Wide<T>(p) - Wide<T>(q); });
}
template <class T>
void Mul(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) { return Wide<T>(p) * Wide<T>(q); });
}
template <class T>
void Div(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (q == -1) return T(-Wide<T>(p));  // processors trap on the lowest number
    }
    return T(p / q);
  });
}
template <class T>
void PRelu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> slope, kw::Tensor<T>& y) {
  binary(node, x, slope, y, [](T value, T factor) {
    const T below = T(Wide<T>(factor) * Wide<T>(value));
    return value < 0 ? below : value;
  });
}
template <class T>
void BitwiseAnd(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) { return p & q; });
}
template <class T>
void BitwiseOr(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) { return p | q; });
}
template <class T>
void BitwiseXor(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  binary(node, a, b, y, [](T p, T q) { return p ^ q; });
}
