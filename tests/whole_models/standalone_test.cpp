// A small model without any framework: written, built as a user would, checked; and what stands in the way of others.
#include "models/standalone.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#define KW_ONLY_C
#include "../../kernels/models/standalone_run.h"
#include "base/files.h"
#include "base/scratch.h"
#include "models/ncnn_layer.h"
#include "models/standalone_plan.h"
#include "models/times.h"
#include "whole_models/small_model.h"

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

namespace kw::models {
namespace {

constexpr char kDevice[] = "cpu";

onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                          const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(op + " of " + output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

// The small model, and behind it what only gives another shape, a Softmax, and an output that is an input.
onnx::ModelProto longer_model() {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(small_model()));
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::TensorProto& shape = *graph.add_initializer();
  shape.set_name("rows");
  shape.set_data_type(onnx::TensorProto::INT64);
  shape.add_dims(3);
  for (const std::int64_t length : {-1, 96, 5}) shape.add_int64_data(length);
  add_node(graph, "Reshape", {"z", "rows"}, "flat");
  onnx::AttributeProto& axis = *add_node(graph, "Softmax", {"flat"}, "parts").add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(-1);
  add_node(graph, "Identity", {"x"}, "again");
  for (const char* name : {"parts", "again"}) {
    onnx::ValueInfoProto& output = *graph.add_output();
    output.set_name(name);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  return model;
}

// With names that would become code, or leave the folder.
onnx::ModelProto hostile(onnx::ModelProto model) {
  const auto rename = [](std::string* name) {
    if (!name->empty()) *name = "../" + *name + "\n#error a name became code\n*/ \"@RUN@";
  };
  onnx::GraphProto& graph = *model.mutable_graph();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    rename(node.mutable_name());
    for (std::string& name : *node.mutable_input()) rename(&name);
    for (std::string& name : *node.mutable_output()) rename(&name);
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output()}) {
    for (onnx::ValueInfoProto& value : *values) rename(value.mutable_name());
  }
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) rename(tensor.mutable_name());
  return model;
}

class StandaloneModel : public testing::Test {
 protected:
  void open(const onnx::ModelProto& model, const std::string& name = "m.onnx") {
    ASSERT_TRUE(write_file(folder_.path() / name, model.SerializeAsString()).ok());
    auto opened = Model::open(folder_.path() / name, {{"N", 2}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    model_.emplace(*std::move(opened));
  }

  Result<Standalone> written() {
    const char* python = std::getenv("KW_TEST_PYTHON");
    rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
    rival.own = rivals::OwnPython{.program = python == nullptr ? "" : python, .version = "of the tests", .path = ""};
    KW_TRY(const Runtime runtime, Runtime::open(rival));
    RunTerms terms = terms_of(*model_);
    terms.seconds = 0.1;
    std::filesystem::create_directory(out_);
    return write_standalone(*model_, units_of_regions(*model_), runtime, terms, out_, kDevice,
                            [](const std::string&) {});
  }

  testing::AssertionResult succeeds(const std::string& command) const {
    const std::string log = (folder_.path() / "log.txt").string();
    const int code = std::system(("cd " + out_.string() + " && (" + command + ") > " + log + " 2>&1").c_str());
    return (code == 0 ? testing::AssertionSuccess() : testing::AssertionFailure()) << command << ":\n"
                                                                                   << *read_file(log);
  }

  // With a double of ncnn's classes.
  void run_as_a_layer() const {
    const std::string doubles = KW_SOURCE_DIR "/tests/whole_models/ncnn_double";
    ASSERT_TRUE(succeeds("g++ -std=c++17 -Wall -Wextra -Werror -Wno-sign-conversion -I" + doubles + " -Incnn " +
                         doubles + "/main.cpp build/libmodel.a -o build/layer && build/layer check/inputs.bin"));
    const std::string wanted = *read_file(out_ / "check" / "outputs.bin"), got = *read_file(out_ / "outputs.bin");
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t at = 0; at < got.size(); at += sizeof(float)) {
      float a = 0, b = 0;
      std::memcpy(&a, got.data() + at, sizeof a);
      std::memcpy(&b, wanted.data() + at, sizeof b);
      ASSERT_NEAR(a, b, 1e-4) << at;
    }
    EXPECT_EQ(*read_file(out_ / "ncnn" / "model.param"),
              "7767517\n2 5\nInput in0 0 1 in0\nkw.m_onnx model 1 4 in0 out0 out1 out2 out3\n");
  }

  kw::ScratchFolder folder_;
  const std::filesystem::path out_ = folder_.path() / "out";
  std::optional<Model> model_;
};

TEST_F(StandaloneModel, IsBuiltAsAUserWouldAndFailsItsCheckWithAnotherWeight) {
  open(longer_model());
  const auto made = written();
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->outputs.size(), 4u);
  EXPECT_LT(made->memory_bytes, made->unshared_bytes + 1);
  ASSERT_TRUE(succeeds("cmake -B build && cmake --build build -j 2 && ctest --test-dir build"));
  ASSERT_NO_FATAL_FAILURE(run_as_a_layer());

  std::string weights = *read_file(out_ / "weights.bin");
  for (std::size_t i = 3; i < 400; i += 4) weights[i] = static_cast<char>(weights[i] ^ 0x80);  // signs of floats
  ASSERT_TRUE(write_file(out_ / "weights.bin", weights).ok());
  ASSERT_TRUE(succeeds("cmake --build build"));
  EXPECT_FALSE(succeeds("build/model_check"));
  EXPECT_NE(read_file(folder_.path() / "log.txt")->find("WRONG"), std::string::npos);
}

TEST_F(StandaloneModel, WhateverNamesHoldTheyDoNotBecomeCode) {
  open(hostile(longer_model()), "m\n#error the file's name\n\"; $(touch owned) @ABOUT@ ${CMAKE_COMMAND}.onnx");
  const auto made = written();
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out_)) {
    EXPECT_EQ(entry.path().filename().string().find("error"), std::string::npos) << entry.path();
  }
  // As its README says it is built.
  EXPECT_TRUE(succeeds("cmake -B build && cmake --build build -j 2 && ctest --test-dir build"));
  EXPECT_FALSE(std::filesystem::exists(out_ / "owned"));
}

TEST_F(StandaloneModel, NodesThatStandInTheWayAreNamed) {
  onnx::ModelProto model = longer_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "NonZero", {"x"}, "places");
  onnx::ValueInfoProto& output = *graph.add_output();
  output.set_name("places");
  output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  open(model);
  const auto plan = standalone_plan(*model_, {}, kDevice);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("1 of its nodes"), std::string::npos) << plan.error().message;
  EXPECT_NE(plan.error().message.find("NonZero of places"), std::string::npos) << plan.error().message;
  EXPECT_NE(plan.error().message.find("the shape of its result depends on values"), std::string::npos);
}

TEST(ANcnnLayer, IsWrittenWhereItsTensorsHoldTheModels) {
  const NamedType image{"x", {DType::float32, Shape{1, 3, 8, 8}}};
  const auto wide = ncnn_layer("m", {image}, {{"y", {DType::int64, Shape{4}}}});
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().message, "its tensors cannot hold 'y', which is int64[4]");
  EXPECT_FALSE(ncnn_layer("m", {image}, {{"y", {DType::float32, Shape{2, 2, 2, 2, 2}}}}).ok());
  EXPECT_FALSE(ncnn_layer("m", {}, {image}).ok());
  const auto files = ncnn_layer("m \"\"\"\nimport os", {image}, {{"y", {DType::float32, Shape{}}}});
  ASSERT_TRUE(files.ok());
  EXPECT_NE(files->at("model_layer.h").find("kInputs[] = {{3, {3, 8, 8}}};"), std::string::npos);
  EXPECT_NE(files->at("model_layer.py").find("OUTPUTS = [(\"float32\", [1])]"), std::string::npos);
  EXPECT_EQ(files->at("model_layer.py").find("\nimport os\"\"\""), std::string::npos);
}

// What gives another shape costs nothing, and what is given out is made where it is wanted.
TEST_F(StandaloneModel, APlanCopiesOnlyWhatItMust) {
  open(longer_model());
  const auto plan = standalone_plan(*model_, {}, kDevice);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  int copies = 0, reshapes = 0;
  for (const PlannedUnit& unit : plan->units) {
    copies += unit.kernel < 0 ? 1 : 0;
    reshapes += unit.about == "Reshape" || unit.about == "Identity" ? 1 : 0;
  }
  EXPECT_EQ(copies, 1);  // the input that is an output
  EXPECT_EQ(reshapes, 0);
  EXPECT_EQ(plan->outputs.size(), 4u);
}

// A kernel that says how many threads it was lent, and has each piece of work write its number.
int lent_kernel(kw_call* call) {
  auto* const to = static_cast<float*>(call->outputs[0].data);
  to[0] = static_cast<float>(call->threads);
  to[1] = call->scratch_bytes >= 2 * call->threads * 64;
  const auto work = [](void* data, int32_t i) { static_cast<float*>(data)[2 + i] = static_cast<float>(i); };
  if (call->parallel != nullptr) call->parallel(call, 2, work, to);
  return KW_OK;
}

TEST(AStandaloneRun, LendsThreadsAndTakesThemBack) {
  constexpr kw_model::Kernel kKernel{lent_kernel, nullptr, nullptr, 0};
  constexpr kw_model::Tensor kTensor{kw_model::Tensor::output, 0, KW_FLOAT32, 1, {4}};
  constexpr int32_t kFirst[] = {0};
  const kw_model::Step step{&kKernel, kFirst, 0, 1, 64, 0};
  const kw_model::Plan plan{&kTensor, &step, 1, nullptr, 0};
  const std::unique_ptr<kw_model::Model> model(kw_model::Model::create(plan));
  ASSERT_TRUE(model);
  int asked = 0;
  const auto pool = [](void* count, int32_t pieces, void (*work)(void* data, int32_t index), void* data) {
    ++*static_cast<int*>(count);
    for (int32_t i = 0; i < pieces; ++i) work(data, i);
  };
  std::vector<float> y(4, -1);
  void* const outputs[] = {y.data()};
  ASSERT_TRUE(model->lend(3, pool, &asked));
  ASSERT_EQ(model->run(nullptr, outputs), KW_OK);
  EXPECT_EQ(y, (std::vector<float>{3, 1, 0, 1}));
  EXPECT_EQ(asked, 1);
  y = {-1, -1, -1, -1};
  ASSERT_TRUE(model->lend(1, nullptr, nullptr));
  ASSERT_EQ(model->run(nullptr, outputs), KW_OK);
  EXPECT_EQ(y, (std::vector<float>{1, 0, -1, -1}));
  EXPECT_EQ(asked, 1);
}

TEST(SharedMemory, TensorsThatLiveAtTheSameTimeDoNotOverlap) {
  std::vector<Lifetime> all;
  for (std::size_t i = 0; i < 60; ++i) {
    all.push_back({.bytes = static_cast<std::int64_t>(i * 37 % 23 * 100 + 4), .first = i, .last = i + i * 7 % 5 + 1});
  }
  std::vector<std::int64_t> places;
  const std::int64_t most = share_memory(all, places);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += all[i].bytes;
    EXPECT_EQ(places[i] % 64, 0);
    EXPECT_LE(places[i] + all[i].bytes, most);
    for (std::size_t k = 0; k < i; ++k) {
      const bool meet = all[i].first <= all[k].last && all[k].first <= all[i].last;
      const bool overlap = places[i] < places[k] + all[k].bytes && places[k] < places[i] + all[i].bytes;
      EXPECT_FALSE(meet && overlap) << i << " and " << k;
    }
  }
  EXPECT_LT(most, sum / 4);
}

}  // namespace
}  // namespace kw::models
