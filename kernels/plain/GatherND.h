#pragma once

#include <kernelwright.h>

#include "parts/tuples.h"

// GatherND: for every tuple of indices the slice of the data that it points to.
template <class T>
void GatherND(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const int64_t> indices, kw::Tensor<T>& y) {
  const int batch = static_cast<int>(node.integer("batch_dims"));
  const int first_of_slice = batch + static_cast<int>(indices.shape(-1));
  kw::Shape shape(indices.rank() - 1, indices.shape().dims);
  for (int i = first_of_slice; i < data.rank(); ++i) shape.push(data.shape(i));
  y.allocate(shape);
  const int64_t run = data.shape().count(first_of_slice, data.rank());
  each_tuple(data.shape(), indices, batch, [&](int64_t tuple, int64_t place) {
    std::copy_n(data.data() + place * run, run, y.data() + tuple * run);
  });
}
