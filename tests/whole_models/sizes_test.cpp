// Models that pick kernels by the sizes that they meet: which sizes, what is picked, and going on with choices that are
// there.
#include "models/sizes.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/scratch.h"
#include "models/reference.h"
#include "suites/onnx_dispatch.h"
#include "whole_models/small_model.h"

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

namespace kw::models {
namespace {

std::string text_of(const std::vector<runs::OverSize>& sizes) {
  std::string text;
  for (const runs::OverSize& one : sizes) {
    text += fmt::format("{}{} ", runs::text_of_lengths(one.lengths), one.seen ? "" : "?");
  }
  return text;
}

TEST(ModelSizes, AreARangeOrAList) {
  const auto listed = sizes_of({"N=8,1,2,64"});
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  EXPECT_EQ(text_of(*listed), "N=1 N=2 N=5? N=8 N=36? N=64 ");  // those between are held to the original alone
  const auto range = sizes_of({"N=1..64"});
  ASSERT_TRUE(range.ok()) << range.error().message;
  EXPECT_EQ(std::ranges::count(*range, true, &runs::OverSize::seen), 3);
  for (const char* wrong : {"N", "=1,2", "N=", "N=1,", "N=a,b", "N=0,4", "N=1,,2"}) {
    const auto refused = sizes_of({wrong});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().message.find("such as N=1..64 or N=1,8,64"), std::string::npos);
  }
  EXPECT_EQ(sizes_of({"N=4,4"}).error().message, "--over N: 4 is given twice");
  EXPECT_EQ(sizes_of({"N=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"}).error().message,
            "--over: 17 sizes are given, and at most 16 get kernels");
}

// A version of the small model that can be told from the others: it shifts by this number where they shift by 3.
std::string shifting_by(float number, std::int64_t n) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(small_model()));
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "three") tensor.set_float_data(0, number);
  }
  for (auto* value : {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(n);
  }
  return model.SerializeAsString();
}

TEST(ModelSizes, ThatAreMetPickAModel) {
  const ScratchFolder folder;
  const auto original = suites::parse_onnx(small_model(), "small.onnx");
  ASSERT_TRUE(original.ok());
  std::vector<suites::OnnxVariant> variants;
  for (const std::int64_t n : {1, 4}) {
    variants.push_back({shifting_by(static_cast<float>(-n), n), {{"x", Shape{n, 8, 12, 12}}}, {}});
  }
  const auto bytes = suites::dispatch_onnx(*original, small_model(), variants);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto whole = folder.path() / "whole.onnx", plain = folder.path() / "plain.onnx";
  ASSERT_TRUE(write_file(whole, *bytes).ok());
  for (const std::int64_t n : {1, 2, 4, 5}) {
    const bool has_own = n == 1 || n == 4;
    ASSERT_TRUE(write_file(plain, has_own ? shifting_by(static_cast<float>(-n), n) : small_model()).ok());
    const auto picking = Model::open(whole, {{"N", n}});
    const auto wanted = Model::open(plain, has_own ? Lengths() : Lengths{{"N", n}});
    ASSERT_TRUE(picking.ok() && wanted.ok()) << picking.error().message;
    std::vector<Tensor> inputs = {Tensor(DType::float32, Shape{n, 8, 12, 12})};
    for (std::int64_t i = 0; i < inputs[0].count(); ++i) {
      inputs[0].set_real(i, 0.1 * static_cast<double>((i * 7) % 40 - 20));
    }
    const auto got = outputs_in_double(*picking, inputs), right = outputs_in_double(*wanted, inputs);
    ASSERT_TRUE(got.ok() && right.ok()) << got.error().message;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ((*got)[i].reals, (*right)[i].reals) << n;
  }

  // A real runtime takes it, at a size of each kind.
  const char* python = std::getenv("KW_TEST_PYTHON");
  rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
  rival.own = rivals::OwnPython{.program = python == nullptr ? "" : python, .version = "of the tests", .path = ""};
  const auto runtime = Runtime::open(rival);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  for (const std::int64_t n : {4, 5}) {
    ASSERT_TRUE(write_file(plain, n == 4 ? shifting_by(-4, 4) : small_model()).ok());
    RunTerms terms{.inputs = {{"x", {DType::float32, Shape{n, 8, 12, 12}}}}, .seconds = 0};
    const auto race = runtime->race({{kOriginal, plain}, {"picking", whole}}, terms, 1);
    ASSERT_TRUE(race.ok()) << race.error().message;
    for (const Difference& one : race->cases.at("picking")[0]) EXPECT_TRUE(one.within()) << n << one.max_error;
  }
}

TEST(ModelSizes, ThatHaveAChoiceAreNotSearchedAgain) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", folder.path().string());
  const auto file = folder.path() / "small.onnx", out = folder.path() / "out";
  ASSERT_TRUE(write_file(file, small_model()).ok());
  OverOrder order{.file = file, .dims = {}, .sizes = *sizes_of({"N=1,4"}), .device = "cpu"};
  rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
  rival.own = rivals::OwnPython{.program = "/bin/false", .version = "of the tests", .path = ""};
  const auto runtime = Runtime::open(rival);
  ASSERT_TRUE(runtime.ok());
  const Search search = [](const runs::Order&) -> Result<std::vector<runs::SearchedTask>> {
    return fail("nothing is left to search");
  };
  std::string told;
  const auto tell = [&](const std::string& line) { told += line + "; "; };
  const auto choice = [](std::int64_t n, const char* why) {
    return Json{{"lengths", Json{{"N", n}}}, {"why", why}, {"kinds", std::vector<Json>()}};
  };
  const auto kept = choices_file(order, small_model());
  const Json json{{"choices", std::vector<Json>{choice(1, "too small"), choice(4, "too large")}}};
  std::filesystem::create_directories(kept.parent_path());
  ASSERT_TRUE(write_file(kept, json.dump(1)).ok());
  const auto outcome = optimize_over(order, *runtime, out, search, tell);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(told, "N=1: chosen before; N=4: chosen before; ");
  EXPECT_FALSE(outcome->gained);
  EXPECT_EQ(outcome->why, "at no size was the model faster with kernels of its own");
  ASSERT_EQ(outcome->sizes.size(), 2u);
  EXPECT_EQ(outcome->sizes[1].why, "too large");

  EXPECT_FALSE(std::filesystem::exists(kept));  // the work is done
  OverOrder other = order;
  other.threads = 2;
  EXPECT_NE(choices_file(other, small_model()), kept);
  EXPECT_NE(choices_file(order, branching_model()), kept);
  order.dims = {{"N", 3}};
  EXPECT_EQ(optimize_over(order, *runtime, out, search, tell).error().message, "--over N: --dim gives it a value too");
}

}  // namespace
}  // namespace kw::models
