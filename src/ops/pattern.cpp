#include "ops/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

namespace kw::ops {
namespace {

struct Difference {
  const WideTensor& expected;
  const Tensor& got;
  std::vector<std::int64_t> wrong;  // flat, in order

  double number(std::int64_t i) const {
    return is_float(got.dtype()) ? got.real(i) : static_cast<double>(got.integer(i));
  }
};

// Whether the element got at `i` is what is expected at `j`.
bool is(const Difference& difference, std::int64_t i, std::int64_t j) {
  const double wanted = difference.expected.number(static_cast<std::size_t>(j));
  const double value = difference.number(i);
  if (std::isnan(wanted) || std::isnan(value)) return std::isnan(wanted) && std::isnan(value);
  if (wanted == value) return true;
  return std::fabs(value - wanted) <= difference.expected.slack_at(static_cast<std::size_t>(j));
}

// What all wrong elements are, if it is one thing.
std::string one_value(const Difference& difference) {
  const auto all = [&](const std::function<bool(double)>& holds) {
    return std::ranges::all_of(difference.wrong, [&](std::int64_t i) { return holds(difference.number(i)); });
  };
  if (all([](double value) { return std::isnan(value); })) return "all of them NaN";
  if (all([](double value) { return std::isinf(value); })) return "all of them infinite";
  if (all([](double value) { return value == 0; })) return "all of them zero";
  const double first = difference.number(difference.wrong.front());
  if (difference.wrong.size() > 3 && all([&](double value) { return value == first; })) {
    return fmt::format("all of them {:.6g}", first);
  }
  return {};
}

// The answer, moved or scaled?
std::string relation(const Difference& difference) {
  const Shape& shape = difference.expected.shape;
  const std::int64_t count = shape.count();
  const auto most_are = [&](const std::function<std::int64_t(std::int64_t)>& from) {
    std::int64_t asked = 0, right = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t j = from(i);
      if (j < 0 || j >= count) continue;
      ++asked;
      right += is(difference, i, j);
    }
    return asked > 1 && right >= asked - asked / 50;
  };
  if (shape.rank() >= 2) {
    const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
    const std::int64_t block = rows * columns;
    if (rows > 1 && columns > 1 && most_are([&](std::int64_t i) {
          const std::int64_t within = i % block;
          return i - within + (within % rows) * columns + within / rows;
        })) {
      return "it is the answer with its last two axes swapped";
    }
  }
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t step = shape.count(axis + 1, shape.rank());
    if (shape[axis] < 2) continue;
    for (const int by : {1, -1}) {
      const auto moved = [&](std::int64_t i) {
        const std::int64_t at = i / step % shape[axis] + by;
        return at < 0 || at >= shape[axis] ? std::int64_t{-1} : i + by * step;
      };
      if (most_are(moved))
        return fmt::format("off by one along axis {}: each is its {} neighbour's", axis, by > 0 ? "next" : "previous");
    }
  }
  // One factor or one distance for all.
  std::optional<double> factor, distance;
  bool one_factor = true, one_distance = true;
  for (const std::int64_t i : difference.wrong) {
    const double wanted = difference.expected.number(static_cast<std::size_t>(i));
    const double value = difference.number(i);
    if (!std::isfinite(wanted) || !std::isfinite(value)) return {};
    if (wanted != 0) {
      if (!factor) factor = value / wanted;
      one_factor = one_factor && std::fabs(value / wanted - *factor) <= 1e-3 * std::fabs(*factor);
    } else {
      one_factor = one_factor && value == 0;
    }
    if (!distance) distance = value - wanted;
    one_distance = one_distance && std::fabs(value - wanted - *distance) <= 1e-3 * std::fabs(*distance);
  }
  if (difference.wrong.size() > 3 && factor && one_factor)
    return fmt::format("each is {:.4g} times what it should be", *factor);
  if (difference.wrong.size() > 3 && distance && one_distance) return fmt::format("each is {:+.4g} off", *distance);
  return {};
}

// Where they are, if that is a simple place.
std::string region(const Difference& difference) {
  const Shape& shape = difference.expected.shape;
  const auto wrong = static_cast<std::int64_t>(difference.wrong.size());
  if (wrong == shape.count()) return "every element";
  std::string edges;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t step = shape.count(axis + 1, shape.rank());
    const std::int64_t length = shape[axis];
    if (length < 2) continue;
    std::int64_t lowest = length, highest = -1;
    bool only_ends = true;
    for (const std::int64_t i : difference.wrong) {
      const std::int64_t at = i / step % length;
      lowest = std::min(lowest, at);
      highest = std::max(highest, at);
      only_ends = only_ends && (at == 0 || at == length - 1);
    }
    if (lowest == highest && length > 2 && lowest > 0 && lowest < length - 1)
      return fmt::format("only where axis {} is {}", axis, lowest);
    if (lowest > 0 && highest == length - 1) {
      return fmt::format("only the last {} of the {} of axis {}: a tail that was left out?", length - lowest, length,
                         axis);
    }
    if (lowest == 0 && highest < length - 1 && highest * 2 < length) {
      return fmt::format("only the first {} of the {} of axis {}", highest + 1, length, axis);
    }
    if (only_ends && length > 3) edges += fmt::format("{}{}", edges.empty() ? "" : " and ", axis);
  }
  if (!edges.empty()) return "only at both ends of axis " + edges;
  // All on the border of two axes, as a wrong padding leaves them.
  if (shape.rank() >= 2) {
    const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
    const bool border = std::ranges::all_of(difference.wrong, [&](std::int64_t i) {
      const std::int64_t row = i / columns % rows, column = i % columns;
      return row == 0 || column == 0 || row == rows - 1 || column == columns - 1;
    });
    if (border && rows > 3 && columns > 3) return "only on the border of the last two axes: padding?";
  }
  const std::int64_t columns = shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  for (const std::int64_t lanes : {16, 8, 4, 2}) {
    if (columns % lanes != 0 && columns < 2 * lanes) continue;
    const std::int64_t at = difference.wrong.front() % columns % lanes;
    if (wrong > 3 && std::ranges::all_of(difference.wrong, [&](std::int64_t i) { return i % columns % lanes == at; })) {
      return fmt::format("only one in {} of the last axis (place {})", lanes, at);
    }
  }
  return "here and there";
}

}  // namespace

std::string pattern_of_wrong(const WideTensor& expected, const Tensor& got) {
  if (expected.shape != got.shape() || expected.dtype != got.dtype()) return {};
  Difference difference{expected, got, {}};
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    if (!is(difference, i, i)) difference.wrong.push_back(i);
  }
  if (difference.wrong.empty()) return {};
  std::string words = region(difference);
  std::string more = one_value(difference);
  if (more.empty()) more = relation(difference);
  if (!more.empty()) words += "; " + more;
  return words;
}

}  // namespace kw::ops
