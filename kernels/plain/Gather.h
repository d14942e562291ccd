#include "parts/axis.h"
#include "parts/normal_axis.h"

// Gather: slices of the data along an axis, in the order of the indices.
template <class T, class I>
void Gather(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis"), data.rank());
  kw::Shape shape;
  for (int i = 0; i < axis; ++i) shape.push(data.shape(i));
  for (int i = 0; i < indices.rank(); ++i) shape.push(indices.shape(i));
  for (int i = axis + 1; i < data.rank(); ++i) shape.push(data.shape(i));
  y.allocate(shape);
  const AlongAxis view = along(data.shape(), axis);
  T* to = y.data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t index : indices) {
      const int64_t place = o * view.length + (index < 0 ? index + view.length : index);
      to = std::copy_n(data.data() + place * view.inner, view.inner, to);
    }
  }
}
