#include "compose/chains.h"

#include <gtest/gtest.h>

#include "compose/techniques.h"

namespace kw::compose {
namespace {

struct Step {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
};

// Steps on x float32[2, 3, 4] and, where they name them, axes [1]; the last one's result is the output.
Task task_of(const std::vector<Step>& steps) {
  Task task;
  task.name = "chain";
  Value x, axes;
  x.name = "x";
  for (const int length : {2, 3, 4}) x.lengths.push_back({length, {}});
  axes.name = "axes";
  axes.role = Role::constant;
  axes.dtype = DType::int64;
  axes.lengths = {{1, {}}};
  axes.constant = Tensor::of_integers({1}, DType::int64);
  task.values = {x, axes};
  for (const Step& step : steps) {
    Node node;
    node.op = step.op;
    node.inputs = step.inputs;
    node.outputs = {step.output};
    task.nodes.push_back(node);
  }
  task.outputs = {{steps.back().output, {}, {}}};
  return task;
}

std::vector<std::string> joined(const Task& task) {
  ops::Graph graph = ops::resolve(task).value();
  join_chains(graph);
  std::vector<std::string> names;
  for (const ops::GraphNode& node : graph.nodes) names.push_back(node.call.op->name);
  return names;
}

using Ops = std::vector<std::string>;
const Step kSquares{"Mul", {"x", "x"}, "squares"}, kSum{"ReduceSum", {"squares", "axes"}, "sum"},
    kRoot{"Sqrt", {"sum"}, "root"};

TEST(Chains, AreTheOperatorsThatTheyAre) {
  EXPECT_EQ(joined(task_of({kSquares, kSum, kRoot})), (Ops{"ReduceL2"}));
  EXPECT_EQ(joined(task_of({kSquares, kSum})), (Ops{"ReduceSumSquare"}));
  EXPECT_EQ(joined(task_of({{"Abs", {"x"}, "squares"}, kSum})), (Ops{"ReduceL1"}));
  EXPECT_EQ(joined(task_of({{"ReduceSum", {"x", "axes"}, "sum"}, {"Log", {"sum"}, "y"}})), (Ops{"ReduceLogSum"}));
}

TEST(Chains, StandAmongOtherNodes) {
  const Task task =
      task_of({{"Neg", {"x"}, "less"}, {"Mul", {"less", "less"}, "squares"}, kSum, kRoot, {"Exp", {"root"}, "y"}});
  EXPECT_EQ(joined(task), (Ops{"Neg", "ReduceL2", "Exp"}));
}

TEST(Chains, MustNotLoseWhatOthersRead) {
  EXPECT_EQ(joined(task_of({{"Exp", {"x"}, "e"}, {"Mul", {"x", "e"}, "squares"}, kSum, kRoot})),
            (Ops{"Exp", "Mul", "ReduceSum", "Sqrt"}));
  EXPECT_EQ(joined(task_of({kSquares, kSum, kRoot, {"Add", {"sum", "root"}, "y"}})),
            (Ops{"ReduceSumSquare", "Sqrt", "Add"}));
  Task task = task_of({kSquares, kSum, kRoot});
  task.outputs.push_back({"squares", {}, {}});
  EXPECT_EQ(joined(task), (Ops{"Mul", "ReduceSum", "Sqrt"}));
}

TEST(Chains, AreOfFloat32) {
  Task task = task_of({kSquares, kSum, kRoot});
  task.values[0].dtype = DType::float16;  // 300 squared is infinite there
  EXPECT_EQ(joined(task), (Ops{"Mul", "ReduceSum", "Sqrt"}));
}

TEST(Chains, ComeOutTheSame) {
  for (const Task& task : {task_of({kSquares, kSum, kRoot}), task_of({{"Abs", {"x"}, "squares"}, kSum})}) {
    const ops::Graph graph = ops::resolve(task).value();
    ops::Graph shorter = ops::resolve(task).value();
    ASSERT_EQ(join_chains(shorter), 1);
    Tensor x(DType::float32, Shape{2, 3, 4});
    for (std::int64_t i = 0; i < x.count(); ++i) x.set_real(i, 0.5 * double(i) - 7);
    const std::vector<Tensor> inputs = {x, task.values[1].constant};
    const auto right = ops::evaluate(graph, inputs).value(), same = ops::evaluate(shorter, inputs).value();
    ASSERT_EQ(right[0].shape, same[0].shape);
    for (std::size_t i = 0; i < right[0].reals.size(); ++i) EXPECT_DOUBLE_EQ(right[0].reals[i], same[0].reals[i]);
  }
}

TEST(Chains, TakeTheAttributesOfTheirMainNode) {
  const Task task = task_of({kSquares, kSum, kRoot});
  const ops::Graph graph = ops::resolve(task).value();
  const std::vector<Draft> drafts = drafts_of(graph, read_techniques("cpu").value()).value();
  ASSERT_EQ(drafts.size(), 2u);
  EXPECT_EQ(drafts[0].technique, "reduce_vector");
  EXPECT_NE(drafts[0].source.find("ReduceL2(call.node(1), x, axes_, root_, kept[0]);"), std::string::npos)
      << drafts[0].source;
  EXPECT_EQ(drafts[1].technique, kPlain);
  EXPECT_NE(drafts[1].source.find("Sqrt(call.node(2)"), std::string::npos);
}

}  // namespace
}  // namespace kw::compose
