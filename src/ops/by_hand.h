// For tests: one operator applied to tensors that are written out, to be compared with answers worked out by hand.
//
//   EXPECT_EQ(numbers("CumSum", on(tensor_of({1, 2, 3}), {0}).attribute("reverse", 1)), (Numbers{6, 5, 3}));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>
#include <vector>

#include "ops/draw.h"
#include "ops/graph.h"

namespace kw::ops {

using Numbers = std::vector<double>;

inline Tensor tensor_of(const Numbers& values, Shape shape, DType dtype = DType::float32) {
  Tensor tensor(dtype, std::move(shape));
  assert(tensor.count() == std::ssize(values));
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set_real(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}
inline Tensor tensor_of(const Numbers& values) { return tensor_of(values, Shape{std::ssize(values)}); }
inline Tensor zeros(Shape shape) { return Tensor(DType::float32, std::move(shape)); }

// The case of an operator on these inputs; attributes, inputs that are left out or drawn, and outputs can be added.
template <class... Tensors>
Sample on(Tensors... inputs) {
  Sample sample;
  (sample.constant(std::move(inputs)), ...);
  return sample;
}
// The second input is a list of int64: a shape, axes, indices.
inline Sample on(Tensor first, Integers second) { return on(std::move(first), Tensor::of_integers(std::move(second))); }

struct Asked {
  std::size_t output = 0;
  int opset = 0;                                 // 0: the operator's own
  InputClass input_class = InputClass::typical;  // of the inputs that are drawn
  std::uint64_t seed = 1;                        // of the same
};

// What the operator says to the case: one of its outputs, or why it refuses.
inline Result<WideTensor> ask(std::string_view name, Sample sample, Asked asked = {}) {
  const Op* op = find_op(name);
  if (!op) return fail("there is no operator {}", name);
  sample.outputs = std::max(sample.outputs, asked.output + 1);
  Task task = task_of(*op, sample);
  if (asked.opset > 0) task.opset = asked.opset;
  KW_TRY(const Graph graph, resolve(task));
  KW_TRY(std::vector<WideTensor> answers, evaluate(graph, draw_inputs(graph, asked.input_class, asked.seed)));
  return std::move(answers[asked.output]);
}

// The answer to a case; a refusal fails the test.
inline WideTensor answer(std::string_view name, const Sample& sample, Asked asked = {}) {
  Result<WideTensor> answered = ask(name, sample, asked);
  if (answered.ok()) return std::move(*answered);
  ADD_FAILURE() << name << " refuses: " << answered.error().message;
  return {};
}

inline Numbers numbers(std::string_view name, const Sample& sample, Asked asked = {}) {
  const WideTensor answered = answer(name, sample, asked);
  Numbers result;
  for (std::size_t i = 0; i < std::max(answered.reals.size(), answered.integers.size()); ++i) {
    result.push_back(answered.number(i));
  }
  return result;
}

inline std::string shape_text(std::string_view name, const Sample& sample, Asked asked = {}) {
  return answer(name, sample, asked).shape.text();
}

inline void expect_near(const Numbers& got, const Numbers& wanted, double distance = 1e-9) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], distance) << "element " << i;
}

// Why a case is refused; empty where it is not.
inline std::string refusal(std::string_view name, const Sample& sample, Asked asked = {}) {
  const Result<WideTensor> answered = ask(name, sample, asked);
  return answered.ok() ? "" : answered.error().message;
}
inline bool refused(std::string_view name, const Sample& sample, Asked asked = {}) {
  return !refusal(name, sample, asked).empty();
}

// The inputs of a case, as the judge would draw them.
inline std::vector<Tensor> drawn(std::string_view name, const Sample& sample,
                                 InputClass input_class = InputClass::typical) {
  const Task task = task_of(*find_op(name), sample);
  const Result<Graph> graph = resolve(task);
  if (graph.ok()) return draw_inputs(*graph, input_class, 1);
  ADD_FAILURE() << name << " refuses: " << graph.error().message;
  return {};
}

}  // namespace kw::ops
