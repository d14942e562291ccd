#pragma once

#include <kernelwright.h>

#include "parts/padding_of.h"

// Pad: elements added around (or, negative, cut off): a constant, the edge repeated, the tensor mirrored or wrapped.
template <class T, class A>
void Pad(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> pads, kw::Tensor<const T> value,
         kw::Tensor<const A> axes, kw::Tensor<T>& y) {
  pad_all(x, padding_of(node, x, given_integers(node, pads, "pads"), value, axes), y);
}
