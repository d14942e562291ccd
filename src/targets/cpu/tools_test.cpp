#include "targets/cpu/tools.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/scratch.h"

namespace kw::cpu {
namespace {
namespace fs = std::filesystem;

// A folder of PATH with programs that are shell scripts.
class Programs {
 public:
  void add(const std::string& name, const std::string& script) {
    std::ofstream(folder_.path() / name) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(folder_.path() / name, fs::perms::owner_all);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string folders() const { return "/nowhere::" + folder_.path().string(); }

 private:
  ScratchFolder folder_;
};

const Tool kCompiler = {.name = "c", .package = "c-package", .required = true, .version_after = "version "};

TEST(Tools, AreFoundWithTheirVersion) {
  Programs programs;
  programs.add("c", "echo 'Some clang version 14.0.6-deb'");
  const std::vector<ToolFound> found = look_for({&kCompiler, 1}, programs.folders());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, programs.path("c"));
  EXPECT_EQ(found[0].version, "14.0.6");
  EXPECT_TRUE(missing_tools(found).empty());
}

TEST(Tools, ThatDoNotRunAreMissing) {
  Programs programs;
  programs.add("c", "echo version 1.0; exit 3");
  const std::vector<ToolFound> found = look_for({&kCompiler, 1}, programs.folders());
  EXPECT_FALSE(found[0].works());
  const std::vector<Tool> missing = missing_tools(found);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_NE(install_command(missing).find(" c-package"), std::string::npos);
}

TEST(Tools, AreAllMissingWithoutAPath) {
  const std::vector<ToolFound> found = look_for(known_tools(), "");
  ASSERT_EQ(found.size(), known_tools().size());
  EXPECT_EQ(missing_tools(found).front().name, "g++");
}

TEST(Tools, ThatTheMachineHasNoUseForAreNotMissed) {
  Tool tool = kCompiler;
  tool.only_with = "/no/such/device";
  EXPECT_TRUE(missing_tools(look_for({&tool, 1}, "/nowhere")).empty());
}

// A system whose sandbox shows `usr` alone, and a folder beside it that a user put on PATH.
class TwoFolders : public testing::Test {
 protected:
  TwoFolders() {
    for (const char* folder : {"usr/bin", "opt/bin"}) fs::create_directories(root_.path() / folder);
  }
  void add(const std::string& place, const std::string& version) {
    std::ofstream(root_.path() / place) << "#!/bin/sh\necho version " << version << "\n";
    fs::permissions(root_.path() / place, fs::perms::owner_all);
  }
  std::string at(const std::string& place) const { return (root_.path() / place).string(); }
  std::vector<std::string> offered() const { return kernel_compilers(path(), at("usr")); }
  ToolFound clang() const {
    for (const ToolFound& found : look_for(known_tools(), path(), at("usr"))) {
      if (found.tool.name == "clang++") return found;
    }
    return {};
  }

 private:
  std::string path() const { return at("opt/bin") + ":" + at("usr/bin"); }

  const ScratchFolder root_;
};

TEST_F(TwoFolders, ACompilerThatTheSandboxDoesNotShowIsNotOffered) {
  add("usr/bin/g++", "12.2");
  add("opt/bin/clang++", "19.1");
  EXPECT_EQ(offered(), (std::vector<std::string>{"g++"}));
  EXPECT_FALSE(clang().works());
  EXPECT_EQ(clang().note, at("opt/bin/clang++") + " is not used: compilers run in a sandbox, which finds them in " +
                              at("usr/bin") + " alone");
}

TEST_F(TwoFolders, ALinkOutOfWhatTheSandboxShowsIsNotOffered) {
  add("opt/bin/clang++", "19.1");
  fs::create_symlink(at("opt/bin/clang++"), at("usr/bin/clang++"));
  EXPECT_EQ(offered(), (std::vector<std::string>{}));
  EXPECT_NE(clang().note.find("is a link to " + at("opt/bin/clang++")), std::string::npos) << clang().note;
}

TEST_F(TwoFolders, TheCompilerOfTheSandboxIsTheOneWhoseVersionCounts) {
  add("usr/bin/clang++", "14.0");
  add("opt/bin/clang++", "19.1");
  EXPECT_EQ(offered(), (std::vector<std::string>{"clang++"}));
  EXPECT_TRUE(clang().works());
  EXPECT_EQ(clang().version, "14.0");
  EXPECT_EQ(clang().path, at("usr/bin/clang++"));
  EXPECT_TRUE(clang().note.starts_with(at("opt/bin/clang++") + " is not used, ")) << clang().note;
}

TEST(Tools, OfTheTableAllHaveAPackageAndAUse) {
  for (const Tool& tool : known_tools()) {
    EXPECT_FALSE(tool.package.empty()) << tool.name;
    EXPECT_FALSE(tool.use.empty()) << tool.name;
  }
}

}  // namespace
}  // namespace kw::cpu
