// kw demo with a real judge and a small budget, on a machine that can install nothing.
#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/scratch.h"
#include "cli/program.h"

namespace kw::cli {
namespace {

class SlowDemo : public testing::Test {
 protected:
  struct Answer {
    int code = 0;
    std::string out;
    std::string err;
  };
  static Answer run(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int code = run_program(words, out, err);
    return {code, out.str(), err.str()};
  }

  const ScratchFolder folder_;
  const ScratchVariable store_{"KW_STORE", (folder_.path() / "store").string()};
  const ScratchVariable cache_{"XDG_CACHE_HOME", (folder_.path() / "cache").string()};
  const ScratchVariable rival_{"KW_RIVAL", ""};
  const ScratchVariable install_{"KW_INSTALL", "no"};
};

TEST_F(SlowDemo, GoesFromTheTaskToTheReportWithoutAnyFramework) {
  const auto out = folder_.path() / "out";
  const Answer answer = run({"demo", "ReduceL1", "--budget", "2", "--out", out.string(), "--quiet"});
  ASSERT_EQ(answer.code, kYes) << answer.err << answer.out;
  std::size_t at = 0;
  for (const std::string part :
       {"1. The task", "ReduceL1<axes", "2. A plain kernel", "void ReduceL1(", "3. The search", "The fastest of 2",
        "4. The verdict", "ReduceL1  accepted", "as fast as plain", "kw rivals install mnn", "5. The kernel",
        "ReduceL1.cpp", "6. The report", "report.html", "To try next", "kw runs r1"}) {
    const std::size_t found = answer.out.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " does not come in its place:\n" << answer.out;
    at = found;
  }
  EXPECT_NE(read_file(out / "report.html")->find("ReduceL1"), std::string::npos);
  // What it says to try next works.
  const Answer judged = run({"eval", "ReduceL1", (out / "kernel/ReduceL1.cpp").string(), "--untimed"});
  EXPECT_EQ(judged.code, kYes) << judged.err << judged.out;
  EXPECT_EQ(run({"runs", "r1"}).code, kYes);
}

TEST_F(SlowDemo, RefusesAtOnceWhatItCannotDo) {
  for (const auto& [words, wanted] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"demo", "Sofmax"}, "Softmax"},
                                                                     {{"demo", "--budget", "soon"}, "60s"},
                                                                     {{"demo", "--out", "/proc/x"}, "--out"}}) {
    const Answer answer = run(words);
    EXPECT_EQ(answer.code, kBroken);
    EXPECT_EQ(answer.out, "");
    EXPECT_NE(answer.err.find(wanted), std::string::npos) << answer.err;
  }
}

}  // namespace
}  // namespace kw::cli
