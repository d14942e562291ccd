#include "report/page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "report/page_data.h"
#include "store/by_hand.h"

namespace kw::report {
namespace {
namespace fs = std::filesystem;

class APage : public testing::Test {
 protected:
  // A run of these items, each judged as its verdict says.
  std::int64_t run_of(const std::vector<store::NewItem>& items, const std::vector<Verdict>& verdicts) {
    const std::int64_t machine = *store_.add_machine(store::machine_by_hand());
    const std::int64_t run = *store_.begin_run({.command = "kw eval --batch mine.jsonl"}, items);
    const auto open = *store_.open_items(run);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      EXPECT_TRUE(
          store_.record(open[i].id, verdicts[i], store::json_by_hand(verdicts[i]), store::around_by_hand(machine))
              .ok());
    }
    return run;
  }

  Json data_of(std::vector<std::int64_t> runs, const PageLimits& limits = {}) {
    const auto text = page_data(store_, runs, "0", "", limits);
    EXPECT_TRUE(text.ok()) << text.error().message;
    return Json::parse(*text);
  }

  const ScratchFolder folder_;
  store::Store store_ = *store::Store::open(folder_.path());
};

// Each made from the one before it.
std::vector<store::NewItem> line_of(const std::vector<std::string>& sources) {
  std::vector<store::NewItem> items;
  for (const std::string& source : sources) {
    store::NewItem item = store::item_by_hand(std::ssize(items) + 1, source);
    if (!items.empty()) item.candidate->parents = {store::hash_of(*items.back().candidate)};
    items.push_back(std::move(item));
  }
  return items;
}

TEST(SafeInScript, LeavesNoMarkupAndChangesNoValue) {
  const Json before = {{"</script>", "<!-- <script> \\u003c"}};
  const std::string safe = safe_in_script(before.dump());
  EXPECT_EQ(safe.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(safe), before);
}

TEST(PolicyHash, IsWhatABrowserComputes) {
  // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(policy_hash("alert(1)"), "sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=");
}

TEST_F(APage, CarriesTheBestKernelAndItsAncestorsAsDifferences) {
  const std::int64_t run =
      run_of(line_of({"a\n", "a\nb\n", "a\nb\nc\n"}),
             {store::verdict_by_hand(100, 1), store::verdict_by_hand(50, 2), store::verdict_by_hand(25, 4)});
  const Json best = data_of({run})["runs"][0]["parts"][0]["best"];
  EXPECT_EQ(best["source"], "a\nb\nc\n");
  ASSERT_EQ(best["ancestors"].size(), 3u);
  EXPECT_EQ(best["ancestors"][0]["difference"], (Json{" a", " b", "+c"}));
  EXPECT_EQ(best["ancestors"][1]["difference"], (Json{" a", "+b"}));
  EXPECT_TRUE(best["ancestors"][2]["difference"].is_null());
  EXPECT_EQ(best["ancestors"][1]["judged"], "line 2: 2.00 times as fast as plain");
  EXPECT_EQ(best["fastest"]["median"], 4.0);
  EXPECT_EQ(best["rivals"][0]["time_ns"], 100.0);
}

TEST_F(APage, SaysWhatItLeavesOutToStaySmall) {
  const std::int64_t run =
      run_of(line_of({"a\n", "a\nb\n", std::string(1000, 'c')}),
             {store::verdict_by_hand(100, 1), store::verdict_by_hand(50, 2), store::verdict_by_hand(25, 4)});
  Json best = data_of({run}, {.kernels = {.source_bytes = 999}})["runs"][0]["parts"][0]["best"];
  EXPECT_TRUE(best["source"].is_null());
  EXPECT_EQ(best["source_left_out"], "it has 1000 bytes");
  best = data_of({run}, {.kernels = {.all_sources_bytes = 10,
                                     .all_differences_bytes = 10,
                                     .ancestors = 1}})["runs"][0]["parts"][0]["best"];
  EXPECT_EQ(best["source_left_out"], "to keep this file small");
  EXPECT_EQ(best["more_ancestors"], 2);
  EXPECT_EQ(best["ancestors"][0]["difference"], Json::array());
  EXPECT_NE(best["ancestors"][0]["difference_words"].get<std::string>().find("left out"), std::string::npos);
}

// A search looks at each candidate briefly and judges the best in full: that is one candidate, accepted.
TEST_F(APage, CountsACandidateThatASearchAcceptedOnce) {
  store::NewItem again = store::item_by_hand(3, "b");
  again.purpose = store::Purpose::confirm;
  const Verdict quick{.task = "Relu", .target = "cpu", .stage = VerdictStage::quick_check};
  const std::int64_t run = run_of({store::item_by_hand(1, "a"), store::item_by_hand(2, "b"), again},
                                  {quick, quick, store::verdict_by_hand(50, 2)});
  const Json data = data_of({run})["runs"][0];
  EXPECT_EQ(data["candidates"]["candidate"], (Json{0, 1, 1}));
  EXPECT_EQ(data["candidates"]["again"], (Json{0, 0, 1}));
  EXPECT_EQ(data["parts"][0]["candidates"], 2);
  EXPECT_EQ(data["parts"][0]["accepted"], 1);
  EXPECT_EQ(data["parts"][0]["passed"], 2);
}

TEST_F(APage, CarriesNoWeightsOfTheUsersModel) {
  const std::string rules =
      R"({"caches":"warm","tasks":[{"name":"Relu","text":"{\"constant\":\"deadbeef\"}"}],"search":{"kernel":{"source":"deadbeef"}}})";
  const std::int64_t run = *store_.begin_run({.command = "kw optimize model.onnx:0", .rules = rules}, {});
  const Json data = data_of({run});
  EXPECT_EQ(data["runs"][0]["rules"], (Json{{"caches", "warm"}}));
  EXPECT_EQ(data.dump().find("deadbeef"), std::string::npos);
}

TEST_F(APage, CarriesThePublishedFiguresOfEachCategory) {
  const Json theirs = data_of({})["published_categories"];
  EXPECT_EQ(theirs["rival"], "mnn");
  EXPECT_EQ(theirs["categories"].size(), 12u);
  EXPECT_EQ(theirs["categories"]["Activation"]["fast1"], 0.083);
}

TEST_F(APage, ListsCandidatesInTheOrderOfJudgingWithTheirReasons) {
  Verdict wrong{.task = "Relu",
                .target = "cpu",
                .stage = VerdictStage::verify,
                .reason = {ReasonCode::other, {{"text", "wrong"}}}};
  store::NewItem lost = store::item_by_hand(3, "c");
  lost.problem = "cannot be read";
  std::vector<store::NewItem> items = {store::item_by_hand(1, "a"), store::item_by_hand(2, "b"), lost,
                                       store::item_by_hand(4, "d")};
  const std::int64_t run = run_of(items, {wrong, store::verdict_by_hand(50, 2)});
  const Json rows = data_of({run})["runs"][0]["candidates"];
  EXPECT_EQ(rows["position"], (Json{1, 2, 3, 4}));
  const auto number = [](VerdictStage stage) { return static_cast<int>(stage); };
  EXPECT_EQ(rows["stage"], (Json{number(VerdictStage::verify), number(VerdictStage::accepted), -2, -1}));
  EXPECT_EQ(rows["ratios"], Json::array({Json{nullptr, 2.0, nullptr, nullptr}}));
  EXPECT_EQ(data_of({run})["runs"][0]["figures"]["tasks"], 1);
}

TEST_F(APage, ComparesTheFirstRunWithEachLaterOne) {
  const std::int64_t before = run_of({store::item_by_hand(1, "a")}, {store::verdict_by_hand(100, 1)});
  const std::int64_t after = run_of({store::item_by_hand(1, "b")}, {store::verdict_by_hand(50, 2)});
  const Json data = data_of({before, after, before});
  ASSERT_EQ(data["changes"].size(), 2u);
  EXPECT_EQ(data["changes"][0]["tasks"][0]["kind"], "better");
  EXPECT_EQ(data["changes"][1]["tasks"][0]["kind"], "same");
  EXPECT_EQ(data["tasks"].size(), 1u);
}

TEST_F(APage, TellsAReaderWhatATaskIsEvenWhereItsRecordIsDamaged) {
  const std::int64_t run = run_of({store::item_by_hand(1, "a")}, {store::verdict_by_hand(100, 1)});
  const Json task = data_of({run})["tasks"][0];
  EXPECT_EQ(task["name"], "Relu");
  EXPECT_NE(task["problem"].get<std::string>().find("cannot be understood"), std::string::npos);
}

TEST_F(APage, IsOneFileWhosePolicyNamesEveryScriptInIt) {
  const std::int64_t run =
      run_of({store::item_by_hand(1, "</script><script>alert(1)</script>")}, {store::verdict_by_hand(100, 1)});
  const auto page = html_report(store_, std::vector{run}, "0");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->find("alert(1)</script>"), std::string::npos);
  EXPECT_NE(page->find("default-src 'none'"), std::string::npos);
  int scripts = 0;
  for (std::size_t at = 0; (at = page->find("<script>", at)) != std::string::npos; ++scripts) {
    at += 8;
    const std::string text = page->substr(at, page->find("</script>", at) - at);
    EXPECT_NE(page->find(policy_hash(text)), std::string::npos) << text.substr(0, 60);
  }
  EXPECT_EQ(scripts, 12);
}

// No script of ours may parse data as markup.
TEST(PageScripts, NeverMakeMarkupOfText) {
  const std::regex forbidden(
      R"(innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.html\(|\beval\b|new Function|setTimeout\(\s*["'`])");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(KW_SOURCE_DIR) / "report")) {
    if (entry.path().extension() != ".js") continue;
    ++files;
    std::smatch match;
    const std::string text = *read_file(entry.path());
    EXPECT_FALSE(std::regex_search(text, match, forbidden)) << entry.path() << ": " << match.str();
  }
  EXPECT_EQ(files, 14);
}

}  // namespace
}  // namespace kw::report
