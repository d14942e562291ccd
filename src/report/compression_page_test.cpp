#include "report/compression_page.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::report {
namespace {

// Two layers of one matrix each.
Json small_compression() {
  return Json::parse(R"({"model": "m", "method": "svd-llm", "switches": ["pivot"], "ratio": 0.2, "saved": 0.21,
    "seconds": 3, "errors": [[0.1], [0.2]], "ranks": [[4], [0]], "full_ranks": [[8], [8]],
    "spectra": [[[1, 0.5, 0]], [[1, 0.25, 0]]], "perplexity": {"book": {"original": 20, "compressed": 30}},
    "hidden": "not for the page"})");
}

std::string complaint_about(const Json& about) {
  const auto shown = shown_of_compression(about);
  return shown.ok() ? "" : shown.error().message;
}

TEST(CompressionPage, HoldsWhatTheRunsSayAndNothingElse) {
  const ScratchFolder folder;
  Json about = small_compression();
  about["model"] = "</script><script>alert(1)";
  about["tokens_a_second"] = {{"original", 31.5}, {"compressed", 37.25}};
  ASSERT_TRUE(write_file(folder.path() / "compression.json", about.dump()).ok());
  const std::vector<std::filesystem::path> runs = {folder.path(), folder.path() / "compression.json"};
  const auto page = compression_page(runs, "0");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->find("alert(1)"), page->find("\\u003c/script>\\u003cscript>alert(1)") + 27);
  EXPECT_EQ(page->find("not for the page"), std::string::npos);
  EXPECT_NE(page->find("\"compressed\":30"), std::string::npos);
  EXPECT_NE(page->find("\"compressed\":37.25"), std::string::npos);
  EXPECT_NE(page->find("perplexity-plot"), std::string::npos);
}

TEST(CompressionPage, RefusesWhatIsNotAsItMustBe) {
  EXPECT_EQ(complaint_about(small_compression()), "");
  EXPECT_EQ(complaint_about(Json::array()), "it holds no JSON object");
  const auto with = [](const char* name, const char* value) {
    Json about = small_compression();
    about[name] = Json::parse(value);
    return complaint_about(about);
  };
  EXPECT_EQ(with("method", "3"), "method is missing");
  EXPECT_EQ(with("ratio", "\"x\""), "ratio holds something that is no number");
  EXPECT_EQ(with("errors", "[]"), "it has no layers");
  EXPECT_EQ(with("errors", "[[\"a\"], [1]]"), "errors holds something that is no number");
  EXPECT_EQ(with("ranks", "[[4]]"), "errors and ranks are of different numbers of layers");
  EXPECT_EQ(with("spectra", "[[[1, 0]], []]"), "errors and spectra differ in layer 2");
  EXPECT_EQ(with("spectra", "[[1], [1]]"), "spectra has a curve that is none");
  EXPECT_EQ(with("perplexity", "{\"t\": {\"original\": 0, \"compressed\": 1}}"), "a perplexity of 0");
  EXPECT_EQ(with("tokens_a_second", "{\"original\": 31}"), "compressed is missing");
  EXPECT_EQ(with("switches", "[1]"), "switches holds something that is no word");
  EXPECT_EQ(compression_page({}, "0").error().message, "say of which compressions: --run DIR, several times");
}

}  // namespace
}  // namespace kw::report
