#include "targets/cpu/tools.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/scratch.h"

namespace kw::targets {
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

TEST(Tools, OfTheTableAllHaveAPackageAndAUse) {
  for (const Tool& tool : known_tools()) {
    EXPECT_FALSE(tool.package.empty()) << tool.name;
    EXPECT_FALSE(tool.use.empty()) << tool.name;
  }
}

}  // namespace
}  // namespace kw::targets
