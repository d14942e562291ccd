#include "ops/compare.h"

#include <fmt/core.h>

#include <cmath>

namespace kw::ops {
namespace {

constexpr std::size_t kExamples = 8;

// The largest magnitude that still rounds to a finite number of the type.
double finite_limit(DType dtype) { return largest_finite(dtype) * (1 + unit_roundoff(dtype) / 2); }

bool real_is_right(double got, double expected, double slack, double limit) {
  if (!std::isfinite(slack)) return true;  // the operators made nothing certain (0 * inf is NaN)
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  if (std::isinf(got)) {
    // Right where the exact result, moved by the slack, leaves the range on that side.
    return got > 0 ? expected + slack >= limit : expected - slack <= -limit;
  }
  if (slack == 0 && std::fabs(expected) < limit) return got == expected;
  return std::fabs(got - expected) <= slack;
}

std::string place(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> at;
  for (std::int64_t stride : shape.strides()) {
    at.push_back(index / stride);
    index %= stride;
  }
  return Shape(at).text();
}

}  // namespace

Comparison compare(const WideTensor& expected, const Tensor& got) {
  Comparison result;
  if (got.dtype() != expected.dtype) {
    result.got_type = fmt::format("is {}", name_of(got.dtype()));
    result.expected_type = name_of(expected.dtype);
    return result;
  }
  if (got.shape() != expected.shape) {
    result.got_type = fmt::format("has shape {}", got.shape().text());
    result.expected_type = expected.shape.text();
    return result;
  }
  const auto note = [&](std::size_t i, double value, double wanted, double allowed) {
    ++result.wrong;
    if (result.examples.size() < kExamples)
      result.examples.push_back({static_cast<std::int64_t>(i), value, wanted, allowed});
  };
  if (!is_float(expected.dtype)) {
    const WideTensor actual = widen(got);
    for (std::size_t i = 0; i < actual.integers.size(); ++i) {
      if (actual.integers[i] == expected.integers[i]) continue;
      const double slack = expected.slack_at(i);
      if (slack > 0 && std::fabs(actual.number(i) - expected.number(i)) <= slack) continue;
      note(i, actual.number(i), expected.number(i), slack);
    }
    return result;
  }
  const double limit = finite_limit(expected.dtype);
  const auto check = [&](std::size_t i, double value) {
    const double wanted = expected.reals[i];
    const double slack = expected.slack_at(i);
    if (!real_is_right(value, wanted, slack, limit)) note(i, value, wanted, slack);
    if (slack > 0 && std::isfinite(slack) && std::isfinite(value) && std::isfinite(wanted)) {
      result.worst = std::max(result.worst, std::fabs(value - wanted) / slack);
    }
  };
  if (got.dtype() == DType::float32) {
    const auto elements = got.as<float>();
    for (std::size_t i = 0; i < elements.size(); ++i) check(i, static_cast<double>(elements[i]));
  } else {
    const WideTensor actual = widen(got);
    for (std::size_t i = 0; i < actual.reals.size(); ++i) check(i, actual.reals[i]);
  }
  return result;
}

std::string Comparison::text(const WideTensor& expected) const {
  if (!got_type.empty()) return fmt::format("the result {}, not {}", got_type, expected_type);
  if (right()) return "right";
  std::string result = fmt::format("{} of {} elements are wrong", wrong, expected.count());
  for (const Mismatch& example : examples) {
    result += fmt::format("; {}: got {:.9g}, expected {:.9g} within {:.2g}", place(example.index, expected.shape),
                          example.got, example.expected, example.allowed);
  }
  return result;
}

Json Comparison::data(const WideTensor& expected) const {
  if (!got_type.empty()) return {{"got_type", got_type}, {"expected_type", expected_type}};
  Json all = Json::array();
  for (const Mismatch& example : examples) {
    // As text: JSON has no infinities and no NaN.
    all.push_back({{"at", place(example.index, expected.shape)},
                   {"got", fmt::format("{:.9g}", example.got)},
                   {"expected", fmt::format("{:.9g}", example.expected)},
                   {"allowed", fmt::format("{:.2g}", example.allowed)}});
  }
  return {{"wrong", wrong}, {"count", expected.count()}, {"examples", std::move(all)}};
}

}  // namespace kw::ops
