// What a compiler's end and its words amount to. The compilers themselves run in two tests at the end.
#include "targets/cpu/workshop.h"

#include <gtest/gtest.h>

#include <csignal>

namespace kw::cpu {
namespace {

const std::vector<SourceError> kError = {{"kernel.cpp", 3, "'x' was not declared in this scope", ""}};

ReasonCode code_of(const sandbox::Ending& ending, const std::string& said = "",
                   const std::vector<SourceError>& errors = {}) {
  return reason_of(ending, said, errors).code;
}

TEST(ReasonOfABuild, IsTheCompilersFirstErrorWithItsPlace) {
  const Reason reason = reason_of({.exit_code = 1}, "kernel.cpp:3:7: error: ...", kError);
  EXPECT_EQ(reason.code, ReasonCode::does_not_compile);
  EXPECT_EQ(reason.params["place"], "kernel.cpp:3: ");
  EXPECT_EQ(reason.params["message"], kError[0].message);
  EXPECT_EQ(reason_of({.exit_code = 1}, "", {{"kernel.cpp", 0, "it says so", ""}}).params["place"], "");
}

TEST(ReasonOfABuild, TellsLinkingFromCompiling) {
  for (const char* message : {"undefined reference to `f'", "multiple definition of `kw_run'"}) {
    EXPECT_EQ(code_of({.exit_code = 1}, "", {{"kernel.cpp", 0, message, ""}}), ReasonCode::does_not_link) << message;
  }
}

// Only a kill may come from outside: what else runs on this machine is no fault of the source.
TEST(ReasonOfABuild, TellsAKillFromTheLimitsThatTheSourceReached) {
  EXPECT_EQ(code_of({.signal = SIGKILL}), ReasonCode::compiler_killed);
  EXPECT_EQ(code_of({.exit_code = 1}, "g++: fatal error: Killed signal terminated program cc1plus"),
            ReasonCode::compiler_killed);
  for (const char* said : {"virtual memory exhausted: Cannot allocate memory", "cc1plus: out of memory"}) {
    EXPECT_EQ(code_of({.exit_code = 1}, said), ReasonCode::compiler_memory) << said;
  }
  EXPECT_EQ(code_of({.exit_code = 137}), ReasonCode::compiler_memory);
  EXPECT_EQ(code_of({.exit_code = 110}), ReasonCode::compiler_disk);
  EXPECT_EQ(code_of({.exit_code = 112}), ReasonCode::compiler_made_nothing);
  // An error beside a limit: the limit is the cause.
  EXPECT_EQ(code_of({.exit_code = 110}, "", kError), ReasonCode::compiler_disk);
}

TEST(ReasonOfABuild, KeepsTheWordsOfACompilerThatFailedWithoutAnError) {
  const Reason reason = reason_of({.signal = SIGSEGV}, std::string(5000, 'x'), {});
  EXPECT_EQ(reason.code, ReasonCode::compiler_failed);
  EXPECT_EQ(reason.params["said"].text().size(), 2000u);
}

TEST(NamesOfSources, AreFitForACommand) {
  EXPECT_EQ(safe_name("kernel.cpp"), "kernel.cpp");
  EXPECT_EQ(safe_name("/some/where/a b;c.cc"), "a_b_c.cc");
  EXPECT_EQ(safe_name("-o.cpp"), "kernel_-o.cpp");
  EXPECT_EQ(safe_name(".cpp"), "kernel_.cpp");
  EXPECT_EQ(safe_name("notes.txt"), "notes.txt.cpp");
  // Names of the sandbox's own files.
  EXPECT_EQ(safe_name("said"), "kernel_said.cpp");
}

TEST(ErrorsOfACompiler, HaveTheLinesAroundThem) {
  const Source source{"my kernel.cpp", "int a;\nint b = ;\nint c;\n"};
  const auto errors = compiler_errors(
      "my_kernel.cpp:2:9: error: expected primary-expression before ';' token\nmy_kernel.cpp:9:1: warning: unused\n",
      source);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].file, "my kernel.cpp") << "as its author calls it";
  EXPECT_EQ(errors[0].line, 2);
  EXPECT_NE(errors[0].around.find("int b = ;"), std::string::npos) << errors[0].around;
}

TEST(AWorkshop, BuildsARightSourceAndNamesTheErrorsOfAWrongOne) {
  auto workshop = Workshop::open();
  ASSERT_TRUE(workshop.ok()) << workshop.error().message;
  const Choice choice{.compiler = "g++", .flags = {"-O1"}};
  const auto right = workshop->build({"relu.cpp", "KW_KERNEL(call) { (void)call; }\n"}, choice);
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_TRUE((*right)->ok()) << text_of((*right)->reason);
  EXPECT_GT((*right)->code()->size(), 1000u);
  const auto wrong = workshop->build({"relu.cpp", "int a;\nint b = ;\n"}, choice);
  ASSERT_TRUE(wrong.ok()) << "a source that does not build is no broken machine";
  EXPECT_EQ((*wrong)->reason.code, ReasonCode::does_not_compile);
  ASSERT_FALSE((*wrong)->errors.empty());
  EXPECT_EQ((*wrong)->errors[0].file, "relu.cpp");
  EXPECT_EQ((*wrong)->errors[0].line, 2);
}

TEST(AWorkshop, SaysThatACompilerIsMissing) {
  auto workshop = Workshop::open();
  ASSERT_TRUE(workshop.ok()) << workshop.error().message;
  const auto none = workshop->build({"relu.cpp", "int x;\n"}, {.compiler = "clang++-of-tomorrow"});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("apt-get install clang"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace kw::cpu
