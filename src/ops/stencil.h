// Reading a tensor between its elements.
//
// A place between elements becomes taps along each axis: a few elements with weights. A place is itself computed, from
// a grid or a box, and rounded. The slack is what the answer does when the place moves by that rounding, so that next
// to a step (the nearest element changes, a border is crossed) both sides are right and elsewhere nothing is given
// away.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/accuracy.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

inline constexpr Accuracy kInterpolated{.ulps = 1, .flushes = true};

// The elements that a place along one axis reads; an index of -1 reads a zero.
struct Taps {
  int count = 0;
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};

  void add(std::int64_t at, double with) {
    index[static_cast<std::size_t>(count)] = at;
    weight[static_cast<std::size_t>(count++)] = with;
  }
};

// The taps of a place, and of the places that its rounding may turn it into.
struct Place {
  std::array<Taps, 3> taps;  // there, a little below, a little above
};

// An element of one channel with its weight.
struct Tap {
  std::size_t at;
  double weight;
};

// Everything that one place in all its axes reads: unmoved, and at the corners of the little box that rounding makes of
// it. The same for every channel.
struct Stencil {
  std::vector<Tap> here;
  std::vector<std::vector<Tap>> corners;
};

// All combinations of the axes' taps; bit k of `corner` says whether axis k is moved up or down, -1 moves none.
inline std::vector<Tap> combined(std::span<const Place> places, std::span<const std::int64_t> lengths, int corner) {
  std::vector<Tap> all{{0, 1}};
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    const Taps& taps = places[axis].taps[corner < 0 ? 0 : 1 + (static_cast<std::size_t>(corner) >> axis) % 2];
    std::vector<Tap> longer;
    for (const Tap& tap : all) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(taps.count); ++k) {
        if (taps.index[k] < 0) continue;
        longer.push_back({tap.at * static_cast<std::size_t>(lengths[axis]) + static_cast<std::size_t>(taps.index[k]),
                          tap.weight * taps.weight[k]});
      }
    }
    all = std::move(longer);
  }
  return all;
}

inline Stencil stencil_of(std::span<const Place> places, std::span<const std::int64_t> lengths) {
  Stencil stencil{.here = combined(places, lengths, -1)};
  for (int corner = 0; corner < 1 << places.size(); ++corner) {
    stencil.corners.push_back(combined(places, lengths, corner));
  }
  return stencil;
}

struct Reading {
  double value = 0;
  double magnitude = 0;  // of all elements that were read
  double slack = 0;      // what the elements' slack and a moved place do
};

// Takes `fold` (a sum, or something else over taps) here and at all corners.
template <class Fold>
Reading read(const WideTensor& x, std::size_t base, const Stencil& stencil, Fold&& fold) {
  const auto once = [&](const std::vector<Tap>& taps) {
    Reading reading;
    for (const Tap& tap : taps) {
      reading.magnitude += std::fabs(x.reals[base + tap.at]);
      if (!x.exact()) reading.slack += std::fabs(tap.weight) * x.slack[base + tap.at];
    }
    reading.value = fold(taps, x.reals.data() + base);
    return reading;
  };
  Reading result = once(stencil.here);
  const double here = result.slack;
  for (const std::vector<Tap>& corner : stencil.corners) {
    const Reading moved = once(corner);
    result.slack = std::max(result.slack, here + moved.slack + std::fabs(moved.value - result.value));
    result.magnitude = std::max(result.magnitude, moved.magnitude);
  }
  return result;
}

inline double weighted_sum(const std::vector<Tap>& taps, const double* x) {
  double sum = 0;
  for (const Tap& tap : taps) sum += tap.weight * x[tap.at];
  return sum;
}

}  // namespace kw::ops
