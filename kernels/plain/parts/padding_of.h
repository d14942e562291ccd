#pragma once

#include <kernelwright.h>

#include "given_integers.h"
#include "margins.h"
#include "normal_axis.h"

// What a Pad adds around its input.
template <class T, class A>
Padding<T> padding_of(const kw::Node& node, kw::Tensor<const T> x, const kw::List<int64_t>& margins,
                      kw::Tensor<const T> value, kw::Tensor<const A> axes) {
  Padding<T> padding;
  padding.outside = node.is("mode", "edge")      ? Outside::edge
                    : node.is("mode", "reflect") ? Outside::reflect
                    : node.is("mode", "wrap")    ? Outside::wrap
                                                 : Outside::constant;
  padding.filler = value.given() ? value[0] : T(node.real("value"));
  for (int axis = 0; axis < x.rank(); ++axis) padding.axes[axis] = padded_axis(x.shape(axis), 0, 0);
  const int64_t count = margins.size() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int axis = axes.given() ? normal_axis(axes[i], x.rank()) : static_cast<int>(i);
    padding.axes[axis] = padded_axis(x.shape(axis), margins[i], margins[count + i]);
  }
  return padding;
}
