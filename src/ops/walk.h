// Walking over tensors by index: broadcasting, strided axes, reductions. References are written with these so that
// they say what they compute and not how they count.
#pragma once

#include <cstdint>
#include <vector>

#include "core/shape.h"

namespace kw::ops {

// A count or an index, int64 with us, as the standard library wants it.
inline std::size_t size_of(std::int64_t count) { return static_cast<std::size_t>(count); }

// Walks over every element of `out` in row-major order together with the elements of the sources that broadcast to it.
// Neighbouring axes that all sources walk through in one stride are one axis, so tensors of one shape, and scalars
// beside them, go through a single loop.
class BroadcastWalk {
 public:
  BroadcastWalk(const Shape& out, const std::vector<Shape>& sources)
      : sources_(sources.size()), axes_{{1, std::vector<std::size_t>(sources.size(), 0)}} {
    std::vector<std::vector<std::int64_t>> strides;
    for (const Shape& source : sources) strides.push_back(source.strides());
    for (int axis = 0; axis < out.rank(); ++axis) {
      if (out[axis] == 1) continue;
      std::vector<std::size_t> steps;
      for (std::size_t s = 0; s < sources_; ++s) {
        const int own = axis - (out.rank() - sources[s].rank());
        const bool repeats = own < 0 || sources[s][own] == 1;
        steps.push_back(repeats ? 0 : static_cast<std::size_t>(strides[s][static_cast<std::size_t>(own)]));
      }
      append(static_cast<std::size_t>(out[axis]), std::move(steps));
    }
  }

  // f(out_index, const std::size_t* source_indices)
  template <class F>
  void each(F&& f) const {
    std::size_t next = 0;
    std::vector<std::size_t> at(sources_, 0);
    along(0, next, at.data(), f);
  }

 private:
  struct Axis {
    std::size_t length;
    std::vector<std::size_t> steps;  // of every source; 0 repeats
  };

  void append(std::size_t length, std::vector<std::size_t> steps) {
    Axis& last = axes_.back();
    bool goes_on = true;
    for (std::size_t s = 0; s < sources_; ++s) goes_on = goes_on && last.steps[s] == steps[s] * length;
    if (goes_on || last.length == 1) {
      last = {last.length * length, std::move(steps)};
    } else {
      axes_.push_back({length, std::move(steps)});
    }
  }

  template <class F>
  void along(std::size_t depth, std::size_t& next, std::size_t* at, F& f) const {
    const Axis& axis = axes_[depth];
    const bool innermost = depth + 1 == axes_.size();
    for (std::size_t k = 0; k < axis.length; ++k) {
      if (innermost) {
        f(next++, static_cast<const std::size_t*>(at));
      } else {
        along(depth + 1, next, at, f);
      }
      for (std::size_t s = 0; s < sources_; ++s) at[s] += axis.steps[s];
    }
    for (std::size_t s = 0; s < sources_; ++s) at[s] -= axis.steps[s] * axis.length;
  }

  std::size_t sources_;
  std::vector<Axis> axes_;  // at least one
};

// Calls f(index) with the coordinates of every element, row-major; `index` is a std::vector<std::int64_t>.
template <class F>
void each_index(const Shape& shape, F&& f) {
  if (shape.count() == 0) return;
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()), 0);
  while (true) {
    f(std::as_const(at));
    int axis = shape.rank() - 1;
    while (axis >= 0 && ++at[static_cast<std::size_t>(axis)] == shape[axis]) at[static_cast<std::size_t>(axis--)] = 0;
    if (axis < 0) return;
  }
}

// The flat index of coordinates.
inline std::size_t flat(const std::vector<std::int64_t>& at, const std::vector<std::int64_t>& strides) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[i];
  return static_cast<std::size_t>(sum);
}

// A tensor seen as [outer, length, inner] around one axis: element (o, k, i) lies at (o * length + k) * inner + i.
struct AxisView {
  std::int64_t outer, length, inner;
  AxisView(const Shape& shape, int axis)
      : outer(shape.count(0, axis)), length(shape[axis]), inner(shape.count(axis + 1, shape.rank())) {}
  std::size_t index(std::int64_t o, std::int64_t k, std::int64_t i) const {
    return static_cast<std::size_t>((o * length + k) * inner + i);
  }
};

}  // namespace kw::ops
