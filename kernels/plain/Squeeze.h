#include "parts/given_integers.h"
#include "parts/named_axes.h"

// Squeeze: without axes of length 1, those named, or all.
template <class T>
void Squeeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  const bool all = !axes.given() && !node.has("axes");
  const auto named = named_axes(given_integers(node, axes, "axes"), x.rank());
  kw::Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!(all ? x.shape(axis) == 1 : named[axis])) shape.push(x.shape(axis));
  }
  y.allocate(shape);
  std::copy(x.begin(), x.end(), y.data());
}
