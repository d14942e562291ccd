#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/files.h"
#include "base/filter.h"
#include "base/scratch.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::vector<std::string>& words, Surroundings surroundings = Surroundings::neutral) {
  const auto ran = run_filter(words, "", {.whole_s = 20}, {}, surroundings);
  return ran.ok() ? ran->out : ran.error().message;
}

// A folder with a program `kwtool`, which is also the working folder.
class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    EXPECT_TRUE(write_file(folder_.path() / "kwtool", "#!/bin/sh\necho planted\n").ok());
    fs::permissions(folder_.path() / "kwtool", fs::perms::owner_all);
    fs::current_path(folder_.path());
  }
  ~ProcessTest() override { fs::current_path(before_); }

  const fs::path before_ = fs::current_path();
  const ScratchFolder folder_;
};

TEST_F(ProcessTest, FindsProgramsInAbsoluteFoldersOnly) {
  for (const std::string folders : {".", "", ":", "./", "bin/../.", "..:."})
    EXPECT_EQ(program_in(folders, "kwtool"), "");
  EXPECT_EQ(program_in(".:" + folder_.path().string(), "kwtool"), (folder_.path() / "kwtool").string());
  EXPECT_EQ(program_in(folder_.path().string(), "../" + folder_.path().filename().string() + "/kwtool"), "");
  const ScratchVariable path("PATH", ".::" + std::string(std::getenv("PATH")));
  EXPECT_FALSE(run_filter({"kwtool"}, "").ok());
  EXPECT_FALSE(run_filter({"./kwtool"}, "").ok());
  EXPECT_EQ(output_of({(folder_.path() / "kwtool").string()}), "planted\n");
}

TEST_F(ProcessTest, GivesANeutralFolderAndACleanEnvironment) {
  const ScratchVariable preload("LD_PRELOAD_KW", "x"), key("KW_TEST_KEY", "secret"), python("PYTHONPATH", ".");
  const ScratchVariable path("PATH", ".:/usr/bin:/bin");
  EXPECT_EQ(output_of({"pwd"}), "/\n");
  const std::string variables = output_of({"env"});
  EXPECT_NE(variables.find("PATH=/usr/bin:/bin\n"), std::string::npos) << variables;
  for (const char* name : {"KW_TEST_KEY", "PYTHONPATH", "LD_PRELOAD_KW", "OLDPWD"}) {
    EXPECT_EQ(variables.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(output_of({"/bin/pwd"}, Surroundings::users), fs::current_path().string() + "\n");
  EXPECT_NE(output_of({"/usr/bin/env"}, Surroundings::users).find("KW_TEST_KEY=secret"), std::string::npos);
}

TEST_F(ProcessTest, HandsOverNoOpenFiles) {
  const Descriptor leaks(::open("kwtool", O_RDONLY));  // without O_CLOEXEC
  ASSERT_GT(leaks.get(), 2);
  // The fourth is ls's own, which reads the folder.
  EXPECT_EQ(output_of({"/bin/ls", "/proc/self/fd"}), "0\n1\n2\n3\n");
}

TEST_F(ProcessTest, SaysWhyAProgramDoesNotStart) {
  EXPECT_NE(output_of({"/no/such/program"}).find("/no/such/program: cannot be started: No such file"),
            std::string::npos);
  EXPECT_NE(output_of({"kw-no-such-program"}).find("not found in the folders of PATH"), std::string::npos);
  EXPECT_FALSE(run_program({"kw-no-such-program"}, folder_.path() / "log", false, std::chrono::seconds(1)).ok());
}

TEST_F(ProcessTest, WritesItsLogIntoNoLink) {
  ASSERT_TRUE(write_file("victim", "precious").ok());
  fs::create_symlink("victim", "log");
  EXPECT_FALSE(run_program({"/bin/echo", "x"}, "log", true, std::chrono::seconds(5)).ok());
  EXPECT_EQ(*read_file("victim"), "precious");
}

}  // namespace
}  // namespace kw
