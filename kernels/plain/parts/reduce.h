#pragma once

#include <kernelwright.h>

#include "given_integers.h"
#include "named_axes.h"

// Where the elements of a tensor go when axes are reduced.
struct Reduction {
  kw::Shape result;
  kw::Shape steps;  // how far the result moves when the element moves along each axis: 0 along the reduced ones
  int64_t terms;    // how many elements go into one result
};

// Without axes all are reduced, unless noop_with_empty_axes says none.
inline Reduction reduction_of(const kw::Node& node, const kw::Shape& shape, kw::Tensor<const int64_t> axes) {
  const kw::List<int64_t> list = given_integers(node, axes, "axes");
  auto reduced = named_axes(list, shape.rank);
  if (list.empty() && node.integer("noop_with_empty_axes") == 0) reduced.set();
  Reduction to{{}, shape, 1};
  int64_t step = 1;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    to.steps[axis] = reduced[axis] ? 0 : step;
    (reduced[axis] ? to.terms : step) *= shape[axis];
  }
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (!reduced[axis]) to.result.push(shape[axis]);
    if (reduced[axis] && node.integer("keepdims", 1) != 0) to.result.push(1);
  }
  return to;
}

// result = fold(result, element) for every element of x, in the order of x. Returns the end of x.
template <class T, class R, class Fold>
const T* fold_along(const T* x, const kw::Shape& shape, const kw::Shape& steps, R* result, Fold fold, int axis = 0) {
  if (axis == shape.rank) {
    *result = fold(*result, *x);
    return x + 1;
  }
  const int64_t length = shape[axis];
  const int64_t step = steps[axis];
  if (axis < shape.rank - 1) {
    for (int64_t i = 0; i < length; ++i) x = fold_along(x, shape, steps, result + i * step, fold, axis + 1);
    return x;
  }
  if (step == 0) {
    R folded = *result;
    for (int64_t i = 0; i < length; ++i) folded = fold(folded, x[i]);
    *result = folded;
  } else {
    for (int64_t i = 0; i < length; ++i) result[i] = fold(result[i], x[i]);
  }
  return x + length;
}

// y = finish(elements along the axes folded one by one from `start` on, how many they are).
template <class T, class R, class Fold, class Finish>
void reduce_axes(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y, R start,
                 Fold fold, Finish finish) {
  const Reduction to = reduction_of(node, x.shape(), axes);
  y.allocate(to.result);
  R* folded = node.scratch<R>(y.count());
  std::fill_n(folded, y.count(), start);
  fold_along(x.data(), x.shape(), to.steps, folded, fold);
  for (int64_t i = 0; i < y.count(); ++i) y[i] = T(finish(folded[i], to.terms));
}
