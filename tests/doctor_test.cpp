#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "base/scratch.h"
#include "cli/commands.h"
#include "targets/cpu/kept_roofs.h"

namespace kw::cli::commands {

Command doctor();

namespace {
using namespace kw::cpu;

// A machine whose roofs are known, so that the tests need not measure.
class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    const Figure steady = {.best = 100, .spread = 0.01, .runs = {100}};
    const Figure wandering = {.best = 12.5, .spread = 0.30, .runs = {12.5}};
    const LevelRoof memory = {.name = "memory",
                              .working_set_bytes = 1 << 20,
                              .read_gbps = wandering,
                              .write_gbps = steady,
                              .copy_gbps = steady,
                              .triad_gbps = steady};
    ASSERT_TRUE(keep_roofs({.measured_at = "2026-01-31T12:00:00Z", .fma_gflops = steady, .levels = {memory}}).ok());
  }

  static std::pair<int, std::string> run(std::initializer_list<std::string> options) {
    Arguments arguments;
    for (const std::string& option : options) arguments.add(option, {});
    std::ostringstream out;
    const Result<int> code = doctor().run(arguments, out);
    return {code.ok() ? *code : -1, out.str()};
  }

  const ScratchFolder folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", folder_.path().string()};
};

TEST_F(Doctor, ShowsTheKeptFiguresWithTheirDateAndWhatIsNotStable) {
  const auto [code, text] = run({});
  EXPECT_NE(text.find("measured at 2026-01-31T12:00:00Z"), std::string::npos) << text;
  EXPECT_NE(text.find("not stable: read\n"), std::string::npos) << text;
}

TEST_F(Doctor, GivesOneObjectOfStableKeys) {
  const auto [code, text] = run({"--json"});
  const auto report = Json::parse_quietly(text);
  ASSERT_TRUE(report.is_object()) << text;
  for (const char* key : {"ready", "cpu", "roofs", "measured_now", "tools", "missing", "install", "notes"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report["measured_now"], false);
  EXPECT_EQ(report["roofs"]["levels"][0]["read_gbps"]["best"], 12.5);
  EXPECT_EQ(report["roofs"]["levels"][0]["read_gbps"]["stable"], false);
  EXPECT_EQ(code, report["ready"] == true ? kYes : kNo);
}

TEST_F(Doctor, SaysNoAndHowToInstallWhereThereIsNoCompiler) {
  const ScratchVariable path("PATH", "/nowhere");
  const auto [code, text] = run({});
  EXPECT_EQ(code, kNo);
  EXPECT_NE(text.find("missing\n  g++      needed"), std::string::npos) << text;
  EXPECT_NE(text.find(" g++ clang"), std::string::npos) << text;
}

// Who installed the package builds nothing.
TEST_F(Doctor, MissesNothingThatOnlyBuildsKw) {
  const Json json = Json::parse(run({"--json"}).second);
  for (const Json& tool : json["tools"]) EXPECT_EQ(tool["use"].text().find("builds kw"), std::string::npos) << tool;
}

}  // namespace
}  // namespace kw::cli::commands
