#pragma once

#include "along_axis.cuh"

// Split: parts along an axis, of given lengths, or equal but for the last.
struct Split_node {
  AlongAxis view;  // of the input
  int64_t begins[65];
};

#ifdef __CUDACC__
template <int part, class T, class S>
__device__ T Split_more(const Split_node& of, int64_t i, const T* x, const S*) {
  const int64_t begin = of.begins[part], length = of.begins[part + 1] - begin;
  const int64_t at = i / of.view.inner % length, outer = i / of.view.inner / length;
  return x[(outer * of.view.length + begin + at) * of.view.inner + i % of.view.inner];
}
template <class T, class S>
__device__ T Split(const Split_node& of, int64_t i, const T* x, const S* split) {
  return Split_more<0>(of, i, x, split);
}
#else
template <int parts>
Split_node Split_plan(const kw::Node& node, kw::Shape (&y)[parts], const Given& x, const Given& split) {
  static_assert(parts <= 64, "Split has up to 64 results");
  const int axis = from_front(node.integer("axis"), x.shape.rank);
  const int64_t length = x.shape[axis], equal = (length + parts - 1) / parts;
  const kw::List<int64_t> given = node.integers("split");
  Split_node of{along(x.shape, axis), {}};
  for (int part = 0; part < parts; ++part) {
    const int64_t own = split.data != nullptr ? split.integer(part) : given.size() > part ? given[part] : equal;
    of.begins[part + 1] = std::min(of.begins[part] + own, length);
    y[part] = x.shape;
    y[part][axis] = of.begins[part + 1] - of.begins[part];
  }
  return of;
}
#endif
