#pragma once

#include <kernelwright.h>

#include "given_integers.h"
#include "strides.h"

// What a Slice takes of a tensor: from `offset` on, in this shape, with these strides.
struct Sliced {
  kw::Shape shape, strides;
  int64_t offset = 0;
};

template <class T, class S, class E, class A, class P>
Sliced sliced(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const S> starts, kw::Tensor<const E> ends,
              kw::Tensor<const A> axes, kw::Tensor<const P> steps) {
  const kw::List<int64_t> from = given_integers(node, starts, "starts");
  const kw::List<int64_t> until = given_integers(node, ends, "ends");
  const kw::List<int64_t> named = given_integers(node, axes, "axes");
  const kw::List<int64_t> by = given_integers(node, steps, "steps");
  Sliced taken{x.shape(), strides_of(x.shape())};
  for (int64_t i = 0; i < from.size(); ++i) {
    const int axis = static_cast<int>(named.empty() ? i : named[i]);
    const int64_t length = x.shape(axis);
    if (length == 0) continue;
    // A step beyond the axis takes one element, however large it is.
    const int64_t step = by.empty() ? 1 : std::clamp(by[i], -length, length);
    // Backwards the first element is at most the last one, and the end may lie before the first.
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? length : length - 1;
    const int64_t start = std::clamp<int64_t>(from[i] < 0 ? from[i] + length : from[i], 0, high);
    const int64_t end = std::clamp(until[i] < 0 ? until[i] + length : until[i], low, high);
    const int64_t distance = step > 0 ? end - start : start - end;
    taken.shape[axis] = distance > 0 ? 1 + (distance - 1) / std::abs(step) : 0;
    taken.offset += start * taken.strides[axis];
    taken.strides[axis] *= step;
  }
  return taken;
}
