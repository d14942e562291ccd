#include "cli/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "cli/store_folder.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

// A user with a project and a folder of settings, both empty, working deep in the project.
class Config : public testing::Test {
 protected:
  Config() {
    fs::create_directories(project_ / "deep" / "down");
    fs::create_directories(own_.parent_path());
    fs::current_path(project_ / "deep" / "down");
  }
  ~Config() override { fs::current_path(before_); }

  static void write(const fs::path& file, const std::string& text) { ASSERT_TRUE(write_file(file, text).ok()); }
  static std::string complaint() {
    const Status status = check_config();
    return status.ok() ? "" : status.error().message;
  }

  const fs::path before_ = fs::current_path();
  const ScratchFolder folder_;
  const fs::path project_ = fs::canonical(folder_.path()) / "project";
  const fs::path own_ = folder_.path() / "config" / "kernelwright" / "kw.toml";
  const ScratchVariable config_{"XDG_CONFIG_HOME", (folder_.path() / "config").string()};
  const ScratchVariable rival_{"KW_RIVAL", ""};
  const ScratchVariable store_{"KW_STORE", ""};
  const ScratchVariable install_{"KW_INSTALL", ""};
};

TEST_F(Config, SaysNothingWhereNobodyDoes) {
  EXPECT_EQ(complaint(), "");
  for (const Setting& one : all_settings()) EXPECT_EQ(setting(one.name), "") << one.name;
}

TEST_F(Config, IsFoundAboveTheWorkingFolder) {
  write(project_ / "kw.toml", "rival = \"mnn\"\nthreads = 2\ninstall = false\n");
  EXPECT_EQ(setting("rival"), "mnn");
  EXPECT_EQ(setting("threads"), "2");
  EXPECT_EQ(setting("install"), "no");
}

TEST_F(Config, FlagsWinOverTheEnvironmentOverTheProjectOverTheUser) {
  write(own_, "rival = \"ncnn\"\nauthor = \"me\"\n");
  EXPECT_EQ(setting("rival"), "ncnn");
  write(project_ / "kw.toml", "rival = \"mnn\"\n");
  EXPECT_EQ(setting("rival"), "mnn");
  EXPECT_EQ(setting("author"), "me");
  const ScratchVariable said("KW_RIVAL", "openvino");
  EXPECT_EQ(setting("rival"), "openvino");
  Arguments arguments;
  EXPECT_EQ(setting(arguments, "rival"), "openvino");
  arguments.add("--rival", {"none"});
  EXPECT_EQ(setting(arguments, "rival"), "none");
}

TEST_F(Config, MeansPathsFromItsOwnFolder) {
  write(project_ / "kw.toml", "store = \"records/all\"\n");
  EXPECT_EQ(store_folder({}), project_ / "records" / "all");
  write(project_ / "kw.toml", "store = \"/somewhere\"\n");
  EXPECT_EQ(store_folder({}), "/somewhere");
}

TEST_F(Config, ComplainsWithPlaceAndNearestName) {
  write(project_ / "kw.toml", "# mine\nrivals = \"mnn\"\n");
  EXPECT_EQ(complaint(), (project_ / "kw.toml").string() +
                             ":2:1: no setting is called 'rivals'; nearest: rival; kw --help lists them");
  for (const char* text : {"rival = 3", "threads = \"two\"", "install = \"no\"", "store = []", "store = \"\"",
                           "rival = ", "model = 1", "[rival]\nx = 1", "\xff = 1"}) {
    write(project_ / "kw.toml", text);
    EXPECT_TRUE(complaint().starts_with((project_ / "kw.toml").string() + ":1:")) << text << ": " << complaint();
  }
  const ScratchVariable said("KW_INSTALL", "perhaps");
  EXPECT_EQ(complaint(), "KW_INSTALL=perhaps: say yes or no");
}

TEST_F(Config, KnowsWhereATableStands) {
  write(own_, "[model.far]\nurl = \"a\"\n[model.both]\n");
  write(project_ / "kw.toml", "rival = \"none\"\n[model.both]\nanything = [1]\n");
  EXPECT_EQ(complaint(), "");
  EXPECT_EQ(config_with("model", "far"), own_);
  EXPECT_EQ(config_with("model", "both"), project_ / "kw.toml");
  EXPECT_EQ(config_with("model", "neither"), "");
}

TEST_F(Config, ABrokenOneStopsACommandAndNotTheHelp) {
  write(project_ / "kw.toml", "rivall = 1");
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"tasks"}, out, err), kBroken);
  EXPECT_EQ(out.str(), "");
  EXPECT_NE(err.str().find("kw.toml:1:1"), std::string::npos) << err.str();
  EXPECT_EQ(run_program({"tasks", "--help"}, out, err), kYes);
}

TEST_F(Config, IsListedByTheHelp) {
  for (const Setting& one : all_settings()) EXPECT_NE(help_text().find("  " + one.name + " "), std::string::npos);
}

}  // namespace
}  // namespace kw::cli
