// What makes a kept verdict another one, and what a verdict says of the roof.
#include "judge/kept_verdicts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/scratch.h"
#include "suites/catalog.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;

// The program's data, to be edited.
class KeptVerdictKey : public testing::Test {
 protected:
  KeptVerdictKey() {
    fs::copy(fs::path(KW_SOURCE_DIR) / "kernels", folder_.path() / "kernels", fs::copy_options::recursive);
    fs::copy(fs::path(KW_SOURCE_DIR) / "suites", folder_.path() / "suites", fs::copy_options::recursive);
    task_ = *suites::find_task("Relu");
    one_.task = &task_;
    one_.source = {"relu.cpp", "// nothing"};
  }

  const ScratchFolder folder_;
  const ScratchVariable data_{"KW_DATA", folder_.path().string()};
  Task task_;
  Case one_;
};

TEST_F(KeptVerdictKey, ChangesWhenThePlainKernelIsEdited) {
  const std::string before = key_of(one_);
  EXPECT_EQ(key_of(one_), before);
  const fs::path file = folder_.path() / "kernels" / "plain" / "Relu.h";
  ASSERT_TRUE(write_file(file, *read_file(file) + "// edited\n").ok());
  EXPECT_NE(key_of(one_), before) << "a verdict against the old one would be shown";
}

// Kernels may include them by name.
TEST_F(KeptVerdictKey, ChangesWhenASharedPartIsEdited) {
  for (const auto& [device, part] :
       {std::pair{std::string(), "cpu/parts/vector.h"}, {"cuda:emulated", "cuda/parts/rows.cuh"}}) {
    if (!device.empty()) one_.device = device;
    const std::string before = key_of(one_);
    const fs::path file = folder_.path() / "kernels" / part;
    ASSERT_TRUE(write_file(file, *read_file(file) + "// edited\n").ok());
    EXPECT_NE(key_of(one_), before) << part;
  }
}

TEST_F(KeptVerdictKey, ChangesWithTheDevice) {
  const std::string before = key_of(one_);
  one_.device = "made_up";
  EXPECT_NE(key_of(one_), before);
}

// The made-up device can do everything in 1000 ns with one thread, and in a part of it with several.
TEST(ARoofFraction, IsOfTheRoofForSoManyThreads) {
  auto judge = *Judge::open("made_up");
  Task task = *suites::find_task("Relu");
  for (auto& [name, value] : task.lengths) value = 8;
  const auto fraction = [&](int threads) {
    Case one;
    one.device = "made_up";
    one.task = &task;
    one.source = {"kernel.txt", "lap_ns 10000"};
    one.threads = threads;
    one.pairs = 20;
    return judge.judge(one)->roof_fraction.value_or(0);
  };
  EXPECT_NEAR(fraction(1), 0.1, 0.005);
  EXPECT_NEAR(fraction(4), 0.025, 0.001);
}

}  // namespace
}  // namespace kw::judge
