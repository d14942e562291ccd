#pragma once

#include "along_axis.cuh"

// Concat: tensors one after the other along an axis.
struct Concat_node {
  AlongAxis view;     // of the result
  int64_t ends[160];  // of each operand along the axis
};

#ifdef __CUDACC__
template <class T, class... More>
__device__ T Concat(const Concat_node& of, int64_t i, const T* x, const More*... more) {
  const T* operands[] = {x, more...};
  const int64_t at = i / of.view.inner % of.view.length, outer = i / of.view.inner / of.view.length;
  int64_t k = 0;
  while (at >= of.ends[k]) ++k;
  const int64_t begin = k == 0 ? 0 : of.ends[k - 1];
  return operands[k][(outer * (of.ends[k] - begin) + at - begin) * of.view.inner + i % of.view.inner];
}
#else
template <class... More>
Concat_node Concat_plan(const kw::Node& node, kw::Shape* y, const Given& x, const More&... more) {
  static_assert(1 + sizeof...(More) <= 160, "Concat has up to 160 operands");
  const Given* operands[] = {&x, &more...};
  const int axis = from_front(node.integer("axis"), x.shape.rank);
  Concat_node of{};
  int64_t end = 0, k = 0;
  for (const Given* operand : operands) of.ends[k++] = end += operand->shape[axis];
  *y = x.shape;
  (*y)[axis] = end;
  of.view = along(*y, axis);
  return of;
}
#endif
