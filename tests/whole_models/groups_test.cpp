#include "models/groups.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "models/plan.h"
#include "suites/catalog.h"
#include "whole_models/small_model.h"

namespace kw::models {
namespace {

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(folder_.path() / "small.onnx", small_model()).ok());
    auto opened = Model::open(folder_.path() / "small.onnx", {{"N", 2}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    model_.emplace(*std::move(opened));
    auto fits = fits_of(*model_, "cpu");
    ASSERT_TRUE(fits.ok()) << fits.error().message;
    fits_ = *std::move(fits);
  }

  // "conv1 sigmoid1 mul1" of each group.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Group& group : form_groups(*model_, fits_)) all.push_back(text(group));
    std::ranges::sort(all);
    return all;
  }
  std::string text(const Group& group) const {
    std::string line;
    for (const std::size_t i : group.nodes) line += (line.empty() ? "" : " ") + model_->node(i).name;
    return line;
  }

  kw::ScratchFolder folder_;
  std::optional<Model> model_;
  std::vector<Fit> fits_;
};

TEST_F(Groups, AConvolutionTakesItsActivationAndItsResidual) {
  const std::vector<std::string> wanted = {"conv1 sigmoid1 mul1", "conv2 sigmoid2 mul2 residual",
                                           "pool shift clip scale divide", "product"};
  EXPECT_EQ(names(), wanted);
}

TEST_F(Groups, TheTailIsWhatFollowsTheFirstNode) {
  const std::vector<Group> groups = form_groups(*model_, fits_);
  for (const Group& group : groups) {
    if (text(group) == "conv2 sigmoid2 mul2 residual") {
      EXPECT_EQ(text(tail_of(*model_, group, fits_)), "sigmoid2 mul2 residual");
    }
    if (text(group) == "product") {
      EXPECT_TRUE(tail_of(*model_, group, fits_).nodes.empty());
    }
  }
}

TEST_F(Groups, EqualGroupsHaveOneSignatureWhateverTheirWeights) {
  EXPECT_EQ(model_->signature({0}), model_->signature({3}));
  EXPECT_EQ(model_->signature({0, 1, 2}), model_->signature({3, 4, 5}));
  EXPECT_NE(model_->signature({0, 1, 2}), model_->signature({3, 4}));
}

TEST_F(Groups, ATaskOfAGroupHasTheModelsWeightsAndOneOutput) {
  const auto task = model_->tasks().task({3, 4, 5, 6});
  ASSERT_TRUE(task.ok()) << task.error().message;
  ASSERT_EQ(task->outputs.size(), 1u);
  EXPECT_EQ(task->outputs[0].name, "r");
  ASSERT_EQ(task->values.size(), 4u);
  EXPECT_EQ(task->values[0].name, "a1");
  EXPECT_EQ(task->values[1].role, Role::weight);
  EXPECT_EQ(task->values[1].constant.count(), 8 * 8 * 3 * 3);
  EXPECT_EQ(task->values[3].name, "x");
}

// What a quantiser writes around a convolution goes with it, and nothing else does.
TEST(QuantizedGroups, AreTheProductWithWhatDequantizesAndQuantizes) {
  const kw::ScratchFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "quantized.onnx", quantized_model()).ok());
  const auto model = Model::open(folder.path() / "quantized.onnx", {});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto fits = fits_of(*model, "cpu");
  ASSERT_TRUE(fits.ok()) << fits.error().message;
  std::vector<std::string> all;
  for (const Group& group : form_groups(*model, *fits)) {
    std::string& line = all.emplace_back();
    for (const std::size_t i : group.nodes) line += model->node(i).name + " ";
  }
  EXPECT_EQ(all, (std::vector<std::string>{"xr wr br conv yq ", "yr "}));
}

TEST(Model, SaysWhichLengthsAreOpen) {
  const kw::ScratchFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "small.onnx", small_model()).ok());
  const auto model = Model::open(folder.path() / "small.onnx", {});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("--dim N=VALUE"), std::string::npos) << model.error().message;
  const auto wrong = Model::open(folder.path() / "small.onnx", {{"M", 2}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("no open length of that name"), std::string::npos) << wrong.error().message;
}

TEST(Plan, LendsThreadsToKernelsThatAskForThemAndHaveEnoughToDo) {
  const auto large = suites::find_task("Relu_vit_mlp");
  ASSERT_TRUE(large.ok());
  Task tiny = *large;
  for (auto& [name, length] : tiny.lengths) length = 2;
  EXPECT_TRUE(uses_threads(*large, "const int threads = threads_for(node, count);"));
  EXPECT_TRUE(uses_threads(*large, "call->parallel(call, 4, work, data);"));
  EXPECT_FALSE(uses_threads(*large, "for (int i = 0; i < n; ++i) y[i] = x[i];"));
  EXPECT_FALSE(uses_threads(tiny, "const int threads = threads_for(node, count);"));
}

}  // namespace
}  // namespace kw::models
