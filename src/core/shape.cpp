#include "core/shape.h"

#include <algorithm>
#include <numeric>

namespace kw {

std::int64_t Shape::count() const { return count(0, rank()); }

std::int64_t Shape::count(int from, int to) const {
  std::int64_t product = 1;
  for (int axis = from; axis < to; ++axis) product *= (*this)[axis];
  return product;
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> result(lengths_.size(), 1);
  for (int axis = rank() - 2; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    result[i] = result[i + 1] * lengths_[i + 1];
  }
  return result;
}

std::string Shape::text() const {
  std::string result = "[";
  for (std::int64_t length : lengths_) result += (result.size() > 1 ? ", " : "") + std::to_string(length);
  return result + "]";
}

Status check_shape(const Shape& shape) {
  std::int64_t product = 1;
  for (std::int64_t length : shape) {
    if (length < 0) return fail("shape {} has a negative length", shape.text());
    // Lengths multiply as if none were 0: an empty tensor must not hide an absurd axis.
    if (length > 0 && product > kMostElements / length) {
      return fail("shape {} has more than 2^40 elements", shape.text());
    }
    product *= std::max<std::int64_t>(length, 1);
  }
  return {};
}

Result<int> normal_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return fail("axis {} is outside the {} axes of the tensor (allowed: {} to {})", axis, rank, -rank, rank - 1);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int>> normal_axes(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<int> result;
  for (std::int64_t axis : axes) {
    KW_TRY(const int normal, normal_axis(axis, rank));
    result.push_back(normal);
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) return fail("an axis is named twice");
  return result;
}

Result<std::vector<int>> ordered_axes(const std::vector<std::int64_t>& axes, int rank) {
  KW_CHECK(normal_axes(axes, rank));
  std::vector<int> result;
  for (std::int64_t axis : axes) result.push_back(*normal_axis(axis, rank));
  return result;
}

std::vector<int> all_axes(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
  for (int back = 1; back <= rank; ++back) {
    const std::int64_t left = back <= a.rank() ? a[a.rank() - back] : 1;
    const std::int64_t right = back <= b.rank() ? b[b.rank() - back] : 1;
    if (left != right && left != 1 && right != 1) {
      return fail("shapes {} and {} do not broadcast: {} against {} in the axis {} from the end", a.text(), b.text(),
                  left, right, back);
    }
    result[rank - back] = left == 1 ? right : left;
  }
  return result;
}

}  // namespace kw
