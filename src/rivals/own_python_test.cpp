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
  const fs::path venv = folder_.path() / "venv", bin = venv / "bin";
  fs::create_directories(bin);
  fs::create_symlink("/usr/bin/python3", bin / "python3");
  ASSERT_TRUE(write_file(venv / "pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n").ok());
  for (int minor = 8; minor < 20; ++minor) {
    const fs::path lib = venv / "lib" / ("python3." + std::to_string(minor));
    fs::create_directories(lib);
    fs::create_directory_symlink(packages_, lib / "site-packages");
  }
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

// A cloned folder, in which files have the names of Python's own modules: importing one leaves a trace.
class HostileFolder {
 public:
  HostileFolder() {
    for (const char* module : {"json", "site", "importlib", "venv", "ensurepip", "pip", "numpy", "socket", "worker"}) {
      const std::string text = "open('" + trace_.string() + "', 'w').close()\n";
      EXPECT_TRUE(write_file(folder_.path() / (std::string(module) + ".py"), text).ok());
    }
    fs::current_path(folder_.path());
  }
  ~HostileFolder() { fs::current_path(before_); }

  bool has_run() const { return fs::exists(trace_); }
  const fs::path& path() const { return folder_.path(); }

 private:
  const fs::path before_ = fs::current_path();
  const ScratchFolder folder_;
  const fs::path trace_ = folder_.path() / "trace";
};

TEST_F(OwnPythonTest, RunsNothingOfTheWorkingFolder) {
  add("kwframework");
  add("numpy");
  const HostileFolder hostile;
  EXPECT_TRUE(find_own("kwframework", ""));
  EXPECT_FALSE(hostile.has_run());
}

TEST_F(OwnPythonTest, RunsNothingOfARelativeEntryOfPath) {
  const HostileFolder hostile;
  ASSERT_TRUE(write_file("python3", "#!/bin/sh\ntouch " + (hostile.path() / "trace").string() + "\n").ok());
  fs::permissions("python3", fs::perms::owner_all);
  for (const std::string start : {".:", ":", "./:"}) {
    const ScratchVariable path("PATH", start + std::getenv("PATH"));
    find_own("kwframework", "");
  }
  const ScratchVariable modules("PYTHONPATH", ".:" + packages_.string());
  find_own("kwframework", "");
  EXPECT_FALSE(hostile.has_run());
}

class SlowOwnPython : public OwnPythonTest {};

TEST_F(SlowOwnPython, AnInstallationRunsNothingOfTheWorkingFolder) {
  const ScratchVariable nowhere("PIP_INDEX_URL", "file:///nonexistent");
  const HostileFolder hostile;
  const RivalFile rival{
      .name = "nothing", .about = "", .file = "nothing.py", .packages = {"kw-nothing==1"}, .lock = "kw-nothing==1\n"};
  const Status installed = install(rival);
  ASSERT_FALSE(installed.ok());
  EXPECT_NE(installed.error().message.find("No matching distribution"), std::string::npos) << installed.error().message;
  EXPECT_FALSE(hostile.has_run());
}

TEST_F(OwnPythonTest, NeedsAPythonThatAnswers) {
  EXPECT_FALSE(find_own("torch", "/no/such/python"));
  EXPECT_FALSE(find_own("torch", "/bin/true"));
}

}  // namespace
}  // namespace kw::rivals
