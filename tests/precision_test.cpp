// Half precision inside shows: for every task with float32 arithmetic, the exact answer to inputs that were rounded to
// half precision first is not accepted as the answer to the inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "asked_for.h"
#include "judge/precision.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "suites/catalog.h"

namespace kw {
namespace {

// The kindest of the half precisions: 11 bits. bfloat16 has 8.
double to_eleven_bits(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

// What comes of rounding the inputs first.
struct Rounding {
  bool rounded = false;  // an input changed
  bool found = false;    // the answer is not accepted
  bool exact = true;     // there is one right answer only
  double worst = 0;
};

Rounding round_first(const ops::Graph& graph, std::vector<Tensor> inputs) {
  Rounding rounding;
  const auto expected = ops::evaluate(graph, inputs);
  for (Tensor& input : inputs) {
    if (input.dtype() != DType::float32) continue;
    for (std::int64_t i = 0; i < input.count(); ++i) {
      const double value = input.real(i);
      input.set_real(i, to_eleven_bits(value));
      rounding.rounded = rounding.rounded || input.real(i) != value;
    }
  }
  const auto coarse = ops::evaluate(graph, inputs);
  EXPECT_TRUE(expected.ok() && coarse.ok());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const ops::Comparison comparison = ops::compare((*expected)[i], ops::narrow((*coarse)[i]));
    rounding.worst = std::max(rounding.worst, comparison.worst);
    rounding.found = rounding.found || !comparison.right();
    rounding.exact = rounding.exact && (*expected)[i].exact();
  }
  return rounding;
}

class SlowPrecision : public testing::TestWithParam<std::string> {};

TEST_P(SlowPrecision, HalfPrecisionInsideIsFound) {
  const Task task = *suites::find_task(GetParam());
  const auto graph = ops::resolve(task);
  ASSERT_TRUE(graph.ok());
  // An examination has many draws of each kind, and an answer of one number may be right by chance in one of them.
  double worst = 0;
  for (const std::uint64_t seed : {7, 8, 9}) {
    std::vector<Tensor> inputs = ops::draw_inputs(*graph, ops::InputClass::typical, seed);
    const Rounding dense = round_first(*graph, inputs);
    if (!dense.rounded) GTEST_SKIP() << "no float32 inputs that could be rounded";
    if (dense.exact && !dense.found) GTEST_SKIP() << "the answer is exact, and rounding changed none of it";
    if (dense.found) return;
    Random random(seed);
    ASSERT_TRUE(judge::thin_out(*graph, inputs, random))
        << "the largest error is " << dense.worst << " of what is allowed";
    const Rounding thin = round_first(*graph, inputs);
    if (thin.found) return;
    worst = std::max(worst, thin.worst);
  }
  ADD_FAILURE() << "the largest error is " << worst << " of what is allowed";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  if (!is_asked_for("SlowPrecision")) return all;
  const auto suite = suites::find_suite("mobilekernelbench");
  for (const Task& task : suite->tasks) all.push_back(task.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Tasks, SlowPrecision, testing::ValuesIn(names()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace kw
