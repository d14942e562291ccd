// Moving elements between wide tensors of one type: a number travels together with its slack. And what the operators
// that do nothing else have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "ops/op.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

// Copies `count` neighbours, from `source` on in one tensor to `target` on in another.
inline void copy_elements(const WideTensor& from, std::size_t source, WideTensor& to, std::size_t target,
                          std::size_t count = 1) {
  const auto copy = [&](const auto& a, auto& b) {
    std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(source), count,
                b.begin() + static_cast<std::ptrdiff_t>(target));
  };
  is_float(to.dtype) ? copy(from.reals, to.reals) : copy(from.integers, to.integers);
  if (!from.exact()) {
    to.add_slack();
    copy(from.slack, to.slack);
  } else if (!to.exact()) {
    std::fill_n(to.slack.begin() + static_cast<std::ptrdiff_t>(target), count, 0.0);
  }
}

// Fills `to`, in its order, with the elements of `from` at offset + at . strides for every index `at` of the shape.
void copy_view(const WideTensor& from, std::int64_t offset, const Shape& shape, const Integers& strides,
               WideTensor& to);

// Is element a less than element b? Neither may be NaN.
inline bool less(const WideTensor& x, std::size_t a, std::size_t b) {
  if (is_float(x.dtype)) return x.reals[a] < x.reals[b];
  return in_order(x.integers[a], x.dtype) < in_order(x.integers[b], x.dtype);
}

// An operator whose first input holds the elements that it moves.
Op mover(std::string name, std::string meaning, int since);

// An input of integers that decide the shape of the result.
InputSpec integers_input(std::string name, DTypes types, bool optional);

}  // namespace kw::ops
