// Every task of the suites, held to what a task must be: it resolves, it has other shapes, its reference answers all
// input classes of inputs, and answers that should fail do fail at its tolerance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "asked_for.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "suites/catalog.h"

namespace kw {
namespace {

const std::vector<suites::Suite>& all_suites() {
  static const std::vector<suites::Suite> suites = [] {
    auto read = suites::installed_suites();
    if (!read.ok()) ADD_FAILURE() << read.error().message;
    return read.ok() ? *std::move(read) : std::vector<suites::Suite>();
  }();
  return suites;
}

const suites::Suite& suite_named(const std::string& name) {
  for (const suites::Suite& suite : all_suites()) {
    if (suite.name == name) return suite;
  }
  ADD_FAILURE() << "no suite " << name;
  static const suites::Suite none;
  return none;
}

TEST(MobileKernelBench, HasThePublishedTasksCategoriesAndOperators) {
  const suites::Suite& suite = suite_named("mobilekernelbench");
  std::map<std::string, int> categories;
  std::set<std::string> operators;
  for (const Task& task : suite.tasks) {
    ++categories[task.category];
    for (const Node& node : task.nodes) operators.insert(node.op);
  }
  const std::map<std::string, int> published = {{"Activation", 12}, {"Binary", 8},        {"Convolution", 21},
                                                {"Logic", 13},      {"Matrix", 19},       {"Normalization", 12},
                                                {"Others", 4},      {"Pooling", 15},      {"Reduction", 35},
                                                {"Tensor", 28},     {"Trigonometry", 12}, {"Unary", 11}};
  EXPECT_EQ(suite.tasks.size(), 190u);
  EXPECT_EQ(categories, published);
  // Transpose only writes Stft's result in the benchmark's layout.
  operators.erase("Transpose");
  EXPECT_EQ(operators.size(), 95u);
}

TEST(KernelBench, HasThePublishedTasksOfEachLevel) {
  std::map<int, int> levels;
  for (const Task& task : suite_named("kernelbench").tasks) {
    ++levels[task.level];
    EXPECT_TRUE(task.name.starts_with(fmt::format("L{}_", task.level))) << task.name;
  }
  EXPECT_EQ(levels, (std::map<int, int>{{1, 100}, {2, 100}, {3, 36}}));
}

// Bytes of all inputs and of all first outputs of a level, as its published tasks have them.
TEST(KernelBench, HasThePublishedSizes) {
  struct Bytes {
    double inputs = 0, outputs = 0;
    bool operator==(const Bytes&) const = default;
  };
  std::map<int, Bytes> levels;
  for (const Task& task : suite_named("kernelbench").tasks) {
    const auto graph = ops::resolve(task);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    Bytes& bytes = levels[task.level];
    for (const ops::GraphInput& input : graph->inputs) {
      if (input.role == Role::input) bytes.inputs += static_cast<double>(input.type.bytes());
    }
    bytes.outputs += static_cast<double>(graph->output_type(0).bytes());
  }
  EXPECT_EQ(levels[1], (Bytes{340583961496, 249943914700}));
  EXPECT_EQ(levels[2], (Bytes{23420993536, 39729696320}));
  EXPECT_EQ(levels[3], (Bytes{4989114368, 7948172576}));
}

TEST(Suites, HaveBareNamesThatAreUnique) {
  std::set<std::string> seen;
  for (const suites::Suite& suite : all_suites()) {
    for (const Task& task : suite.tasks) EXPECT_TRUE(seen.insert(task.name).second) << task.name;
  }
}

// An answer that no kernel should get away with, for one output of a task.
struct WrongAnswer {
  std::string name;
  Tensor answer;
};

Tensor filled(const TensorType& type, double value) {
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set_real(i, value);
  return tensor;
}

// The bytes of `source`, cut or repeated to the size of the answer.
Tensor copied(const TensorType& type, const Tensor& source) {
  Tensor tensor(type);
  const auto to = tensor.bytes();
  const auto from = source.bytes();
  for (std::size_t done = 0; !from.empty() && done < to.size(); done += from.size()) {
    std::memcpy(to.data() + done, from.data(), std::min(from.size(), to.size() - done));
  }
  return tensor;
}

Tensor shifted(const Tensor& right) {
  Tensor tensor = right;
  const std::size_t size = size_bytes(right.dtype());
  const auto bytes = tensor.bytes();
  std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end());
  return tensor;
}

// The last two axes exchanged, the numbers written in the order of the transposed tensor.
Tensor transposed(const Tensor& right) {
  Tensor tensor(right.type());
  const int rank = right.shape().rank();
  const std::int64_t rows = right.shape()[rank - 2];
  const std::int64_t columns = right.shape()[rank - 1];
  const std::size_t size = size_bytes(right.dtype());
  const std::int64_t matrices = right.shape().count(0, rank - 2);
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t from = (m * rows + r) * columns + c;
        const std::int64_t to = (m * columns + c) * rows + r;
        std::memcpy(tensor.bytes().data() + static_cast<std::size_t>(to) * size,
                    right.bytes().data() + static_cast<std::size_t>(from) * size, size);
      }
    }
  }
  return tensor;
}

// One element ten tolerances away, or the next number where there is one right answer only.
Tensor one_off(const ops::WideTensor& expected, const Tensor& right, Random& random) {
  Tensor tensor = right;
  const std::int64_t index = random.integer(0, right.count() - 1);
  if (!is_float(right.dtype())) {
    tensor.set_integer(index, right.dtype() == DType::boolean ? 1 - right.integer(index) : right.integer(index) + 1);
    return tensor;
  }
  const double value = expected.reals[static_cast<std::size_t>(index)];
  const double slack = expected.slack_at(static_cast<std::size_t>(index));
  const double next = 4 * unit_roundoff(right.dtype()) * std::fabs(value) + smallest_subnormal(right.dtype());
  tensor.set_real(index, value + std::max(10 * slack, next));
  return tensor;
}

bool is_constant(const Tensor& tensor) {
  const std::size_t size = size_bytes(tensor.dtype());
  const auto bytes = tensor.bytes();
  for (std::size_t i = size; i < bytes.size(); i += size) {
    if (std::memcmp(bytes.data(), bytes.data() + i, size) != 0) return false;
  }
  return true;
}

std::vector<WrongAnswer> wrong_answers(const ops::WideTensor& expected, const ops::WideTensor& to_other_inputs,
                                       const std::vector<Tensor>& inputs, Random& random) {
  const Tensor right = ops::narrow(expected);
  const TensorType type = right.type();
  std::vector<WrongAnswer> answers;
  answers.push_back({"zeros", filled(type, 0)});
  answers.push_back({"ones", filled(type, 1)});
  if (expected.count() > 1) {
    answers.push_back(
        {"its first element everywhere", copied(type, filled({type.dtype, Shape{1}}, expected.number(0)))});
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].count() > 0) answers.push_back({fmt::format("input {} copied", k), copied(type, inputs[k])});
  }
  if (to_other_inputs.shape == expected.shape) {
    answers.push_back({"the answer to other inputs", ops::narrow(to_other_inputs)});
  }
  for (int i = 0; i < 3; ++i)
    answers.push_back({"one element off by ten tolerances", one_off(expected, right, random)});
  const int rank = type.shape.rank();
  if (rank >= 2 && type.shape[rank - 1] > 1 && type.shape[rank - 2] > 1) {
    answers.push_back({"transposed last axes", transposed(right)});
  }
  if (expected.count() > 1) answers.push_back({"shifted by one", shifted(right)});
  return answers;
}

// The task, or one of a GPU's size with lengths that a test can afford.
Task proven(const Task& task) {
  Task small = task;
  if (task.level > 0) small.lengths = ops::lengths_within(task, {.elements = 2e4, .flops = 2e6});
  return small;
}

// The names of wrong answers that pass, over all outputs of a task.
std::set<std::string> passing_wrong_answers(const Task& task, std::uint64_t seed) {
  std::set<std::string> passing;
  const auto graph = ops::resolve(task);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return passing;
  }
  const std::vector<Tensor> inputs = ops::draw_inputs(*graph, ops::InputClass::typical, seed);
  const auto expected = ops::evaluate(*graph, inputs);
  const auto others = ops::evaluate(*graph, ops::draw_inputs(*graph, ops::InputClass::typical, seed + 1));
  if (!expected.ok() || !others.ok()) {
    ADD_FAILURE() << task.name << ": " << (expected.ok() ? others : expected).error().message;
    return passing;
  }
  Random random(seed);
  for (std::size_t k = 0; k < expected->size(); ++k) {
    const ops::WideTensor& wide = (*expected)[k];
    EXPECT_GT(wide.count(), 0) << task.name << ": an empty answer proves nothing";
    EXPECT_TRUE(ops::compare(wide, ops::narrow(wide)).right()) << task.name;
    for (const WrongAnswer& wrong : wrong_answers(wide, (*others)[k], inputs, random)) {
      if (!ops::compare(wide, wrong.answer).right()) continue;
      passing.insert(fmt::format("output {}: {}", k, wrong.name));
    }
    if (wide.count() > 1 && is_constant(ops::narrow(wide))) passing.insert(fmt::format("output {} is constant", k));
  }
  return passing;
}

constexpr std::uint64_t kMoreDraws = 16;  // in which a degenerate task may show what it lets pass

class SlowEveryTask : public ::testing::TestWithParam<const Task*> {};

TEST_P(SlowEveryTask, RejectsAnswersThatShouldFail) {
  const Task& task = *GetParam();
  std::set<std::string> passing = passing_wrong_answers(proven(task), 20261115);
  // The mean of thousands of numbers may be the mean of others by chance, and the largest of millions often is; not in
  // draw after draw.
  for (std::uint64_t more = 3; more <= 12 && !passing.empty(); more += 3) {
    const std::set<std::string> again = passing_wrong_answers(proven(task), 20261115 + more);
    std::erase_if(passing, [&](const std::string& name) { return !again.contains(name); });
  }
  if (task.degenerate.empty()) {
    for (const std::string& name : passing) ADD_FAILURE() << task.name << " lets a wrong answer pass: " << name;
  } else {
    for (std::uint64_t more = 1; more <= kMoreDraws && passing.empty(); ++more)
      passing = passing_wrong_answers(proven(task), 20261115 + more);
    EXPECT_FALSE(passing.empty()) << task.name << " is marked degenerate but rejects every wrong answer: unmark it";
  }
}

TEST_P(SlowEveryTask, ServesOtherShapesInEveryInputClass) {
  const Task task = proven(*GetParam());
  const std::vector<Lengths> shapes = ops::hidden_lengths(task, 7, 3);
  EXPECT_FALSE(shapes.empty()) << task.name << " leaves no length open";
  std::vector<ops::Graph> graphs;
  for (const Lengths& lengths : shapes) {
    auto graph = ops::resolve(task, lengths);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    graphs.push_back(*std::move(graph));
  }
  // Other shapes need not be large: the cheapest that is not empty is tried whatever it costs.
  const auto work = [](const ops::Graph& graph) {
    const Cost cost = ops::cost_of(graph);
    return cost.flops + cost.bytes();
  };
  std::sort(graphs.begin(), graphs.end(), [&](const auto& a, const auto& b) { return work(a) < work(b); });
  Random random(3);
  bool tried = false;
  for (const ops::Graph& graph : graphs) {
    if (tried && work(graph) > 2e6) break;
    for (ops::InputClass input_class : ops::kInputClasses) {
      const std::vector<Tensor> inputs = ops::draw_inputs(graph, input_class, random.bits());
      const auto expected = ops::evaluate(graph, inputs);
      ASSERT_TRUE(expected.ok()) << task.name << ", " << name_of(input_class) << ": " << expected.error().message;
      for (const ops::WideTensor& wide : *expected) {
        EXPECT_TRUE(ops::compare(wide, ops::narrow(wide)).right()) << task.name;
        tried = tried || wide.count() > 0;
      }
    }
  }
}

std::vector<const Task*> every_task() {
  std::vector<const Task*> tasks;
  if (!is_asked_for("SlowEveryTask")) return tasks;
  for (const suites::Suite& suite : all_suites()) {
    for (const Task& task : suite.tasks) tasks.push_back(&task);
  }
  return tasks;
}

INSTANTIATE_TEST_SUITE_P(Suites, SlowEveryTask, ::testing::ValuesIn(every_task()), [](const auto& task) {
  std::string name = task.param->name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return fmt::format("{}_{}", name, task.index);
});

}  // namespace
}  // namespace kw
