// kw eval --over and kw optimize --over, as their users meet them.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"

namespace kw::cli {
namespace {

class SlowOver : public testing::Test {
 protected:
  int run(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int code = run_program(words, out, err);
    out_ = out.str();
    error_ = err.str();
    return code;
  }

  std::string out_, error_;
  const ScratchFolder folder_;
  const ScratchFolder cache_folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", cache_folder_.path().string()};
  const ScratchVariable store_{"KW_STORE", (folder_.path() / "record").string()};
};

TEST_F(SlowOver, JudgesAKernelAtSizesOfARange) {
  const std::string file = (folder_.path() / "relu.cpp").string();
  ASSERT_EQ(run({"init", "ReduceL1", "--out", file}), kYes) << error_;
  const std::vector<std::string> eval = {"eval",     "ReduceL1", file,      "--over", "D=2..5",
                                         "--budget", "0.05",     "--rival", "none",   "--no-store"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = eval;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSERT_EQ(run(with({"--json"})), kYes) << error_;
  const Json json = Json::parse(out_);
  EXPECT_TRUE(json["accepted"].get<bool>());
  EXPECT_GE(json["sizes"].size(), 4u) << out_;
  EXPECT_TRUE(json["unseen"].contains("plain")) << out_;
  EXPECT_EQ(run({"eval", "ReduceL1", file, "--over", "NOBODY=1..4"}), kBroken);
  EXPECT_NE(error_.find("--over NOBODY"), std::string::npos) << error_;
  EXPECT_EQ(run(with({"--untimed"})), kBroken);
}

TEST_F(SlowOver, SearchesAtAFewSizesAndTellsOfOthers) {
  const auto out = folder_.path() / "kernel";
  ASSERT_EQ(run({"optimize", "ReduceL1", "--over", "D=2..5", "--budget", "1", "--rival", "none", "--quiet", "--json",
                 "--out", out.string()}),
            kYes)
      << error_;
  const Json json = Json::parse(out_);
  EXPECT_GE(json["range"]["sizes"].size(), 4u) << out_;
  EXPECT_TRUE(json["range"]["unseen"].contains("plain")) << out_;
  EXPECT_TRUE(std::filesystem::exists(out / "ReduceL1.cpp")) << out_;
}

}  // namespace
}  // namespace kw::cli
