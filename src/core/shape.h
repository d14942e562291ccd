// The lengths of a tensor's axes. Rank 0 is a scalar; an axis of length 0 makes an empty tensor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> lengths) : lengths_(lengths) {}
  explicit Shape(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {}

  int rank() const { return static_cast<int>(lengths_.size()); }
  std::int64_t operator[](int axis) const { return lengths_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return lengths_[static_cast<std::size_t>(axis)]; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  auto begin() const { return lengths_.begin(); }
  auto end() const { return lengths_.end(); }
  void append(std::int64_t length) { lengths_.push_back(length); }

  bool operator==(const Shape&) const = default;

  // The number of elements. The shape must have passed check_shape.
  std::int64_t count() const;
  // The number of elements in axes [from, to).
  std::int64_t count(int from, int to) const;

  // Elements to step over for one step along each axis, row-major.
  std::vector<std::int64_t> strides() const;

  std::string text() const;  // "[1, 3, 224, 224]"

 private:
  std::vector<std::int64_t> lengths_;
};

// What a tensor may hold at most; numbers up to this can be added without a thought of overflow.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

// Refuses negative lengths and a product beyond kMostElements: every shape that comes from outside goes through here
// once.
Status check_shape(const Shape& shape);

// An axis counted from the end when negative, or an error that names the allowed range.
Result<int> normal_axis(std::int64_t axis, int rank);
Result<std::vector<int>> normal_axes(const std::vector<std::int64_t>& axes, int rank);  // sorted; a double is an error
// The same in the order given, for lists that go along with them.
Result<std::vector<int>> ordered_axes(const std::vector<std::int64_t>& axes, int rank);
std::vector<int> all_axes(int rank);

// numpy's rule: aligned at the last axis, lengths equal or 1.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace kw
