// What is kept of replacements and what is taken back; and regions in a real ONNX Runtime.
#include "models/put_back.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/scratch.h"
#include "models/library.h"
#include "models/regions.h"
#include "whole_models/small_model.h"

namespace kw::models {
namespace {

constexpr char kDevice[] = "cpu";
constexpr char kFast[] = "fast";

// Rounds of a race on a machine whose speed drifts: the version takes `cost` times what the original does, and its
// output is off by `error`; 1e-3 is allowed.
Race race_with(double cost, double error, double twin_cost = 1) {
  Race race;
  for (int i = 0; i < 200; ++i) {
    const double drift = 1 + 0.3 * (i / 50), noise = 1 + 0.01 * ((i * 7) % 11 - 5);
    race.times_ns[kOriginal].push_back(1e6 * drift);
    race.times_ns[kTwin].push_back(1e6 * drift * twin_cost * noise);
    race.times_ns[kFast].push_back(1e6 * drift * cost * noise);
  }
  race.cases[kFast] = {{{.output = "y", .max_error = error, .largest = 10, .count = 4}}};
  return race;
}

TEST(PutBack, WhatIsRightAndFasterIsKept) {
  EXPECT_EQ(why_taken_back(race_with(0.9, 0), kFast), "");
  EXPECT_EQ(why_taken_back(race_with(0.9, 1e-3), kFast), "");
}

TEST(PutBack, WhatIsNotFasterIsTakenBack) {
  const std::string why = "it was not faster than the original by more than two equal models differ";
  EXPECT_EQ(why_taken_back(race_with(1.1, 0), kFast), why);
  EXPECT_EQ(why_taken_back(race_with(1.0, 0), kFast), why);
  EXPECT_EQ(why_taken_back(race_with(0.97, 0, 0.95), kFast), why);  // equal models differ by more
}

TEST(PutBack, WhatIsWrongIsTakenBackHoweverFast) {
  EXPECT_EQ(why_taken_back(race_with(0.1, 2e-3), kFast),
            "its outputs differ from the original's by more than the bound");
}

// Near to the runtime's outputs, and too far from the right ones.
TEST(PutBack, WhatIsFurtherFromTheGraphInDoublePrecisionThanIsAllowedIsTakenBack) {
  Race race = race_with(0.5, 4.1e-4);
  const DoubleError own{.largest_error = 1e-4, .largest = 10, .count = 4};
  ErrorsInDouble errors{.output = "y", .ours = own, .runtime = own};
  errors.ours.largest_error = 3.9e-4;
  race.in_double[kFast] = {errors};
  EXPECT_EQ(why_taken_back(race, kFast), "");
  race.in_double[kFast][0].ours.largest_error = 4.1e-4;
  EXPECT_EQ(why_taken_back(race, kFast), "its outputs are further from the graph in double precision than is allowed");
  race.in_double[kFast] = {errors};
  race.in_double[kFast][0].ours.different = 1;  // a NaN that the right outputs do not have
  EXPECT_NE(why_taken_back(race, kFast), "");
}

// A folder that came from somewhere, in which the library is to lie.
TEST(ALibrary, IsHandedOverThroughNoLinkAndWithNoObjectThatLayThere) {
  namespace fs = std::filesystem;
  const kw::ScratchFolder folder;
  const fs::path written = folder.path() / "written", out = folder.path() / "out", other = folder.path() / "other";
  for (const fs::path& one : {written, out / "library", other}) fs::create_directories(one);
  for (const char* name : {"a.cpp", "a.o", "CMakeLists.txt"}) ASSERT_TRUE(write_file(written / name, "ours").ok());
  ASSERT_TRUE(write_file(written / kLibraryFile, "ours").ok());
  ASSERT_TRUE(write_file(other / "precious.cpp", "precious").ok());
  ASSERT_TRUE(write_file(other / "precious.o", "precious").ok());
  fs::create_symlink(other / "precious.cpp", out / "library" / "a.cpp");
  ASSERT_TRUE(hand_over_library(written, out).ok());
  EXPECT_EQ(*read_file(other / "precious.cpp"), "precious");
  EXPECT_EQ(*read_file(out / "library" / "a.cpp"), "ours");
  EXPECT_EQ(*read_file(out / kLibraryFile), "ours");
  EXPECT_FALSE(fs::exists(out / "library" / "a.o"));

  fs::remove_all(out / "library");
  fs::create_directory_symlink(other, out / "library");
  EXPECT_FALSE(hand_over_library(written, out).ok());
  EXPECT_FALSE(fs::exists(other / "a.cpp"));
  EXPECT_TRUE(fs::exists(other / "precious.o"));
}

class PutBackIntoARuntime : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(file("small.onnx"), small_model()).ok());
    auto opened = Model::open(file("small.onnx"), {{"N", 2}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    model_.emplace(*std::move(opened));
    const char* python = std::getenv("KW_TEST_PYTHON");
    rivals::RivalFile rival{.name = "onnxruntime", .about = "", .file = {}};
    rival.own = rivals::OwnPython{.program = python == nullptr ? "" : python, .version = "of the tests", .path = ""};
    auto runtime = Runtime::open(rival);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_.emplace(*std::move(runtime));
    terms_ = terms_of(*model_);
    terms_.seconds = 0.2;
    times_.node_ns.assign(model_->count(), 1000);
  }

  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  kw::ScratchFolder folder_;
  std::optional<Model> model_;
  std::optional<Runtime> runtime_;
  RunTerms terms_;
  ModelTimes times_;
};

TEST_F(PutBackIntoARuntime, ARegionHasAllThatHangsTogether) {
  const std::vector<Region> regions = regions_of(*model_, times_);
  ASSERT_EQ(regions.size(), 1u);
  std::string names;
  for (const std::size_t i : regions[0].kind.groups[0].nodes) names += model_->node(i).name + " ";
  EXPECT_EQ(names, "conv1 sigmoid1 mul1 conv2 sigmoid2 mul2 residual pool shift clip scale divide ");
  EXPECT_EQ(regions[0].kind.in_model_ns, 12000);

  const Status built =
      write_library(folder_.path(),
                    {{regions[0].kind.op, regions[0].kind.task, {"r.cpp", regions[0].kernel.source}, {}, "of a test"}},
                    "kernelwright.small", kDevice);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const auto bytes = model_with(*model_, {regions[0].kind}, {{0, 0}}, "kernelwright.small");
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  ASSERT_TRUE(write_file(file("model.onnx"), *bytes).ok());
  const auto race =
      runtime_->race({{kOriginal, file("small.onnx")}, {kFast, file("model.onnx"), file(kLibraryFile)}}, terms_);
  ASSERT_TRUE(race.ok()) << race.error().message;
  for (const auto& outputs : race->cases.at(kFast)) {
    for (const Difference& one : outputs) EXPECT_TRUE(one.within()) << one.output << ": " << one.max_error;
  }
}

TEST_F(PutBackIntoARuntime, AKernelThatIsSlowInTheModelIsNotWritten) {
  std::vector<Region> regions = regions_of(*model_, times_);
  ASSERT_EQ(regions.size(), 1u);
  std::string& source = regions[0].kernel.source;
  const std::string begin = "KW_EXPORT int kw_run(kw_call* call) { ";
  ASSERT_NE(source.find(begin), std::string::npos);
  source.insert(source.find(begin) + begin.size(), "for (volatile int i = 0; i < 3000000; i = i + 1) {}\n  ");
  Candidates candidates;
  candidates.add(regions[0].kind, regions[0].kernel);
  const std::filesystem::path out = file("out");
  std::filesystem::create_directory(out);
  const auto outcome = put_back(*model_, candidates, *runtime_, terms_, out, kDevice, [](const std::string&) {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_FALSE(outcome->gained);
  EXPECT_EQ(outcome->why, "no choice of replacements was faster in the whole model");
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

}  // namespace
}  // namespace kw::models
