// Worked examples: the numbers on the right of each EXPECT were computed by hand from docs/figures.md.
#include "report/figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "base/scratch.h"
#include "store/by_hand.h"

namespace kw::report {
namespace {

Against against(const std::string& rival, double median, double low, double high) {
  return {.rival = rival, .version = "1", .median = median, .low = low, .high = high, .claimed = true};
}

Outcome accepted(const std::string& task, const std::string& category, std::vector<Against> against) {
  return {.task = task,
          .category = category,
          .task_hash = task,
          .candidates = 1,
          .spent_s = 0.5,
          .stage = VerdictStage::accepted,
          .terms = "warm caches, 1 thread",
          .time_ns = 1000,
          .against = std::move(against)};
}

Outcome rejected(const std::string& task, const std::string& category, VerdictStage stage) {
  return {.task = task, .category = category, .task_hash = task, .candidates = 1, .spent_s = 0.5, .stage = stage};
}

// Six tasks. MNN is left out on Det, which it cannot run right.
std::vector<Outcome> six_tasks() {
  std::vector<Outcome> tasks = {
      accepted("Relu", "Activation", {against("plain", 8, 7.5, 8.5), against("mnn", 1.6, 1.4, 1.7)}),
      accepted("Tanh", "Activation", {against("plain", 2, 1.9, 2.1), against("mnn", 0.9, 0.8, 1.1)}),
      accepted("Det", "Matrix", {against("plain", 4, 3.9, 4.1)}),
      rejected("Gemm", "Matrix", VerdictStage::hidden),
      rejected("Conv", "Matrix", VerdictStage::verify),
      rejected("Pool", "Matrix", VerdictStage::build),
  };
  tasks[2].left_out = {{"mnn", "1", "its answer is wrong"}};
  tasks[0].roof_fraction = 0.5;
  tasks[1].roof_fraction = 0.2;
  tasks[2].roof_fraction = 0.8;
  return tasks;
}

TEST(Figures, CountTasksByTheirStage) {
  const Figures figures = figures_over(six_tasks());
  EXPECT_EQ(figures.tasks, 6);
  EXPECT_EQ(figures.built, 5);                // all but Pool
  EXPECT_EQ(figures.right_on_own_shapes, 4);  // Gemm fails on hidden shapes only
  EXPECT_EQ(figures.accepted, 3);
  EXPECT_DOUBLE_EQ(*figures.share(figures.accepted), 0.5);
  EXPECT_DOUBLE_EQ(*figures.roof_fraction, 0.5);
  EXPECT_EQ(figures.candidates, 6);
  EXPECT_DOUBLE_EQ(figures.spent_s, 3);
}

TEST(Figures, AFailedTaskCountsAsSlow) {
  const Figures figures = figures_over(six_tasks());
  const RivalFigures& plain = *figures.against("plain");
  EXPECT_EQ(plain.tasks, 6);
  EXPECT_EQ(plain.left_out, 0);
  EXPECT_EQ(plain.raced, 3);
  // 8, 2, 4 and three failures. 2 is not above 2.
  EXPECT_EQ(plain.fast, (std::array{3, 3, 3, 2}));
  // From 7.5, 1.9, 3.9.
  EXPECT_EQ(plain.sure, (std::array{3, 3, 3, 2}));
  EXPECT_DOUBLE_EQ(*plain.share(plain.fast[1]), 0.5);
  EXPECT_NEAR(*plain.geomean, 4, 1e-12);  // the cube root of 64
  EXPECT_DOUBLE_EQ(*plain.median, 4);
}

TEST(Figures, ATaskThatTheRivalCannotRunIsLeftOutAgainstIt) {
  const Figures figures = figures_over(six_tasks());
  const RivalFigures& mnn = *figures.against("mnn");
  EXPECT_EQ(mnn.tasks, 5);
  EXPECT_EQ(mnn.left_out, 1);
  EXPECT_EQ(mnn.fast, (std::array{2, 1, 1, 0}));  // 1.6, 0.9
  EXPECT_EQ(mnn.sure, (std::array{2, 1, 0, 0}));  // from 1.4, 0.8
  EXPECT_DOUBLE_EQ(*mnn.share(mnn.fast[1]), 0.2);
  EXPECT_NEAR(*mnn.geomean, 1.2, 1e-12);  // the root of 1.44
  EXPECT_DOUBLE_EQ(*mnn.median, 1.25);    // halfway
}

TEST(Figures, TheBestRivalIsTheHardestOfEachTask) {
  const Figures figures = figures_over(six_tasks());
  ASSERT_EQ(figures.rivals.back().rival, kBest);
  const RivalFigures& best = figures.rivals.back();
  EXPECT_EQ(best.tasks, 6);
  EXPECT_EQ(best.fast, (std::array{3, 2, 2, 1}));  // 1.6, 0.9, 4
  EXPECT_EQ(best.sure, (std::array{3, 2, 1, 1}));  // from 1.4, 0.8, 3.9
}

// Where two rivals are about equal, it is not known which is the fastest: the lower end is the lowest of both.
TEST(Figures, TheBestRivalsIntervalReachesDownToTheLowest) {
  const Outcome one = accepted("Relu", "", {against("a", 1.20, 0.90, 1.50), against("b", 1.10, 1.05, 1.15)});
  const Against best = *one.beside(kBest);
  EXPECT_EQ(best.rival, "b");
  EXPECT_DOUBLE_EQ(best.median, 1.10);
  EXPECT_DOUBLE_EQ(best.low, 0.90);
  EXPECT_DOUBLE_EQ(best.high, 1.15);
}

TEST(Figures, ARivalThatWasNotThereIsNotBeaten) {
  const std::vector<Outcome> tasks = {accepted("Relu", "", {against("mnn", 3, 3, 3)}), accepted("Tanh", "", {})};
  const Figures figures = figures_over(tasks);
  const RivalFigures& mnn = *figures.against("mnn");
  EXPECT_EQ(mnn.tasks, 1);
  EXPECT_EQ(mnn.unmeasured, 1);
  EXPECT_EQ(mnn.left_out, 0);
}

TEST(Figures, OfNothingAreNoFigures) {
  const Figures none = figures_over({});
  EXPECT_EQ(none.share(none.built), std::nullopt);
  EXPECT_TRUE(none.rivals.empty());
  // Nothing was timed: there is no rival to be faster than.
  EXPECT_TRUE(figures_over(std::vector{rejected("Relu", "", VerdictStage::build)}).rivals.empty());
}

TEST(Figures, StandByCategoryToo) {
  const RunFigures figures = figures_of({}, six_tasks());
  ASSERT_EQ(figures.categories.size(), 2u);
  const Figures& matrix = figures.categories[1];
  EXPECT_EQ(matrix.category, "Matrix");
  EXPECT_EQ(matrix.tasks, 4);
  EXPECT_EQ(matrix.accepted, 1);
  // Every category has every rival: MNN has no task to show in this one.
  EXPECT_EQ(matrix.against("mnn")->tasks, 3);
  EXPECT_EQ(matrix.against("mnn")->left_out, 1);
  EXPECT_EQ(matrix.against("mnn")->geomean, std::nullopt);
}

TEST(Figures, AsJsonHaveTheKeysThatAreDocumented) {
  const Json json = Json::parse(figures_as_json(figures_of({}, six_tasks())));
  EXPECT_EQ(json["run"], "r0");
  EXPECT_EQ(json["tasks"], 6);
  EXPECT_DOUBLE_EQ(json["csr"], 5.0 / 6);
  EXPECT_DOUBLE_EQ(json["fcr"], 0.5);
  EXPECT_DOUBLE_EQ(json["fcr_own_shapes"], 4.0 / 6);
  EXPECT_DOUBLE_EQ(json["fast"]["mnn"]["1"], 0.2);
  EXPECT_DOUBLE_EQ(json["fast"]["mnn"]["sure"]["1.5"], 0);
  EXPECT_DOUBLE_EQ(json["fast"]["best"]["0.5"], 0.5);
  EXPECT_NEAR(json["geomean"]["plain"].get<double>(), 4, 1e-12);
  EXPECT_EQ(json["left_out"]["mnn"], 1);
  EXPECT_EQ(json["categories"]["Matrix"]["tasks"], 4);
  EXPECT_DOUBLE_EQ(json["categories"]["Matrix"]["fast"]["plain"]["2"], 0.25);
  EXPECT_TRUE(json["categories"]["Matrix"]["geomean"]["mnn"].is_null());
  const Json empty = Json::parse(figures_as_json(figures_of({}, std::vector<Outcome>())));
  EXPECT_TRUE(empty["csr"].is_null());
}

TEST(Figures, SayWhatDoesNotCompare) {
  std::vector<Outcome> tasks = six_tasks();
  tasks[1].against[1].version = "2";
  tasks[1].candidates = 40;
  tasks[0].against[0].version = "g++ 12, source 1";
  tasks[1].against[0].version = "g++ 12, source 2";
  tasks[2].against[0].version = "g++ 12, source 3";
  const RunFigures figures = figures_of({}, tasks);
  EXPECT_EQ(figures.versions.at("plain"), (std::map<std::string, int>{{"g++ 12", 3}}));
  ASSERT_EQ(figures.remarks.size(), 2u);
  EXPECT_EQ(figures.remarks[0],
            "chosen among up to 40 candidates, not measured again, on 1 of 6 tasks: the luck of the choice is in their "
            "speed-ups");
  EXPECT_EQ(figures.remarks[1], "mnn stands for 2 versions, not one measure: 1 (1 task); 2 (1 task)");
}

// --- from the store --------------------------------------------------------------------------------------------------

class RunFiguresTest : public testing::Test {
 protected:
  // An item that gets a verdict at once.
  struct Judged {
    std::string task;
    std::string source;
    Verdict verdict;
    store::Purpose purpose = store::Purpose::judge;
    std::string json = {};  // empty: as by_hand says
    std::string version = "1";
  };

  RunFigures of(const std::vector<Judged>& all, const std::string& rules = "{}") {
    store::Store store = store::Store::open(folder_.path()).value();
    const std::int64_t machine = store.add_machine(store::machine_by_hand()).value();
    const std::int64_t run = store.begin_run({.command = "by hand", .rules = rules}, {}).value();
    std::int64_t position = 0;
    for (const Judged& one : all) {
      store::NewItem item = store::item_by_hand(++position, one.source, one.task);
      item.purpose = one.purpose;
      const std::int64_t id = store.add_item(run, item).value();
      const std::string json = one.json.empty() ? store::json_by_hand(one.verdict) : one.json;
      EXPECT_TRUE(store.record(id, one.verdict, json, store::around_by_hand(machine, one.version)).ok());
    }
    auto figures = figures_of(store, run);
    EXPECT_TRUE(figures.ok()) << figures.error().message;
    return *std::move(figures);
  }

  static Verdict stopped(VerdictStage stage) { return {.task = "Relu", .target = "cpu", .stage = stage}; }

  const ScratchFolder folder_;
};

TEST_F(RunFiguresTest, ChooseTheFastestAcceptedCandidate) {
  const RunFigures figures = of({{"Relu", "a", store::verdict_by_hand(1000, 1.5)},
                                 {"Relu", "b", store::verdict_by_hand(900, 3)},
                                 {"Relu", "c", store::verdict_by_hand(800, 2)},
                                 {"Relu", "d", stopped(VerdictStage::time)}});
  ASSERT_EQ(figures.outcomes.size(), 1u);
  const Outcome& relu = figures.outcomes[0];
  EXPECT_DOUBLE_EQ(relu.beside("plain")->median, 3);
  EXPECT_EQ(relu.candidates, 4);
  EXPECT_DOUBLE_EQ(relu.spent_s, 2);
  EXPECT_TRUE(relu.is_lucky());
  EXPECT_EQ(figures.overall.lucky, 1);
  EXPECT_EQ(figures.stages.at(VerdictStage::accepted), 3);
  EXPECT_EQ(figures.stages.at(VerdictStage::time), 1);
}

TEST_F(RunFiguresTest, TheMeasurementAfterTheChoiceCounts) {
  const RunFigures figures = of({{"Relu", "a", store::verdict_by_hand(1000, 1.5)},
                                 {"Relu", "b", store::verdict_by_hand(900, 3)},
                                 {"Relu", "b", store::verdict_by_hand(950, 2.7), store::Purpose::confirm}});
  const Outcome& relu = figures.outcomes.at(0);
  EXPECT_TRUE(relu.confirmed);
  EXPECT_FALSE(relu.is_lucky());
  EXPECT_DOUBLE_EQ(relu.beside("plain")->median, 2.7);
  EXPECT_EQ(relu.candidates, 2);
  EXPECT_TRUE(figures.remarks.empty());
}

TEST_F(RunFiguresTest, ACandidateThatIsMeasuredAgainEndsOnce) {
  const RunFigures figures = of({{"Relu", "a", stopped(VerdictStage::quick_check)},
                                 {"Relu", "b", stopped(VerdictStage::quick_check)},
                                 {"Relu", "b", store::verdict_by_hand(950, 2.7), store::Purpose::confirm}});
  EXPECT_EQ(figures.stages,
            (std::map<VerdictStage, std::int64_t>{{VerdictStage::quick_check, 1}, {VerdictStage::accepted, 1}}));
}

TEST_F(RunFiguresTest, AConfirmationThatFailsCountsAsAFailure) {
  const RunFigures figures = of({{"Relu", "a", store::verdict_by_hand(900, 3)},
                                 {"Relu", "a", stopped(VerdictStage::hidden), store::Purpose::confirm}});
  EXPECT_EQ(figures.overall.accepted, 0);
  EXPECT_EQ(figures.overall.right_on_own_shapes, 1);
}

TEST_F(RunFiguresTest, ATaskWithoutAnAcceptedCandidateStandsWhereTheFurthestCame) {
  const RunFigures figures = of({{"Relu", "a", stopped(VerdictStage::build)},
                                 {"Relu", "b", stopped(VerdictStage::guard)},
                                 {"Relu", "c", stopped(VerdictStage::verify)}});
  EXPECT_EQ(figures.outcomes.at(0).stage, VerdictStage::guard);
  EXPECT_EQ(figures.outcomes.at(0).file, "kernel.cpp");
}

TEST_F(RunFiguresTest, ReadWhoWasLeftOutAndWhatACallCosts) {
  const std::string json =
      R"({"reason":null,"speedup":{"plain":{"median":2,"called":{"median":2.5,"overhead_decides":true}}},)"
      R"("left_out":{"mnn":{"version":"3.6.1","why":"its answer is wrong"}}})";
  const RunFigures figures = of({{"Relu", "a", store::verdict_by_hand(900, 2), store::Purpose::judge, json}});
  const Outcome& relu = figures.outcomes.at(0);
  EXPECT_DOUBLE_EQ(*relu.beside("plain")->called, 2.5);
  EXPECT_TRUE(relu.beside("plain")->overhead_decides);
  EXPECT_EQ(relu.left_out.at(0).why, "its answer is wrong");
  EXPECT_EQ(figures.overall.against("mnn")->left_out, 1);
}

TEST_F(RunFiguresTest, TasksThatNobodyGotToCountAsFailed) {
  const RunFigures figures =
      of({{"Relu", "a", store::verdict_by_hand(900, 2)}},
         R"({"tasks":[{"name":"Relu","category":"Activation"},{"name":"Conv","category":"C"}]})");
  EXPECT_EQ(figures.overall.tasks, 2);
  EXPECT_EQ(figures.overall.accepted, 1);
  EXPECT_EQ(figures.categories.at(1).category, "C");
  EXPECT_EQ(figures.remarks.at(0), "1 task has no verdict at all and counts as failed");
}

TEST_F(RunFiguresTest, SayThatARivalChangedItsVersion) {
  const RunFigures figures = of({{"Relu", "a", store::verdict_by_hand(900, 2), store::Purpose::judge, "", "g++ 12"},
                                 {"Tanh", "b", store::verdict_by_hand(900, 2), store::Purpose::judge, "", "g++ 13"}});
  EXPECT_EQ(figures.remarks.at(0), "plain stands for 2 versions, not one measure: g++ 12 (1 task); g++ 13 (1 task)");
}

TEST_F(RunFiguresTest, OfARunThatDoesNotExistAreAnError) {
  const store::Store store = store::Store::open(folder_.path()).value();
  EXPECT_FALSE(figures_of(store, 7).ok());
}

}  // namespace
}  // namespace kw::report
