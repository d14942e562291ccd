// By what numbers an examination's draws are made (draw.cpp), so that all ways come up in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/random.h"

namespace kw::ops {

// Numbers below 1 that say how data is made. Those of turns in a row fill the space evenly (a sequence of Roberts), so
// that what is chosen by them comes up in an examination as often as its share says, and not by chance.
struct Choices {
  double first, second, third;
  std::uint64_t number;  // of the draw

  Choices(std::optional<std::uint64_t> turn, std::size_t slot, Random& random) {
    number = turn ? (*turn + 7 * slot) % 100000 : random.bits() >> 32;
    const auto next = [&](double step) {
      const double at = static_cast<double>(number) * step;
      return turn ? at - std::floor(at) : random.unit();
    };
    first = next(0.8191725133961645);
    second = next(0.6710436067037893);
    third = next(0.5497004779019703);
  }
};

// One of `count` by a number below 1.
inline std::size_t one_of(std::size_t count, double choice) {
  return std::min(static_cast<std::size_t>(choice * static_cast<double>(count)), count - 1);
}

}  // namespace kw::ops
