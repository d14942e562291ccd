// Elements moved along an axis by indices, row by row, with the row's place in the data worked out once.
//
// serves: GatherElements, ScatterElements
#include "parts/quiet.h"
#include "../plain/parts/join.h"
#include "../plain/parts/normal_axis.h"
#include "../plain/parts/strides.h"

// Calls f(i, place) for every element i of the indices and the place in the data that it points to; places of rows are
// counted up rather than divided out.
template <class I, class F>
inline void each_place(const kw::Shape& data, kw::Tensor<const I> indices, int axis, F f) {
  if (indices.count() == 0) return;
  const kw::Shape steps = strides_of(data);
  const kw::Shape& shape = indices.shape();
  const int last = shape.rank - 1;
  const int64_t row = shape[last], length = data[axis], step = steps[axis];
  int64_t at[KW_MAX_RANK] = {}, base = 0;
  for (int64_t begin = 0; begin < indices.count(); begin += row) {
    const I* index = indices.data() + begin;
    if (axis == last) {
      for (int64_t i = 0; i < row; ++i) f(begin + i, base + int64_t(index[i]) + (index[i] < 0 ? length : 0));
    } else {
      for (int64_t i = 0; i < row; ++i) {
        f(begin + i, base + i + (int64_t(index[i]) + (index[i] < 0 ? length : 0)) * step);
      }
    }
    for (int a = last - 1; a >= 0; --a) {
      if (a != axis) base += steps[a];
      if (++at[a] < shape[a]) break;
      if (a != axis) base -= shape[a] * steps[a];
      at[a] = 0;
    }
  }
}

template <class T, class I>
void GatherElements(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y) {
  y.allocate(indices.shape());
  T* to = y.data();
  const T* from = data.data();
  each_place(data.shape(), indices, normal_axis(node.integer("axis"), data.rank()),
             [to, from](int64_t i, int64_t place) { to[i] = from[place]; });
}

template <class T, class I>
void ScatterElements(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices,
                     kw::Tensor<const T> updates, kw::Tensor<T>& y) {
  y.allocate(data.shape());
  if (data.count() > 0) memcpy(y.data(), data.data(), static_cast<std::size_t>(data.count()) * sizeof(T));
  const int axis = normal_axis(node.integer("axis"), data.rank());
  T* to = y.data();
  const T* from = updates.data();
  with_join<T>(node, [&](auto join) {
    each_place(data.shape(), indices, axis, [=](int64_t i, int64_t place) { join(to[place], from[i]); });
  });
}
