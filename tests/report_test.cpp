#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "store/by_hand.h"

namespace kw::cli {
namespace {

class Report : public testing::Test {
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

  // A run of two tasks: Relu accepted, so many times as fast as plain; Tanh wrong.
  void add_run(double speedup, const std::string& machine = "this") {
    store::Store store = store::Store::open(folder_.path()).value();
    const std::int64_t machine_row = store.add_machine(store::machine_by_hand(machine)).value();
    const std::vector<store::NewItem> items = {store::item_by_hand(1, "a", "Relu"),
                                               store::item_by_hand(2, "b", "Tanh")};
    const std::int64_t id = store.begin_run({.command = "by hand"}, items).value();
    const auto open = store.open_items(id).value();
    const Verdict right = store::verdict_by_hand(1000, speedup);
    const Verdict wrong{.task = "Tanh", .stage = VerdictStage::verify};
    for (const auto& [item, verdict] : {std::pair{open[0].id, right}, {open[1].id, wrong}}) {
      EXPECT_TRUE(store.record(item, verdict, store::json_by_hand(verdict), store::around_by_hand(machine_row)).ok());
    }
  }

  const ScratchFolder folder_;
  const ScratchVariable store_{"KW_STORE", folder_.path().string()};
};

TEST_F(Report, PrintsTablesForATerminalAndForAPullRequest) {
  add_run(3);
  const Answer text = run({"report", "r1", "--text"});
  EXPECT_EQ(text.code, kYes) << text.err;
  EXPECT_NE(text.out.find("r1 by category, against best"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("MoKA on MobileKernelBench"), std::string::npos) << text.out;
  const Answer markdown = run({"report", "r1", "--markdown", "--rival", "plain"});
  EXPECT_EQ(markdown.code, kYes) << markdown.err;
  EXPECT_NE(markdown.out.find("### r1 by category, against plain 1\n\n| category | tasks |"), std::string::npos)
      << markdown.out;
}

TEST_F(Report, IsOfTheNewestRunUnlessOneIsNamed) {
  EXPECT_NE(run({"report"}).err.find("kw demo"), std::string::npos) << run({"report"}).err;
  add_run(3);
  add_run(4);
  EXPECT_EQ(run({"report", "--text"}).out, run({"report", "r2", "--text"}).out);
  EXPECT_NE(run({"report", "--out", (folder_.path() / "page.html").string()}).out.find("page.html"), std::string::npos);
}

TEST_F(Report, PrintsFiguresForPrograms) {
  add_run(3);
  add_run(4);
  const Json json = Json::parse(run({"report", "r1", "r2", "--json"}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["run"], "r1");
  EXPECT_EQ(json[1]["fcr"], 0.5);
  EXPECT_EQ(json[1]["fast"]["plain"]["2"], 0.5);
}

TEST_F(Report, ShowsWhatChangedBetweenRuns) {
  add_run(2);
  add_run(3);
  add_run(3, "another");
  const Answer answer = run({"report", "r1", "r2", "r3", "--text"});
  EXPECT_EQ(answer.code, kYes) << answer.err;
  EXPECT_NE(answer.out.find("better           1.50  [1.47, 1.53]  plain"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("1 faster, 0 slower, 0 newly right, 0 no longer right; 1 without"), std::string::npos)
      << answer.out;
  EXPECT_NE(answer.out.find("1 task not compared: measured on different machines"), std::string::npos) << answer.out;
}

TEST_F(Report, WritesAPageAndSaysWhere) {
  add_run(3);
  const std::string file = (folder_.path() / "page.html").string();
  const Answer answer = run({"report", "r1", "--out", file});
  EXPECT_EQ(answer.code, kYes) << answer.err;
  EXPECT_NE(answer.out.find("wrote " + file), std::string::npos) << answer.out;
  const auto page = read_file(file);
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->starts_with("<!DOCTYPE html>") && page->ends_with("</html>\n"));
  EXPECT_EQ(run({"report", "r1", "--out", (folder_.path() / "missing" / "page.html").string()}).code, kBroken);
}

TEST_F(Report, SaysWhatIsWrong) {
  EXPECT_EQ(run({"report", "r1"}).code, kBroken) << "there is no record";
  add_run(2);
  EXPECT_NE(run({"report", "r11"}).err.find("nearest: r1"), std::string::npos) << run({"report", "r11"}).err;
  EXPECT_NE(run({"report", "r1", "--text", "--rival", "plan"}).err.find("plain"), std::string::npos);
  EXPECT_EQ(run({"report", "r1", "--text", "--markdown"}).code, kBroken);
  EXPECT_EQ(run({"report", "r1", "--text", "--out", "x.html"}).code, kBroken);
  EXPECT_EQ(run({"report", "r1", "--rival", "plain"}).code, kBroken);
}

}  // namespace
}  // namespace kw::cli
