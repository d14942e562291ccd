#pragma once

#include <kernelwright.h>

// Fills `to` with `from` repeated along the axes from this one on. Returns the end of it.
template <class T>
T* tile_from_axis(const T* from, const kw::Shape& shape, const int64_t* repeats, int axis, T* to) {
  T* end = to;
  if (axis == shape.rank - 1) {
    end = std::copy_n(from, shape[axis], to);
  } else {
    const int64_t step = shape.count(axis + 1, shape.rank);
    for (int64_t i = 0; i < shape[axis]; ++i) end = tile_from_axis(from + i * step, shape, repeats, axis + 1, end);
  }
  const int64_t once = end - to;
  for (int64_t i = 1; i < repeats[axis]; ++i) end = std::copy_n(to, once, end);
  return end;
}

// Tile: the input repeated along every axis.
template <class T>
void Tile(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<const int64_t> repeats, kw::Tensor<T>& y) {
  kw::Shape shape = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) shape[axis] *= repeats[axis];
  y.allocate(shape);
  if (y.count() == 0) return;
  if (x.rank() == 0) {
    y[0] = x[0];
  } else {
    tile_from_axis(x.data(), x.shape(), repeats.data(), 0, y.data());
  }
}
