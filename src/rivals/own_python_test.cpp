#include "rivals/own_python.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;

// Python packages that hold nothing, where the real Python finds them.
class OwnPythonTest : public testing::Test {
 protected:
  void add(const std::string& module) {
    fs::create_directories(packages_ / module);
    ASSERT_TRUE(write_file(packages_ / module / "__init__.py", "").ok());
  }
  void add_version(const std::string& module, const std::string& version) {
    const fs::path folder = packages_ / (module + "-" + version + ".dist-info");
    fs::create_directories(folder);
    ASSERT_TRUE(
        write_file(folder / "METADATA", "Metadata-Version: 2.1\nName: " + module + "\nVersion: " + version + "\n")
            .ok());
  }

  const ScratchFolder folder_;
  const fs::path packages_ = folder_.path() / "packages";
  const ScratchVariable cache_{"XDG_CACHE_HOME", (folder_.path() / "cache").string()};
  const ScratchVariable path_{"PYTHONPATH", packages_.string()};
};

TEST_F(OwnPythonTest, FindsWhatIsThereAndSeesItComeAndGo) {
  fs::create_directories(packages_);
  EXPECT_FALSE(find_own("kwframework", ""));
  add("kwframework");
  EXPECT_FALSE(find_own("kwframework", "")) << "without numpy no worker runs";
  add("numpy");
  add_version("kwframework", "9.9");
  const auto found = find_own("kwframework", "");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, "9.9");
  EXPECT_NE(found->path.find(packages_.string()), std::string::npos);
  fs::remove_all(packages_ / "kwframework");
  EXPECT_FALSE(find_own("kwframework", ""));
}

TEST_F(OwnPythonTest, FollowsTheUserIntoAVirtualEnvironment) {
  EXPECT_FALSE(find_own("kwframework", ""));
  add("kwframework");
  add("numpy");
  const ScratchVariable nothing_else("PYTHONPATH", "");
  EXPECT_FALSE(find_own("kwframework", ""));
  const fs::path bin = folder_.path() / "venv" / "bin", python = bin / "python3";
  fs::create_directories(bin);
  ASSERT_TRUE(
      write_file(python, "#!/bin/sh\nPYTHONPATH=" + packages_.string() + " exec /usr/bin/python3 \"$@\"\n").ok());
  fs::permissions(python, fs::perms::owner_all);
  const ScratchVariable path("PATH", bin.string() + ":" + std::getenv("PATH"));
  EXPECT_TRUE(find_own("kwframework", ""));
}

TEST_F(OwnPythonTest, MakesARivalOfIt) {
  add("torch");
  add("numpy");
  add_version("torch", "9.9");
  const RivalFile rival = *find_rival("torch");
  ASSERT_TRUE(rival.own);
  EXPECT_TRUE(rival.installed());
  EXPECT_EQ(rival.version(), "9.9");
  EXPECT_EQ(rival.python(), rival.own->program);
}

TEST_F(OwnPythonTest, NeedsAPythonThatAnswers) {
  EXPECT_FALSE(find_own("torch", "/no/such/python"));
  EXPECT_FALSE(find_own("torch", "/bin/true"));
}

}  // namespace
}  // namespace kw::rivals
