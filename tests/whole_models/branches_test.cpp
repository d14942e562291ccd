// Models with nodes inside of others: If and Loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/scratch.h"
#include "models/library.h"
#include "models/plan.h"
#include "models/reference.h"
#include "models/regions.h"
#include "models/runtime.h"
#include "models/times.h"
#include "suites/onnx_rewrite.h"
#include "whole_models/small_model.h"

namespace kw::models {
namespace {

suites::OnnxModel read(const std::string& bytes) {
  auto model = suites::parse_onnx(bytes, "model.onnx");
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *std::move(model);
}

std::size_t number_of(const suites::OnnxModel& model, const std::string& name) {
  const auto found = std::ranges::find(model.nodes, name, [](const auto& one) { return one.node.name; });
  EXPECT_NE(found, model.nodes.end()) << name;
  return static_cast<std::size_t>(found - model.nodes.begin());
}

TEST(Branches, NodesInsideOfOthersAreCalledByTheWayToThem) {
  const suites::OnnxModel model = read(branching_model());
  ASSERT_EQ(model.scopes.size(), 5u);
  const auto& then = model.nodes[number_of(model, "choose/then/conv2")];
  const auto& other = model.nodes[number_of(model, "choose/else/conv2")];
  EXPECT_EQ(then.node.inputs, (std::vector<std::string>{"choose/then/chosen", "choose/then/w2"}));
  EXPECT_EQ(other.node.inputs, (std::vector<std::string>{"choose/else/a1", "w1"}));
  EXPECT_EQ(model.in_file("choose/else/a1"), "a1");
  EXPECT_EQ(number_of(model, "choose/then/inner/else/turn"), model.nodes.size() - 1);
  EXPECT_EQ(model.nodes[3].node.name, "choose");  // the model's own nodes keep their numbers
  const auto place = [&](const std::string& name) {
    return std::ranges::find(model.order, number_of(model, name)) - model.order.begin();
  };
  EXPECT_LT(place("choose/then/inner/then/Relu_12"), place("choose/then/inner"));
  EXPECT_LT(place("choose/then/conv2"), place("choose"));
  EXPECT_LT(place("choose"), place("last"));
}

TEST(Branches, ShapesGoThroughThem) {
  const suites::OnnxModel model = read(branching_model());
  const auto tasks = suites::ModelTasks::of(model, {{"N", 2}});
  ASSERT_TRUE(tasks.ok()) << tasks.error().message;
  const TensorType image{DType::float32, Shape{2, 8, 12, 12}};
  for (const char* value : {"y", "h", "choose/then/chosen", "choose/else/c1"}) {
    ASSERT_NE(tasks->type(value), nullptr) << value;
    EXPECT_EQ(*tasks->type(value), image) << value;
  }
  EXPECT_TRUE(tasks->never_runs(number_of(model, "choose/then/inner/else/turn")));
  EXPECT_FALSE(tasks->never_runs(number_of(model, "choose/then/inner/then/Relu_12")));
  EXPECT_FALSE(tasks->never_runs(number_of(model, "choose/else/conv1")));

  const auto task = suites::task_from_node(model, "choose/then/conv2", {{"N", 2}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->name, "model.onnx:choose/then/conv2");
  EXPECT_TRUE(suites::task_from_node(model, "last", {{"N", 2}}).ok());
}

TEST(Branches, AValueOfALoopHasTheShapeThatTheFileStates) {
  const suites::OnnxModel stated = read(looping_model(true)), open = read(looping_model(false));
  const auto task = suites::task_from_node(stated, "turns/body/double", {});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->values[0].lengths[0].value, 4);
  const auto none = suites::task_from_node(open, "turns/body/double", {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("it may be another one in each turn of the loop"), std::string::npos)
      << none.error().message;
}

TEST(Branches, AReplacementStandsInOneOfThem) {
  const suites::OnnxModel model = read(branching_model());
  suites::OnnxReplacement one{.nodes = {number_of(model, "choose/then/conv1"), number_of(model, "choose/else/conv1")},
                              .op = "Both",
                              .name = "both",
                              .inputs = {"x"},
                              .outputs = {"choose/then/c1"},
                              .output_types = {{DType::float32, Shape{2, 8, 12, 12}}},
                              .constants = {}};
  const auto refused = suites::edit_onnx(model, branching_model(), {.replacements = {one}, .domain = "mine"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("stands in another branch"), std::string::npos) << refused.error().message;
  one.nodes.pop_back();
  const auto bytes = suites::edit_onnx(model, branching_model(), {.replacements = {one}, .domain = "mine"});
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const suites::OnnxModel edited = read(*bytes);
  const auto& node = edited.nodes[number_of(edited, "choose/then/both")].node;
  EXPECT_EQ(node.outputs, (std::vector<std::string>{"choose/then/c1"}));
}

// The first branch cannot run for images of 3 x 3: its pool has no place. What comes after has the other one's shape.
TEST(Branches, OneThatCannotRunWithTheseLengthsIsLeftOut) {
  const suites::OnnxModel model = read(choosing_model());
  const auto small = suites::ModelTasks::of(model, {{"N", 3}}), large = suites::ModelTasks::of(model, {{"N", 6}});
  ASSERT_TRUE(small.ok() && large.ok());
  const std::size_t owner = number_of(model, "choose"), pool = number_of(model, "choose/then/pool");
  EXPECT_TRUE(small->never_runs(pool));
  EXPECT_FALSE(small->never_runs(number_of(model, "choose/else/flat")));
  EXPECT_FALSE(large->never_runs(pool));
  const std::string why = small->why_impossible(model.nodes[owner].bodies[0]);
  EXPECT_TRUE(why.starts_with("MaxPool 'choose/then/pool': ")) << why;
  EXPECT_EQ(large->why_impossible(model.nodes[owner].bodies[0]), "");
  ASSERT_NE(small->type("y"), nullptr);
  EXPECT_EQ(small->type("y")->shape, (Shape{1, 1, 9}));
  EXPECT_EQ(large->type("y"), nullptr);  // one of two
  EXPECT_FALSE(small->known_branch(owner).has_value());
}

// An input of one whole number that always has the same value decides, and what is written has no If.
TEST(Branches, OneThatIsKnownStandsInThePlaceOfItsIf) {
  const ScratchFolder folder;
  const auto file = folder.path() / "choosing.onnx";
  ASSERT_TRUE(write_file(file, choosing_model()).ok());
  for (const std::int64_t rate : {8, 16}) {
    const Lengths dims = {{"N", 6}, {"rate", rate}};
    const auto as_it_is = Model::open(file, dims), placed = Model::open(file, dims, Model::KnownBranches::in_place);
    ASSERT_TRUE(as_it_is.ok() && placed.ok()) << placed.error().message;
    EXPECT_EQ(as_it_is->onnx().scopes.size(), 3u);
    EXPECT_EQ(placed->onnx().scopes.size(), 1u);
    EXPECT_EQ(terms_of(*placed).fixed.at("rate"), rate);
    const auto op_of = [&](const std::string& name) { return placed->node(number_of(placed->onnx(), name)).op; };
    EXPECT_EQ(op_of(rate == 16 ? "choose/then_branch/pool" : "choose/else_branch/flat"),
              rate == 16 ? "MaxPool" : "Reshape");

    // Both compute the same.
    std::vector<Tensor> inputs = {Tensor(DType::float32, Shape{1, 1, 6, 6}), Tensor(DType::int64, Shape{})};
    for (std::int64_t i = 0; i < 36; ++i) inputs[0].set_real(i, static_cast<double>((i * 7) % 36));
    inputs[1].set_integer(0, rate);
    const auto one = outputs_in_double(*as_it_is, inputs), other = outputs_in_double(*placed, inputs);
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(one->front().shape, (rate == 16 ? Shape{1, 1, 1, 1} : Shape{1, 1, 36}));
    EXPECT_EQ(one->front().reals, other->front().reals);
    EXPECT_EQ(one->back().reals, other->back().reals);
    EXPECT_EQ(other->back().shape, (Shape{1}));
  }
  const auto unknown = Model::open(file, {{"N", 6}, {"rat", 16}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("nearest: rate"), std::string::npos) << unknown.error().message;
}

// Both branches with kernels of ours, in a real ONNX Runtime.
TEST(Branches, RegionsInsideOfThemAreReplaced) {
  const ScratchFolder folder;
  const auto file = folder.path() / "branching.onnx", made = folder.path() / "model.onnx";
  ASSERT_TRUE(write_file(file, branching_model()).ok());
  const auto model = Model::open(file, {{"N", 2}});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const char* python = std::getenv("KW_TEST_PYTHON");
  rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
  rival.own = rivals::OwnPython{.program = python == nullptr ? "" : python, .version = "of the tests", .path = ""};
  const auto runtime = Runtime::open(rival);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  RunTerms terms = terms_of(*model);
  terms.seconds = 0.2;

  const auto times = where_time_goes(*model, *runtime, terms, "cpu");
  ASSERT_TRUE(times.ok()) << times.error().message;
  // An If takes what it takes besides its branches, and one of these ran.
  const auto ns = [&](const char* name) { return times->node_ns[number_of(model->onnx(), name)]; };
  EXPECT_GT(ns("choose/then/conv1") + ns("choose/else/conv1"), 0);
  EXPECT_LT(ns("choose"), times->median_ns);
  const auto choosing = std::ranges::find(times->rows, "If", &TimeRow::op);
  ASSERT_NE(choosing, times->rows.end());
  EXPECT_NE(choosing->obstacle.find("the nodes inside are rows of their own"), std::string::npos) << choosing->obstacle;

  std::vector<GroupKind> kinds;
  std::vector<LibraryKernel> kernels;
  std::vector<Chosen> chosen;
  for (Region& region : regions_of(*model, *times)) {
    chosen.push_back({kinds.size(), 0});
    kernels.push_back({.op = region.kind.op,
                       .task = region.kind.task,
                       .source = {"region.cpp", region.kernel.source},
                       .settings = {},
                       .about = "of a test",
                       .uses_threads = true});
    kinds.push_back(std::move(region.kind));
  }
  // The convolutions of the first branch stand on both sides of an If, and are one each.
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(model->scope(kinds[0].groups[0].nodes[0]), 2u);
  const Status built = write_library(folder.path(), kernels, "kernelwright.branching", "cpu");
  ASSERT_TRUE(built.ok()) << built.error().message;
  const auto bytes = model_with(*model, kinds, chosen, "kernelwright.branching");
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  ASSERT_TRUE(write_file(made, *bytes).ok());
  for (const int threads : {1, 2}) {
    terms.threads = threads;
    const auto race = runtime->race({{"original", file}, {"fast", made, folder.path() / kLibraryFile}}, terms, 6);
    ASSERT_TRUE(race.ok()) << race.error().message;
    for (const auto& outputs : race->cases.at("fast")) {
      for (const Difference& one : outputs) EXPECT_TRUE(one.within()) << one.max_error << " " << one.problem;
    }
  }
}

}  // namespace
}  // namespace kw::models
