#include "runs/check_case.h"

#include <fmt/ranges.h>

#include <cmath>

#include "compose/outside_text.h"
#include "ops/draw.h"
#include "targets/instance.h"

namespace kw::runs {
namespace {

constexpr std::int64_t kMostExpected = 1024;  // elements of an output
constexpr std::int64_t kMostListed = 4096;    // whole numbers of an input, which may be indices

// As the program has it: both must draw the same.
std::uint64_t mixed(std::uint64_t tensor, std::uint64_t element) {
  std::uint64_t z = (tensor + 1) * 0xd1342543de82ef95u + (element + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

std::string real_text(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:.17g}", value);
}

std::string whole_text(std::int64_t value) {
  return value == INT64_MIN ? "INT64_MIN" : fmt::format("{}", value);  // the language has no such literal
}

// Where values are drawn from.
struct Range {
  float low = 0, width = 0;
  std::int64_t least = 0, count = 1;
};

Range range_of(const Tensor& drawn) {
  Range range;
  if (drawn.count() == 0) return range;
  if (is_float(drawn.dtype())) {
    double low = INFINITY, high = -INFINITY;
    for (std::int64_t i = 0; i < drawn.count(); ++i) {
      const double value = drawn.real(i);
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (low > high) return range;
    range.low = static_cast<float>(low);
    range.width = static_cast<float>(high - low);
    return range;
  }
  std::int64_t high = range.least = drawn.integer(0);
  for (std::int64_t i = 0; i < drawn.count(); ++i) {
    range.least = std::min(range.least, drawn.integer(i));
    high = std::max(high, drawn.integer(i));
  }
  range.count = high - range.least + 1;
  if (range.count <= 0) range.count = INT64_MAX;
  return range;
}

void draw(Tensor& tensor, const Range& range, std::uint64_t number) {
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const std::uint64_t bits = mixed(number, static_cast<std::uint64_t>(i));
    if (is_float(tensor.dtype())) {
      // The product is exact, so that it does not matter how a compiler joins it with the sum.
      const double value = double(range.low) + double(range.width) * (static_cast<double>(bits >> 44) * 0x1p-20);
      tensor.set_real(i, tensor.dtype() == DType::float64 ? value : double(static_cast<float>(value)));
    } else {
      tensor.set_integer(i, range.least + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(range.count)));
    }
  }
}

std::string dims_text(const TensorType& type) { return fmt::format("{{{}}}", fmt::join(type.shape, ", ")); }

std::string described(const TensorType& type, const Range& range, const std::vector<std::string>& reals,
                      const std::vector<std::string>& integers, const std::string& name) {
  return fmt::format("      {{{}, {}, {:.9e}f, {:.9e}f, {}, {}, {{{}}}, {{{}}}}},  // {}\n",
                     targets::contract_number(type.dtype), dims_text(type), range.low, range.width,
                     whole_text(range.least), range.count, fmt::join(reals, ", "), fmt::join(integers, ", "),
                     compose::remark(name));
}

std::string expected_rows(const ops::WideTensor& wide, std::uint64_t output) {
  std::string rows;
  const std::int64_t count = wide.count(), wanted = std::min(count, kMostExpected);
  for (std::int64_t k = 0; k < wanted; ++k) {
    // One of each stretch, and the last of all.
    const std::int64_t begin = k * count / wanted, end = (k + 1) * count / wanted;
    std::int64_t at = begin + static_cast<std::int64_t>(mixed(output + 1000, static_cast<std::uint64_t>(k)) %
                                                        static_cast<std::uint64_t>(end - begin));
    if (k + 1 == wanted) at = count - 1;
    const auto i = static_cast<std::size_t>(at);
    const bool is_real = is_float(wide.dtype);
    rows += fmt::format("{{{}, {}, {}, {}}},\n", at, is_real ? real_text(wide.reals[i]) : "0",
                        is_real ? "0" : whole_text(wide.integers[i]), real_text(wide.slack_at(i)));
  }
  return "{\n" + rows + "},\n";
}

}  // namespace

Result<CheckCase> check_case_of(const ops::Graph& graph) {
  CheckCase made;
  std::vector<Tensor> tensors = ops::draw_inputs(graph, ops::InputClass::typical, 1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ops::GraphInput& input = graph.inputs[i];
    Tensor& tensor = tensors[i];
    const bool is_real = is_float(tensor.dtype());
    std::vector<std::string> reals, integers;
    if (input.role == Role::constant || (!is_real && tensor.count() <= kMostListed)) {
      for (std::int64_t k = 0; k < tensor.count(); ++k) {
        if (is_real) reals.push_back(real_text(tensor.real(k)));
        if (!is_real) integers.push_back(whole_text(tensor.integer(k)));
      }
    }
    const Range range = range_of(tensor);
    if (reals.empty() && integers.empty()) draw(tensor, range, i);
    made.inputs += described(input.type, range, reals, integers, input.name);
  }
  KW_TRY(const std::vector<ops::WideTensor> expected, ops::evaluate(graph, tensors));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TensorType type = graph.output_type(i);
    made.outputs += described(type, {}, {}, {}, graph.names[static_cast<std::size_t>(graph.outputs[i])]);
    const double limit =
        is_float(type.dtype) ? largest_finite(type.dtype) * (1 + unit_roundoff(type.dtype) / 2) : INFINITY;
    made.limits += (i == 0 ? "" : ", ") + real_text(limit);
    made.expected += expected_rows(expected[i], i);
  }
  return made;
}

}  // namespace kw::runs
