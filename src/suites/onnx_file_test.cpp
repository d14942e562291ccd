#include "suites/onnx_file.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include "base/scratch.h"
#include "ops/draw.h"
#include "suites/onnx_task.h"

namespace kw::suites {
namespace {

// A file from protobuf's own text form.
std::string file_of(const std::string& text) {
  onnx::ModelProto model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

std::string with_graph(const std::string& graph, int opset = 17) {
  return file_of(fmt::format("ir_version: 8 opset_import {{ version: {} }} graph {{ {} }}", opset, graph));
}

std::string float_value(const std::string& name, const std::string& dims) {
  return fmt::format("name: '{}' type {{ tensor_type {{ elem_type: 1 shape {{ {} }} }} }}", name, dims);
}

std::string node(const std::string& op, const std::string& input, const std::string& output) {
  return fmt::format("node {{ op_type: '{}' input: '{}' output: '{}' }} ", op, input, output);
}

// x: float32[batch, 3] -> Sin -> h -> ReduceSum(axes) -> y
std::string chain() {
  return with_graph("input {" + float_value("x", "dim { dim_param: 'batch' } dim { dim_value: 3 }") + "}" + "output {" +
                    float_value("y", "") + "}" + "initializer { name: 'axes' data_type: 7 dims: 1 int64_data: 1 }" +
                    node("Sin", "x", "h") +
                    "node { name: 'sum' op_type: 'ReduceSum' input: 'h' input: 'axes' output: 'y' }");
}

std::string problem_of(const std::string& bytes) {
  const auto model = parse_onnx(bytes, "m.onnx");
  return model.ok() ? "" : model.error().message;
}

std::string problem_of_node(const std::string& bytes, const std::string& selector, const Lengths& dims = {}) {
  const auto model = parse_onnx(bytes, "m.onnx");
  EXPECT_TRUE(model.ok()) << model.error().message;
  const auto task = task_from_node(*model, selector, dims);
  return task.ok() ? "" : task.error().message;
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(ReadOnnx, ReadsNodesInitializersAndOpenLengths) {
  const auto model = parse_onnx(chain(), "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->opset, 17);
  ASSERT_EQ(model->nodes.size(), 2u);
  EXPECT_EQ(model->nodes[1].node.op, "ReduceSum");
  EXPECT_EQ(model->initializers.at("axes").integers(), std::vector<std::int64_t>{1});
  ASSERT_EQ(model->inputs.size(), 1u);
  EXPECT_EQ((*model->inputs[0].lengths)[0].name, "batch");
}

TEST(ReadOnnx, ReadsEveryWayToStoreATensor) {
  const auto model = parse_onnx(
      with_graph(
          "initializer { name: 'raw' data_type: 1 dims: 1 raw_data: '\\000\\000\\200\\077' }"
          "initializer { name: 'typed' data_type: 1 dims: 2 float_data: 1 float_data: 2 }"
          "initializer { name: 'half' data_type: 10 dims: 1 int32_data: 15360 }"
          "initializer { name: 'brain' data_type: 16 dims: 1 int32_data: 16256 }"
          "initializer { name: 'bool' data_type: 9 dims: 2 raw_data: '\\000\\007' }"
          "initializer { name: 'big' data_type: 13 dims: 1 uint64_data: 18446744073709551615 }"
          "node { op_type: 'Constant' output: 'five' attribute { name: 'value_int' type: INT i: 5 } }"
          "node { op_type: 'Constant' output: 'list' attribute { name: 'value_floats' type: FLOATS floats: 2 } }"),
      "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto& given = model->initializers;
  EXPECT_EQ(given.at("raw").real(0), 1);
  EXPECT_EQ(given.at("typed").real(1), 2);
  EXPECT_EQ(given.at("half").real(0), 1);
  EXPECT_EQ(given.at("brain").real(0), 1);
  EXPECT_EQ(given.at("bool").integers(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(given.at("big").as<std::uint64_t>()[0], ~std::uint64_t{0});
  EXPECT_EQ(given.at("five").shape(), Shape{});
  EXPECT_EQ(given.at("list").shape(), Shape{1});
}

TEST(ReadOnnx, ReadsWeightsBesideTheModelButNothingOutsideItsFolder) {
  const ScratchFolder scratch;
  const std::filesystem::path& folder = scratch.path();
  std::ofstream(folder / "w.bin", std::ios::binary).write("xxxx\0\0\200\077", 8);
  const auto with_location = [&](const std::string& location, const std::string& offset) {
    const auto model =
        parse_onnx(with_graph("initializer { name: 'w' data_type: 1 dims: 1 data_location: EXTERNAL "
                              "external_data { key: 'location' value: '" +
                              location + "' } external_data { key: 'offset' value: '" + offset + "' } }"),
                   "m.onnx", folder);
    return model.ok() ? fmt::format("{}", model->initializers.at("w").real(0)) : model.error().message;
  };
  EXPECT_EQ(with_location("w.bin", "4"), "1");
  EXPECT_SAYS(with_location("w.bin", "5"), "has only 8");
  EXPECT_SAYS(with_location("absent.bin", "0"), "missing or empty");
  EXPECT_SAYS(with_location("../w.bin", "0"), "not inside the model's folder");
  EXPECT_SAYS(with_location("/etc/passwd", "0"), "not inside the model's folder");
  std::filesystem::create_symlink("/etc/passwd", folder / "link.bin");
  EXPECT_SAYS(with_location("link.bin", "0"), "not inside the model's folder");
}

TEST(ReadOnnx, RefusesWhatIsNoModel) {
  const std::string whole = chain();
  EXPECT_SAYS(problem_of(whole.substr(0, whole.size() / 2)), "m.onnx: is not an ONNX model, or only a part");
  EXPECT_SAYS(problem_of("no protobuf at all"), "is not an ONNX model");
  EXPECT_SAYS(problem_of(""), "is not an ONNX model");
  EXPECT_SAYS(read_onnx("/absent/model.onnx").error().message, "/absent/model.onnx: no such file");
}

TEST(ReadOnnx, RefusesAFileBeyondTwoGibibytesWithoutReadingIt) {
  const ScratchFolder folder;
  const auto path = folder.path() / "huge.onnx";
  std::ofstream(path).put(' ');
  std::filesystem::resize_file(path, std::uintmax_t{5} << 30);
  EXPECT_SAYS(read_onnx(path).error().message, "larger than 2 GiB");
}

TEST(ReadOnnx, NamesTheTensorThatContradictsItself) {
  EXPECT_SAYS(problem_of(with_graph("initializer { name: 'w' data_type: 1 dims: 3 raw_data: 'abcd' }")),
              "m.onnx: initializer 'w': has 4 bytes of data, but float32[3] needs 12");
  EXPECT_SAYS(problem_of(with_graph("initializer { name: 'w' data_type: 1 dims: 3 float_data: 1 }")),
              "has 1 values, but its shape [3] needs 3");
  EXPECT_SAYS(problem_of(with_graph("initializer { name: 'w' data_type: 1 dims: -3 }")), "negative length");
  EXPECT_SAYS(problem_of(with_graph("initializer { name: 'w' data_type: 1 dims: 4294967296 dims: 4294967296 }")),
              "more than 2^40 elements");
  // A claim of a terabyte without its bytes must not be believed.
  EXPECT_SAYS(problem_of(with_graph("initializer { name: 'w' data_type: 1 dims: 1099511627776 }")), "has 0 values");
}

TEST(ReadOnnx, NamesTheNodesThatContradictEachOther) {
  EXPECT_SAYS(problem_of(with_graph(node("Sin", "b", "a") + node("Cos", "a", "b"))),
              "the graph has a cycle: node #0 (Sin 'a') needs its own result");
  EXPECT_SAYS(problem_of(with_graph(node("Sin", "x", "a") + node("Cos", "x", "a"))),
              "'a' is computed twice: by node #0 (Sin 'a') and node #1 (Cos 'a')");
  EXPECT_SAYS(problem_of(with_graph("input {" + float_value("x", "") + "}" + node("Sin", "x", "x"))),
              "'x' is given to the model, but node #0 (Sin 'x') computes it too");
}

TEST(ReadOnnx, SaysWhichOpsetsAreKnown) {
  EXPECT_SAYS(problem_of(with_graph("", 99)), "uses version 99 of ONNX's operators, but only 1 to 28 are known");
}

TEST(ReadOnnx, SortsNodesThatComeInAnyOrder) {
  const auto model = parse_onnx(with_graph(node("Cos", "a", "b") + node("Sin", "x", "a")), "m.onnx");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->order, (std::vector<std::size_t>{1, 0}));
}

TEST(TaskFromNode, TakesTheShapesThatTheNodeMeetsInTheModel) {
  const auto model = parse_onnx(chain(), "m.onnx");
  for (const char* selector : {"sum", "y", "#1", "1"}) {
    const auto task = task_from_node(*model, selector, {{"batch", 5}});
    ASSERT_TRUE(task.ok()) << task.error().message;
    EXPECT_EQ(task->name, "m.onnx:sum");
    ASSERT_EQ(task->values.size(), 2u);
    EXPECT_EQ(task->values[1].role, Role::constant);
    const auto graph = ops::resolve(*task);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(graph->inputs[0].type.shape, (Shape{5, 3}));
    EXPECT_EQ(graph->output_type(0).shape, (Shape{5, 1}));
  }
}

TEST(TaskFromNode, LeavesOpenWhatReachesTheNodeUnchanged) {
  const auto model = parse_onnx(chain(), "m.onnx");
  const auto task = task_from_node(*model, "sum", {{"batch", 5}});
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->lengths, (Lengths{{"batch", 5}}));
  const auto other = ops::resolve(*task, {{"batch", 9}});
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->output_type(0).shape, (Shape{9, 1}));
}

// x: float32[batch, 3, height, width] -> MaxPool by 2 -> Relu, and a sum of two that were pooled alike.
std::string pooled() {
  const std::string dims =
      "dim { dim_param: 'batch' } dim { dim_value: 3 } dim { dim_param: 'height' } dim { dim_param: 'width' }";
  const auto pool = [](const std::string& input, const std::string& output) {
    return "node { op_type: 'MaxPool' input: '" + input + "' output: '" + output +
           "' attribute { name: 'kernel_shape' type: INTS ints: 2 ints: 2 } "
           "attribute { name: 'strides' type: INTS ints: 2 ints: 2 } } ";
  };
  return with_graph("input {" + float_value("x", dims) + "} input {" + float_value("z", dims) + "}" + pool("x", "p") +
                    pool("z", "q") + node("Relu", "p", "r") +
                    "node { op_type: 'Add' input: 'p' input: 'q' output: 's' } output {" + float_value("r", "") +
                    "} output {" + float_value("s", "") + "}");
}

TEST(TaskFromNode, LeavesOpenWhatFollowsFromAnOpenLength) {
  const auto model = parse_onnx(pooled(), "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Lengths dims = {{"batch", 2}, {"height", 16}, {"width", 24}};
  const auto relu = task_from_node(*model, "r", dims);
  ASSERT_TRUE(relu.ok()) << relu.error().message;
  EXPECT_EQ(relu->lengths, (Lengths{{"batch", 2}, {"height/2", 8}, {"width/2", 12}}));
  const auto other = ops::resolve(*relu, {{"batch", 5}, {"height/2", 7}, {"width/2", 1}});
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->output_type(0).shape, (Shape{5, 3, 7, 1}));
}

TEST(TaskFromNode, MovesWhatAlwaysAgreesTogether) {
  const auto model = parse_onnx(pooled(), "m.onnx");
  const auto sum = task_from_node(*model, "s", {{"batch", 2}, {"height", 16}, {"width", 16}});
  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_EQ(sum->lengths, (Lengths{{"batch", 2}, {"height/2", 8}, {"width/2", 8}}));
  ASSERT_EQ(sum->values.size(), 2u);
  for (const Value& value : sum->values) {
    EXPECT_EQ(value.lengths[2].name, "height/2");
    EXPECT_EQ(value.lengths[3].name, "width/2");
  }
}

// A target that is the product of two lengths would have to move with both: the shape stays as it is.
TEST(TaskFromNode, LeavesClosedWhatCannotMoveAlone) {
  const std::string bytes = with_graph(
      "input {" + float_value("x", "dim { dim_param: 'a' } dim { dim_param: 'b' }") + "}" +
      "initializer { name: 'minus' data_type: 7 dims: 1 int64_data: -1 }" + node("Shape", "x", "shape") +
      "node { op_type: 'ReduceProd' input: 'shape' output: 'all' attribute { name: 'keepdims' type: INT i: 1 } } "
      "node { op_type: 'Reshape' input: 'x' input: 'all' output: 'y' } output {" +
      float_value("y", "") + "}");
  const auto model = parse_onnx(bytes, "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto task = task_from_node(*model, "y", {{"a", 4}, {"b", 6}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->lengths, Lengths());
  EXPECT_TRUE(task->values[1].elements.empty());
}

TEST(TaskFromNode, GivesWeightsTheModelsOwnValues) {
  const std::string bytes = with_graph("initializer { name: 'w' data_type: 1 dims: 2 float_data: 1 float_data: 2 }" +
                                       node("Sin", "w", "y") + "output {" + float_value("y", "") + "}");
  const auto model = parse_onnx(bytes, "m.onnx");
  const auto task = task_from_node(*model, "0", {});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->values[0].role, Role::weight);
  const auto graph = ops::resolve(*task);
  for (ops::InputClass input_class : ops::kInputClasses) {
    EXPECT_EQ(ops::draw_inputs(*graph, input_class, 3)[0].as<float>()[1], 2.0f) << name_of(input_class);
  }
}

TEST(TaskFromNode, FoldsWhatComesFromInitializersAlone) {
  std::string values;
  for (int i = 0; i < 5000; ++i) values += " float_data: 0";
  const std::string bytes =
      with_graph("initializer { name: 'w' data_type: 1 dims: 5000 " + values + "}" + node("Cos", "w", "c") +
                 node("Sin", "c", "y") + "output {" + float_value("y", "") + "}");
  const auto model = parse_onnx(bytes, "m.onnx");
  const auto task = task_from_node(*model, "y", {});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->values[0].role, Role::weight);
  EXPECT_EQ(task->values[0].constant.real(4999), 1);
}

TEST(TaskFromNode, AsksForOpenLengthsByName) {
  EXPECT_SAYS(problem_of_node(chain(), "sum"),
              "m.onnx: node #1 (ReduceSum 'sum'): the model leaves a length open; give --dim batch=VALUE");
  EXPECT_SAYS(problem_of_node(chain(), "sum", {{"bacth", 2}}), "no open length of that name; nearest: batch");
  const std::string unnamed =
      with_graph("input {" + float_value("x", "dim { dim_value: -1 } dim { }") + "}" + node("Sin", "x", "y"));
  EXPECT_SAYS(problem_of_node(unnamed, "y"), "give --dim x.0=VALUE --dim x.1=VALUE");
  EXPECT_EQ(problem_of_node(unnamed, "y", {{"x.0", 2}, {"x.1", 3}}), "");
  EXPECT_SAYS(problem_of_node(unnamed, "y", {{"x.0", 1 << 30}, {"x.1", 1 << 30}}), "more than 2^40 elements");
}

TEST(TaskFromNode, SaysWhichNodeWasNotFound) {
  EXPECT_SAYS(problem_of_node(chain(), "sun"), "no node 'sun'");
  EXPECT_SAYS(problem_of_node(chain(), "sun"), "nearest: sum");
  EXPECT_SAYS(problem_of_node(chain(), "#2"), "a number from #0 to #1");
}

TEST(TaskFromNode, RefusesOnlyTheNodesThatCannotBeComputed) {
  const std::string input = "input {" + float_value("x", "dim { dim_value: 2 }") + "}";
  const std::string bytes = with_graph(
      input + node("Sinn", "x", "a") + "node { op_type: 'Gelu' domain: 'com.microsoft' input: 'x' output: 'b' }" +
      "node { op_type: 'If' input: 'x' output: 'c' attribute { name: 'then_branch' type: GRAPH g { } } }" +
      node("Sin", "x", "d") + "input { name: 's' type { sequence_type { elem_type { } } } }" + node("Sin", "s", "e") +
      "initializer { name: 't' data_type: 8 dims: 1 string_data: 'hi' }" + node("Sin", "t", "f"));
  EXPECT_SAYS(problem_of_node(bytes, "a"), "is an operator that is not known; nearest: Sign, Sin");
  EXPECT_SAYS(problem_of_node(bytes, "b"), "is an operator of domain 'com.microsoft'");
  EXPECT_SAYS(problem_of_node(bytes, "c"), "has a subgraph (attribute 'then_branch')");
  EXPECT_EQ(problem_of_node(bytes, "d"), "");
  EXPECT_SAYS(problem_of_node(bytes, "e"), "'s' is a sequence, which is not supported");
  EXPECT_SAYS(problem_of_node(bytes, "f"), "'t' holds strings, which is not supported");
}

TEST(TaskFromNode, TrustsTheFileBehindAnOperatorThatIsNotOurs) {
  const std::string input = "input {" + float_value("x", "dim { dim_value: 2 }") + "}";
  const std::string nodes = node("Mystery", "x", "h") + node("Sin", "h", "y");
  EXPECT_SAYS(problem_of_node(with_graph(input + nodes), "y"),
              "the shape of 'h' is not known, since node #0 (Mystery 'h') stands before it");
  const std::string stated = with_graph(input + "value_info {" +
                                        float_value("h", "dim { dim_value: 4 } dim { dim_param: 'k' }") + "}" + nodes);
  EXPECT_SAYS(problem_of_node(stated, "y"), "give --dim k=VALUE");
  const auto task = task_from_node(*parse_onnx(stated, "m.onnx"), "y", {{"k", 6}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(ops::resolve(*task)->output_type(0).shape, (Shape{4, 6}));
}

TEST(WriteOnnx, WritesWhatItReads) {
  const auto model = parse_onnx(chain(), "m.onnx");
  const auto task = task_from_model(*model, {{"batch", 2}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  const auto graph = ops::resolve(*task);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto inputs = ops::draw_inputs(*graph, ops::InputClass::typical, 1);
  const auto bytes = write_onnx(*graph, inputs);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto again = parse_onnx(*bytes, "again.onnx");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->initializers.size(), 1u);
  const auto same = task_from_model(*again, {});
  ASSERT_TRUE(same.ok()) << same.error().message;
  const auto same_graph = ops::resolve(*same);
  ASSERT_TRUE(same_graph.ok()) << same_graph.error().message;
  EXPECT_EQ(same_graph->output_type(0).shape, (Shape{2, 1}));
  EXPECT_EQ(same->operators(), "Sin + ReduceSum");
}

// x: float32[1, 3, height, 8] -> Conv with stride 2 -> h -> Relu -> y
std::string strided(const std::string& height) {
  return with_graph("input {" +
                    float_value("x", "dim { dim_value: 1 } dim { dim_value: 3 } " + height + " dim { dim_value: 8 }") +
                    "} output {" + float_value("y", "") + "}" +
                    "initializer { name: 'w' data_type: 1 dims: 1 dims: 3 dims: 2 dims: 2 " +
                    "float_data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }" +
                    "node { op_type: 'Conv' input: 'x' input: 'w' output: 'h' attribute { name: 'strides' type: INTS "
                    "ints: 2 ints: 2 } }" +
                    node("Relu", "h", "y"));
}

TEST(TaskFromNode, KeepsALengthOpenThatEarlierNodesMadeOfAnother) {
  const auto model = parse_onnx(strided("dim { dim_param: 'height' }"), "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto task = task_from_node(*model, "#1", {{"height", 32}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->lengths, (Lengths{{"height/2", 16}}));
  EXPECT_EQ(task->values[0].lengths[2].name, "height/2");
  const auto other = ops::resolve(*task, {{"height/2", 7}});
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->output_type(0).shape, (Shape{1, 1, 7, 4}));
}

TEST(ReadOnnx, AxesCalledQuestionMarkAreLengthsOfTheirOwn) {
  const auto model =
      parse_onnx(with_graph("input {" + float_value("x", "dim { dim_param: '?' } dim { dim_param: '?' }") +
                            "} output {" + float_value("y", "") + "}" + node("Relu", "x", "y")),
                 "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto task = task_from_node(*model, "#0", {{"x.0", 2}, {"x.1", 3}});
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task->values[0].lengths[1].value, 3);
}

TEST(TaskFromNode, NamesTheInnermostCauseOnce) {
  std::string graph = "input {" + float_value("x", "dim { dim_value: 2 }") + "} output {" + float_value("y", "") + "}" +
                      "node { op_type: 'Strange' domain: 'mine' input: 'x' output: 'h0' }";
  for (int i = 0; i < 20; ++i) graph += node("Relu", fmt::format("h{}", i), fmt::format("h{}", i + 1));
  const std::string problem = problem_of_node(with_graph(graph + node("Relu", "h20", "y")), "y");
  EXPECT_SAYS(problem, "the shape of 'h0' is not known, since node #0 (Strange 'h0') stands before it");
  EXPECT_LT(problem.size(), 400u) << problem;
}

TEST(ModelTasks, GivesEveryNodeOfAModelAsATask) {
  const auto model = parse_onnx(chain(), "m.onnx");
  ASSERT_TRUE(model.ok());
  const auto tasks = ModelTasks::of(*model, {{"batch", 4}});
  ASSERT_TRUE(tasks.ok()) << tasks.error().message;
  const auto both = tasks->task({1, 0});
  ASSERT_TRUE(both.ok()) << both.error().message;
  ASSERT_EQ(both->nodes.size(), 2u);
  EXPECT_EQ(both->nodes[0].op, "Sin");
  EXPECT_EQ(both->outputs.size(), 1u);
  EXPECT_EQ(tasks->type("h")->shape, (Shape{4, 3}));
  EXPECT_TRUE(tasks->is_constant("axes"));
  EXPECT_FALSE(tasks->is_constant("h"));
}

}  // namespace
}  // namespace kw::suites
