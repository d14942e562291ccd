#pragma once

#include <kernelwright.h>

#include <vector>

#include "axis.h"
#include "given_integers.h"
#include "normal_axis.h"

// Gather and Split, run by run; `copy(from, count, to)` returns the end of what it wrote.

template <class T, class I, class Copy>
void gather_runs(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y,
                 Copy copy) {
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
      to = copy(data.data() + place * view.inner, view.inner, to);
    }
  }
}

template <class T, class Copy>
void split_runs(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> split,
                const std::vector<kw::Tensor<T>*>& ys, Copy copy) {
  const int axis = normal_axis(node.integer("axis"), x.rank());
  const AlongAxis all = along(x.shape(), axis);
  const kw::List<int64_t> lengths = given_integers(node, split, "split");
  const int64_t parts = static_cast<int64_t>(ys.size());
  const int64_t equal = (all.length + parts - 1) / parts;
  int64_t begin = 0;
  for (int64_t part = 0; part < parts; ++part) {
    kw::Shape shape = x.shape();
    shape[axis] = lengths.empty() ? std::min(equal, all.length - begin) : lengths[part];
    ys[part]->allocate(shape);
    T* to = ys[part]->data();
    for (int64_t o = 0; o < all.outer; ++o) {
      to = copy(x.data() + (o * all.length + begin) * all.inner, shape[axis] * all.inner, to);
    }
    begin += shape[axis];
  }
}
