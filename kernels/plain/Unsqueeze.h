#include "parts/given_integers.h"
#include "parts/named_axes.h"

// Unsqueeze: with axes of length 1 put in; they count in the result's shape.
template <class T>
void Unsqueeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  const kw::List<int64_t> list = given_integers(node, axes, "axes");
  const int rank = x.rank() + static_cast<int>(list.size());
  const auto named = named_axes(list, rank);
  kw::Shape shape;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis) shape.push(named[axis] ? 1 : x.shape(next++));
  y.allocate(shape);
  std::copy(x.begin(), x.end(), y.data());
}
