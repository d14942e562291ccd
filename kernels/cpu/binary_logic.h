// Comparisons and logic of two tensors, broadcast: whole runs at a time, in vectors.
//
// serves: And, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Or, Xor
// types: bool, float32, int32, int64
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/binary_runs.h"

template <class T>
void Equal(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](Stored<T> p, Stored<T> q) { return p == q; });
}
template <class T>
void Greater(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](T p, T q) { return p > q; });
}
template <class T>
void GreaterOrEqual(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](T p, T q) { return p >= q; });
}
template <class T>
void Less(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](T p, T q) { return p < q; });
}
template <class T>
void LessOrEqual(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](T p, T q) { return p <= q; });
}
inline void And(const kw::Node& node, kw::Tensor<const bool> a, kw::Tensor<const bool> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](uint8_t p, uint8_t q) { return p & q; });
}
inline void Or(const kw::Node& node, kw::Tensor<const bool> a, kw::Tensor<const bool> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](uint8_t p, uint8_t q) { return p | q; });
}
inline void Xor(const kw::Node& node, kw::Tensor<const bool> a, kw::Tensor<const bool> b, kw::Tensor<bool>& y) {
  binary(node, a, b, y, [](uint8_t p, uint8_t q) { return p ^ q; });
}
