#include "parts/given_integers.h"
#include "parts/margins.h"
#include "parts/normal_axis.h"

// Pad: elements added around (or, negative, cut off): a constant, the edge repeated, the tensor mirrored or wrapped.
template <class T, class A>
void Pad(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> pads, kw::Tensor<const T> value,
         kw::Tensor<const A> axes, kw::Tensor<T>& y) {
  Padding<T> padding;
  padding.outside = node.is("mode", "edge")      ? Outside::edge
                    : node.is("mode", "reflect") ? Outside::reflect
                    : node.is("mode", "wrap")    ? Outside::wrap
                                                 : Outside::constant;
  padding.filler = value.given() ? value[0] : T(node.real("value"));
  for (int axis = 0; axis < x.rank(); ++axis) padding.axes[axis] = padded_axis(x.shape(axis), 0, 0);
  const kw::List<int64_t> margins = given_integers(node, pads, "pads");
  const int64_t count = margins.size() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int axis = axes.given() ? normal_axis(axes[i], x.rank()) : static_cast<int>(i);
    padding.axes[axis] = padded_axis(x.shape(axis), margins[i], margins[count + i]);
  }
  pad_all(x, padding, y);
}
