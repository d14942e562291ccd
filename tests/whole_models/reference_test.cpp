// The whole graph in double precision: the numbers of a real ONNX Runtime with smaller errors, through branches and
// loops.
#include "models/reference.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/scratch.h"
#include "models/put_back.h"
#include "models/times.h"
#include "whole_models/small_model.h"

namespace kw::models {
namespace {

class AReference : public testing::Test {
 protected:
  Model open(const std::string& bytes, const Lengths& dims) {
    EXPECT_TRUE(write_file(folder_.path() / "model.onnx", bytes).ok());
    auto opened = Model::open(folder_.path() / "model.onnx", dims);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return *std::move(opened);
  }

  // The model beside itself, held to the reference of the set of inputs with this number.
  std::vector<ErrorsInDouble> errors(const Model& model, const Runtime& runtime, std::uint64_t seed) {
    RunTerms terms = terms_of(model);
    terms.seconds = 0;
    terms.seed = seed;
    terms.reference = make_reference(model, runtime, terms, folder_.path());
    EXPECT_EQ(terms.reference.why_none, "");
    terms.seed = 1;
    const auto race = runtime.race({{kOriginal, model.file()}}, terms, 1);
    EXPECT_TRUE(race.ok()) << race.error().message;
    return race->in_double.at(kOriginal);
  }

  static Runtime runtime() {
    const char* python = std::getenv("KW_TEST_PYTHON");
    rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
    rival.own = rivals::OwnPython{.program = python == nullptr ? "" : python, .version = "of the tests", .path = ""};
    auto opened = Runtime::open(rival);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return *std::move(opened);
  }

  kw::ScratchFolder folder_;
};

TEST_F(AReference, IsWhatARuntimeComputesButForItsRounding) {
  const Model model = open(small_model(), {{"N", 2}});
  const Runtime real = runtime();
  const std::vector<ErrorsInDouble> near = errors(model, real, 1);
  ASSERT_EQ(near.size(), 2u);
  for (const ErrorsInDouble& one : near) {
    EXPECT_GT(one.ours.largest_error, 0) << one.output;
    EXPECT_LT(one.ours.largest_error, 1e-6 * one.ours.largest) << one.output;
    EXPECT_LE(one.ours.mean_error, one.ours.largest_error);
    EXPECT_GE(one.runtime.largest_error, one.ours.largest_error);
    EXPECT_TRUE(one.within());
  }
  // A version may be as far from the runtime as both may be from the right numbers.
  Difference difference{.output = "y", .max_error = 4e-3, .largest = 1, .count = 4};
  EXPECT_FALSE(difference.within());
  difference.double_error = 1e-3;
  EXPECT_TRUE(difference.within());
  difference.max_error = 6e-3;
  EXPECT_FALSE(difference.within());
  // Of other inputs it is another one.
  for (const ErrorsInDouble& one : errors(model, real, 2)) EXPECT_GT(one.ours.largest_error, 0.01 * one.ours.largest);
}

// The input `flag` chooses between the outer branches, N between the inner ones before anything runs.
TEST_F(AReference, FollowsTheBranchThatIsChosen) {
  std::vector<double> sums;
  for (const std::int64_t n : {2, 3}) {
    const Model model = open(branching_model(), {{"N", n}});
    for (const bool flag : {false, true}) {
      Tensor x(DType::float32, Shape{n, 8, 12, 12});
      for (std::int64_t i = 0; i < x.count(); ++i) x.set_real(i, 0.01 * static_cast<double>((i * 13) % 101 - 50));
      std::vector<Tensor> inputs;
      inputs.push_back(x);
      inputs.push_back(Tensor::scalar(flag ? 1 : 0, DType::boolean));
      const auto outputs = outputs_in_double(model, inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.error().message;
      ASSERT_EQ(outputs->size(), 1u);
      EXPECT_EQ((*outputs)[0].shape, (Shape{n, 8, 12, 12}));
      sums.push_back(0);
      for (const double real : (*outputs)[0].reals) sums.back() += real / static_cast<double>(n);
    }
    for (const ErrorsInDouble& one : errors(model, runtime(), 1)) EXPECT_TRUE(one.within()) << one.output;
  }
  EXPECT_NE(sums[0], sums[1]);  // the outer branches
  EXPECT_NE(sums[1], sums[3]);  // the inner ones
}

TEST_F(AReference, TakesTheTurnsOfALoop) {
  const Model model = open(looping_model(false), {});
  Tensor x(DType::float32, Shape{4});
  for (std::int64_t i = 0; i < 4; ++i) x.set_real(i, static_cast<double>(i) + 0.5);
  const auto outputs = outputs_in_double(model, std::span(&x, 1));
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].reals, (std::vector<double>{4, 12, 20, 28}));
}

}  // namespace
}  // namespace kw::models
