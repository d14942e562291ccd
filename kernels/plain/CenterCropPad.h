#pragma once

#include <kernelwright.h>

#include "parts/margins.h"
#include "parts/normal_axis.h"

// CenterCropPad: the middle of the input, cut or surrounded with zeros to the lengths asked for.
template <class T, class I>
void CenterCropPad(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const I> lengths, kw::Tensor<T>& y) {
  Padding<T> padding;
  padding.outside = Outside::constant;
  padding.filler = T(0);
  for (int axis = 0; axis < x.rank(); ++axis) padding.axes[axis] = padded_axis(x.shape(axis), 0, 0);
  const kw::List<int64_t> axes = node.integers("axes");
  for (int64_t i = 0; i < lengths.count(); ++i) {
    const int axis = normal_axis(axes.empty() ? i : axes[i], x.rank());
    // An odd element is cut off or added at the end: the division drops it on either side of zero.
    const int64_t more = lengths[i] - x.shape(axis);
    padding.axes[axis] = padded_axis(x.shape(axis), more / 2, more - more / 2);
  }
  pad_all(x, padding, y);
}
