// What references compute with: a tensor's numbers held wide, and beside each how far a right answer may be from it.
//
// Floats are doubles; integers and bools are int64 (uint64 as its bits). `slack` is the distance from the number within
// which a right answer computed in the tensor's own type may lie; empty means that there is one right answer. Slack
// flows through a graph: an operator adds its own rounding to what its inputs' slack can do to its result. An integer
// has slack where it was rounded from a real number that may fall on either side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace kw::ops {

struct WideTensor {
  DType dtype = DType::float32;
  Shape shape;
  std::vector<double> reals;           // of a float type
  std::vector<std::int64_t> integers;  // of an integer type or bool
  std::vector<double> slack;           // as long as the numbers, or empty

  WideTensor() = default;
  explicit WideTensor(const TensorType& type);

  std::int64_t count() const { return shape.count(); }
  bool exact() const { return slack.empty(); }
  double slack_at(std::size_t index) const { return slack.empty() ? 0.0 : slack[index]; }
  // Any element as a number.
  double number(std::size_t index) const {
    return is_float(dtype) ? reals[index] : static_cast<double>(integers[index]);
  }

  // Makes room for slack (zeros) where there was none.
  void add_slack() {
    if (slack.empty()) slack.assign(std::max(reals.size(), integers.size()), 0.0);
  }
};

WideTensor widen(const Tensor& tensor);
// The nearest tensor of the wide one's own type.
Tensor narrow(const WideTensor& wide);
// An integer cut to a type's width, as overflow in that type would leave it.
std::int64_t wrap(std::int64_t value, DType dtype);
// A number that stands for an integer of the type in comparisons: int64 holds uint64's bits, whose order is another.
std::int64_t in_order(std::int64_t integer, DType dtype);

// Arithmetic of wide integers that wraps around: that of the unsigned type.
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace kw::ops
