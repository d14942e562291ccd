#include "report/training_page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::report {
namespace {

Json small_training() {
  return Json::parse(R"({"out": "m", "steps": 3, "of": 10, "seconds": 2, "losses": [4, 3, 2],
    "held_out": [{"step": 2, "loss": 3.5}], "options": "not for the page",
    "samples": [{"prompt": "add", "expected": "x + y", "text": "x - y"}]})");
}
Json small_learning() {
  return Json::parse(R"({"out": "r", "steps": 2, "seconds": 5,
    "curve": [{"reward": 0.1, "rewarded": 0.25, "loss": 0.5}, {"reward": 0.3, "rewarded": 0.5, "loss": 0.25}],
    "samples": [{"prompt": "add", "text": "x + y", "reward": 1.5}]})");
}

std::string complaint_about_training(const Json& about) {
  const auto shown = shown_of_training(about);
  return shown.ok() ? "" : shown.error().message;
}

TEST(TrainingPage, ShowsCurvesAndSamples) {
  const Json shown = *shown_of_training(small_training());
  EXPECT_EQ(shown["loss"].dump(), "[[1.0,4.0],[2.0,3.0],[3.0,2.0]]");
  EXPECT_EQ(shown["held_out"].dump(), "[[2.0,3.5]]");
  EXPECT_EQ(shown["reward"].size(), 0u);
  EXPECT_EQ(shown["of"], 10.0);
  EXPECT_EQ(shown["samples"][0]["expected"], "x + y");
  const Json rewards = *shown_of_training(small_learning());
  EXPECT_EQ(rewards["reward"].dump(), "[[1.0,0.1],[2.0,0.3]]");
  EXPECT_EQ(rewards["accepted"].dump(), "[[1.0,0.25],[2.0,0.5]]");
  EXPECT_EQ(rewards["loss"].dump(), "[[1.0,0.5],[2.0,0.25]]");
  EXPECT_EQ(rewards["of"], 2.0);
  EXPECT_EQ(rewards["samples"][0]["reward"], 1.5);
}

TEST(TrainingPage, ThinsLongCurvesByMeans) {
  Json about = small_training();
  about["losses"] = Json::array();
  for (int i = 0; i < 1000; ++i) about["losses"].push_back(i % 3);
  const Json shown = *shown_of_training(about);
  ASSERT_EQ(shown["loss"].size(), 334u);
  EXPECT_EQ(shown["loss"][0].dump(), "[3.0,1.0]");
  EXPECT_EQ(shown["loss"][333][0], 1000.0);
}

TEST(TrainingPage, HoldsWhatATrainingSaysAndNothingElse) {
  Json about = small_training();
  about["samples"][0]["text"] = "</script><script>alert(1)";
  const std::vector<ShownTraining> both = {{"a", about}, {"b", small_learning()}};
  const auto page = training_page(both, false, "0");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->find("alert(1)"), page->find("\\u003c/script>\\u003cscript>alert(1)") + 27);
  EXPECT_EQ(page->find("not for the page"), std::string::npos);
  EXPECT_NE(page->find("loss-plot"), std::string::npos);
  EXPECT_NE(page->find("\"live\":false"), std::string::npos);
  EXPECT_NE(training_page(both, true, "0")->find("\"live\":true"), std::string::npos);
}

TEST(TrainingPage, RefusesWhatIsNotAsItMustBe) {
  EXPECT_EQ(complaint_about_training(small_training()), "");
  EXPECT_EQ(complaint_about_training(Json::array()), "it holds no JSON object");
  const auto with = [](const char* name, const char* value) {
    Json about = small_training();
    about[name] = Json::parse(value);
    return complaint_about_training(about);
  };
  EXPECT_EQ(with("out", "3"), "out is missing");
  EXPECT_EQ(with("seconds", "\"x\""), "seconds holds something that is no number");
  EXPECT_EQ(with("losses", "[1, \"a\"]"), "losses holds something that is no number");
  EXPECT_EQ(with("losses", "{}"), "losses is no list");
  EXPECT_EQ(with("held_out", "[3]"), "loss is missing");
  EXPECT_EQ(with("held_out", "[{\"loss\": 1, \"step\": null}]"), "step holds something that is no number");
  EXPECT_EQ(with("samples", "[3]"), "prompt is missing");
  EXPECT_EQ(with("samples", "[{\"prompt\": \"a\", \"text\": \"b\", \"reward\": \"c\"}]"),
            "reward holds something that is no number");
  EXPECT_EQ(with("curve", "[{\"loss\": 1, \"reward\": 1}]"), "rewarded is missing");
  Json none = small_training();
  none.erase("losses");
  EXPECT_EQ(complaint_about_training(none), "it has neither losses nor a curve of rewards");
  EXPECT_EQ(training_page({}, false, "0").error().message, "say of which trainings: --run DIR, several times");
  const std::vector<ShownTraining> bad = {{"m/training.json", none}};
  EXPECT_EQ(training_page(bad, false, "0").error().message,
            "m/training.json: it has neither losses nor a curve of rewards");
}

TEST(TrainingPage, IsWrittenAtEachCheckpointAndOnceMoreAtTheEnd) {
  const ScratchFolder folder;
  const auto file = folder.path() / "page.html";
  LiveTrainingPage page(file, "0");
  EXPECT_TRUE(page.end().ok());  // nothing has been told yet
  EXPECT_FALSE(std::filesystem::exists(file));
  ASSERT_TRUE(page.show(small_training()).ok());
  EXPECT_NE(read_file(file)->find("\"live\":true"), std::string::npos);
  ASSERT_TRUE(page.end().ok());
  EXPECT_NE(read_file(file)->find("\"live\":false"), std::string::npos);
  LiveTrainingPage nowhere(folder.path() / "none" / "page.html", "0");
  EXPECT_FALSE(nowhere.show(small_training()).ok());
  EXPECT_TRUE(nowhere.show(small_training()).ok());  // said once
  EXPECT_TRUE(LiveTrainingPage("", "0").show(small_training()).ok());
}

TEST(TrainingPage, ReadsFoldersThatAreDone) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "training.json", small_learning().dump()).ok());
  const std::vector<std::filesystem::path> runs = {folder.path(), folder.path() / "training.json"};
  const auto page = training_page_of_runs(runs, "0");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_NE(page->find("\"accepted\":[[1.0,0.25]"), page->rfind("\"accepted\":[[1.0,0.25]"));
}

TEST(TrainingPage, CutsLongTextsBetweenCharacters) {
  Json about = small_training();
  std::string text(3999, 'a');
  about["samples"][0]["text"] = text + "\xc3\xa4" + text;
  const Json shown = *shown_of_training(about);
  EXPECT_EQ(shown["samples"][0]["text"], text + " …");
}

}  // namespace
}  // namespace kw::report
