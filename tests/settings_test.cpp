#include "cli/settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "cli/store_folder.h"
#include "llm/endpoint.h"
#include "settings/trust.h"

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
    const Status status = settings::check_config();
    return status.ok() ? "" : status.error().message;
  }

  const fs::path before_ = fs::current_path();
  const ScratchFolder folder_;
  const fs::path project_ = fs::canonical(folder_.path()) / "project";
  const fs::path own_ = folder_.path() / "config" / "kernelwright" / "kw.toml";
  const ScratchVariable config_{"XDG_CONFIG_HOME", (folder_.path() / "config").string()};
  const ScratchVariable rival_{"KW_RIVAL", ""};
  const ScratchVariable store_{"KW_STORE", ""};
  const ScratchVariable python_{"KW_PYTHON", ""};
  const ScratchVariable install_{"KW_INSTALL", ""};
};

TEST_F(Config, SaysNothingWhereNobodyDoes) {
  EXPECT_EQ(complaint(), "");
  for (const settings::Setting& one : settings::all_settings()) EXPECT_EQ(setting(one.name), "") << one.name;
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
  write(own_, "store = \"/somewhere\"\n");
  fs::remove(project_ / "kw.toml");
  EXPECT_EQ(store_folder({}), "/somewhere");
}

TEST_F(Config, OfAFolderReachesNowhereUntilItIsTrusted) {
  const fs::path file = project_ / "kw.toml";
  const std::string hostile =
      "rival = \"mnn\"\npython = \"./evil\"\nstore = \"../../elsewhere\"\n"
      "[model.\"openai:gpt-5\"]\nprovider = \"command\"\nmodel = \"touch owned\"\n";
  write(file, hostile);
  EXPECT_EQ(complaint(), "");
  EXPECT_EQ(setting("rival"), "mnn") << "what is harmless is obeyed";
  EXPECT_EQ(setting("python"), "");
  EXPECT_EQ(setting("store"), "");
  EXPECT_EQ(settings::config_with("model", "openai:gpt-5").path, "");
  ASSERT_EQ(settings::config_warnings().size(), 3u);
  for (const char* part : {"model is ignored", "kw trust ", "kw.toml"}) {
    EXPECT_NE(settings::config_warnings()[0].find(part), std::string::npos) << settings::config_warnings()[0];
  }
  ASSERT_TRUE(settings::trust({file, hostile}).ok());
  EXPECT_EQ(setting("python"), (project_ / "evil").string());
  EXPECT_EQ(settings::config_with("model", "openai:gpt-5").path, file);
  EXPECT_TRUE(settings::config_warnings().empty());
  write(file, hostile + "# changed\n");
  EXPECT_EQ(setting("python"), "") << "the permission was for another content";
  write(file, hostile);
  EXPECT_NE(setting("python"), "");
  fs::create_directories(folder_.path() / "copy");
  write(folder_.path() / "copy" / "kw.toml", hostile);
  fs::current_path(folder_.path() / "copy");
  EXPECT_EQ(setting("python"), "") << "the permission was for another file";
  EXPECT_TRUE(*settings::trust_no_more(file));
  EXPECT_FALSE(*settings::trust_no_more(file));
  fs::current_path(project_);
  EXPECT_EQ(setting("python"), "");
}

// A folder's file would send a variable of the user's environment to an address of its own.
TEST_F(Config, OfAFolderSendsNoKeyAnywhere) {
  const ScratchVariable secret("KW_TEST_SECRET", "sk-of-the-user");
  const std::string hostile =
      "[model.\"openai:gpt-5\"]\nprovider = \"openai\"\nmodel = \"gpt-5\"\nurl = \"http://127.0.0.1:9/v1\"\n"
      "key_variable = \"KW_TEST_SECRET\"\n";
  write(project_ / "kw.toml", hostile);
  const auto endpoint = [] {
    const auto named = llm::endpoint_named("openai:gpt-5", settings::config_with("model", "openai:gpt-5"));
    EXPECT_TRUE(named.ok()) << named.error().message;
    return *named;
  };
  EXPECT_NE(endpoint().url, "http://127.0.0.1:9/v1");
  EXPECT_NE(endpoint().key, "sk-of-the-user");
  ASSERT_TRUE(settings::trust({project_ / "kw.toml", hostile}).ok());
  EXPECT_EQ(endpoint().url, "http://127.0.0.1:9/v1") << "once it is trusted";
  EXPECT_EQ(endpoint().key, "sk-of-the-user");
}

// In a folder above, which may be anybody's.
TEST_F(Config, OfAParentFolderIsHeldToTheSameRules) {
  write(project_ / "kw.toml", "python = \"./evil\"\nstore = \"../../x\"\nthreads = 2\n");
  ASSERT_NE(settings::folder_config(), "") << "it is found from two folders below";
  EXPECT_EQ(setting("python"), "");
  EXPECT_EQ(setting("store"), "");
  EXPECT_EQ(setting("threads"), "2");
  fs::permissions(project_ / "kw.toml", fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(setting("threads"), "");
  fs::remove(project_ / "kw.toml");
  ASSERT_EQ(::mkfifo((project_ / "kw.toml").c_str(), 0600), 0);
  EXPECT_NE(complaint().find("is a FIFO, not a file"), std::string::npos) << complaint();
}

// What a trusted file names is looked for beside it: a link to it from a cloned folder would name that folder's
// programs.
TEST_F(Config, ALinkToATrustedFileIsNotTrusted) {
  const std::string text = "python = \"venv/bin/python\"\n";
  write(project_ / "kw.toml", text);
  ASSERT_TRUE(settings::trust({project_ / "kw.toml", text}).ok());
  EXPECT_NE(setting("python"), "");
  fs::create_directories(folder_.path() / "cloned");
  fs::create_symlink(project_ / "kw.toml", folder_.path() / "cloned" / "kw.toml");
  fs::current_path(folder_.path() / "cloned");
  EXPECT_EQ(setting("python"), "");
}

// toml++ asserts that no text begins so.
TEST_F(Config, ThatIsNoTomlIsAnErrorAndEndsNothing) {
  for (const char* text : {"[=", "[.a]", "[\x01]", "a.=1", "[[=]]", "="}) {
    write(project_ / "kw.toml", text);
    EXPECT_NE(complaint(), "") << text;
  }
}

TEST_F(Config, TrustsTheContentThatWasShown) {
  write(project_ / "kw.toml", "python = \"another\"\n");
  ASSERT_TRUE(settings::trust({project_ / "kw.toml", "python = \"shown\"\n"}).ok());
  EXPECT_EQ(setting("python"), "") << "it was exchanged after it was read";
}

TEST_F(Config, ALinkOutOfTheFolderIsAPlaceOutside) {
  fs::create_directory_symlink(folder_.path(), project_ / "link");
  write(project_ / "kw.toml", "store = \"link/elsewhere\"\n");
  EXPECT_EQ(setting("store"), "");
}

TEST_F(Config, IsNotObeyedWhereOthersMayWrite) {
  write(project_ / "kw.toml", "rival = \"mnn\"\n");
  fs::permissions(project_ / "kw.toml", fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(setting("rival"), "");
  ASSERT_EQ(settings::config_warnings().size(), 1u);
  EXPECT_NE(settings::config_warnings()[0].find("chmod go-w"), std::string::npos);
  write(own_, "python = \"/own/python\"\n");
  EXPECT_EQ(setting("python"), "/own/python");
  fs::permissions(own_, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(setting("python"), "");
}

TEST_F(Config, OfAnotherUserIsNotObeyedEvenByRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write(project_ / "kw.toml", "rival = \"mnn\"\n");
  ASSERT_EQ(::chown((project_ / "kw.toml").c_str(), 12345, 12345), 0);
  EXPECT_EQ(setting("rival"), "");
  ASSERT_EQ(settings::config_warnings().size(), 1u);
  EXPECT_NE(settings::config_warnings()[0].find("belongs to another user"), std::string::npos);
  write(own_, "rival = \"ncnn\"\n");
  EXPECT_EQ(setting("rival"), "ncnn");
  ASSERT_EQ(::chown(own_.parent_path().c_str(), 12345, 12345), 0);
  EXPECT_EQ(setting("rival"), "") << "the folder's owner can put any file there";
}

TEST_F(Config, AFifoInItsPlaceHangsNobody) {
  ASSERT_EQ(::mkfifo((project_ / "kw.toml").c_str(), 0644), 0);
  EXPECT_NE(complaint().find("is a FIFO, not a file"), std::string::npos) << complaint();
}

TEST_F(Config, TrustIsGivenListedAndTakenBack) {
  write(project_ / "kw.toml", "python = \"./evil\"\n");
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"trust"}, out, err), kYes) << err.str();
  EXPECT_NE(out.str().find("python: it names a program that is run"), std::string::npos) << out.str();
  EXPECT_EQ(run_program({"trust", "--list"}, out, err), kYes);
  EXPECT_EQ(run_program({"trust", "--remove"}, out, err), kYes);
  EXPECT_EQ(run_program({"trust", "--remove"}, out, err), kNo);
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(run_program({"trust", "--list"}, out, err), kYes);
  EXPECT_NE(out.str().find("no file is trusted"), std::string::npos);
  EXPECT_EQ(run_program({"tasks"}, out, err), kYes);
  EXPECT_NE(err.str().find("python is ignored"), std::string::npos) << err.str();
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
  EXPECT_EQ(settings::config_with("model", "both").path, own_) << "a folder's is not trusted";
  ASSERT_TRUE(settings::trust({project_ / "kw.toml", *read_file(project_ / "kw.toml")}).ok());
  EXPECT_EQ(complaint(), "");
  EXPECT_EQ(settings::config_with("model", "far").path, own_);
  EXPECT_EQ(settings::config_with("model", "both").path, project_ / "kw.toml");
  EXPECT_EQ(settings::config_with("model", "neither").path, "");
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
  for (const settings::Setting& one : settings::all_settings())
    EXPECT_NE(help_text().find("  " + one.name + " "), std::string::npos);
}

}  // namespace
}  // namespace kw::cli
