#pragma once

#include "common.cuh"

// A tensor seen along one axis: outer x length x inner.
struct AlongAxis {
  int64_t length, inner;
#ifdef __CUDACC__
  // The first element of the row that element i is in.
  __device__ int64_t first(int64_t i) const { return i / (length * inner) * (length * inner) + i % inner; }
#endif
};

#ifdef __CUDACC__
template <class T>
__device__ double largest_of(const AlongAxis& of, const T* row) {
  double largest = -infinity();
  for (int64_t k = 0; k < of.length; ++k) largest = fmax(largest, double(row[k * of.inner]));
  return largest;
}
template <class T>
__device__ double sum_of_exponentials(const AlongAxis& of, const T* row) {
  const double largest = largest_of(of, row);
  double sum = 0;
  for (int64_t k = 0; k < of.length; ++k) sum += exp(double(row[k * of.inner]) - largest);
  return sum;
}
#else
inline AlongAxis along(const kw::Shape& shape, int64_t axis) {
  const int at = from_front(axis, shape.rank);
  return {shape[at], shape.count(at + 1, shape.rank)};
}
// Before opset 13 all axes from `axis` on are one.
inline AlongAxis softmax_axis(const kw::Node& node, const kw::Shape& shape) {
  if (node.integer("opset") >= 13) return along(shape, node.integer("axis", -1));
  const int axis = from_front(node.integer("axis", 1), shape.rank);
  return {shape.count(axis, shape.rank), 1};
}
#endif
