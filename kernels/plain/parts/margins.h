#pragma once

#include <kernelwright.h>

#include "strides.h"

// An axis with margins: `before` elements from outside, the `kept` elements from `first` on, `after` from outside.
struct PaddedAxis {
  int64_t first, before, kept, after;

  int64_t length() const { return before + kept + after; }
};

// A negative pad cuts off; what is cut off is gone before the rest is repeated.
inline PaddedAxis padded_axis(int64_t length, int64_t before, int64_t after) {
  const int64_t zero = 0;
  return {std::max(-before, zero), std::max(before, zero), length + std::min(before, zero) + std::min(after, zero),
          std::max(after, zero)};
}

enum class Outside { constant, edge, reflect, wrap };

// Which of the kept elements stands at a place outside of them.
inline int64_t repeated_at(int64_t at, int64_t kept, Outside outside) {
  if (outside == Outside::edge) return at < 0 ? 0 : kept - 1;
  const int64_t period = outside == Outside::wrap ? kept : std::max<int64_t>(2 * (kept - 1), 1);
  at = (at % period + period) % period;
  return at < kept ? at : period - at;
}

template <class T>
struct Padding {
  PaddedAxis axes[KW_MAX_RANK];
  Outside outside;
  T filler;
  kw::Shape from_steps, to_steps;
};

// Fills `to` in order, from this axis on. Returns the end of it.
template <class T>
T* copy_padded(const T* from, const Padding<T>& padding, int axis, T* to) {
  const int rank = padding.to_steps.rank;
  if (axis == rank) {
    *to = *from;
    return to + 1;
  }
  const PaddedAxis& along = padding.axes[axis];
  const int64_t step = padding.from_steps[axis];
  from += along.first * step;
  const auto margin = [&](int64_t begin, int64_t end) {
    if (padding.outside == Outside::constant) {
      to = std::fill_n(to, (end - begin) * padding.to_steps[axis], padding.filler);
      return;
    }
    for (int64_t at = begin; at < end; ++at) {
      to = copy_padded(from + repeated_at(at, along.kept, padding.outside) * step, padding, axis + 1, to);
    }
  };
  margin(-along.before, 0);
  if (axis == rank - 1) {
    to = std::copy_n(from, along.kept, to);
  } else {
    for (int64_t at = 0; at < along.kept; ++at) to = copy_padded(from + at * step, padding, axis + 1, to);
  }
  margin(along.kept, along.kept + along.after);
  return to;
}

// Fills y, which gets its shape here, from x; the axes of `padding` must be set.
template <class T>
void pad_all(kw::Tensor<const T> x, Padding<T> padding, kw::Tensor<T>& y) {
  kw::Shape shape = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) shape[axis] = padding.axes[axis].length();
  y.allocate(shape);
  padding.from_steps = strides_of(x.shape());
  padding.to_steps = strides_of(shape);
  copy_padded(x.data(), padding, 0, y.data());
}
