#include "agents/round_record.h"

#include <gtest/gtest.h>

#include "base/scratch.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

class RoundRecord : public testing::Test {
 protected:
  RoundRecord() {
    store_.emplace(*store::Store::open(folder_.path()));
    task_ = *suites::find_task("Relu", {});
    run_ = *store_->begin_run({.command = "kw test"}, {});
    machine_ = *store_->add_machine({.identity = "here", .name = "a machine", .facts = "{}"});
  }

  void keep(const Round& round) {
    if (!round.problem.empty()) {
      ASSERT_TRUE(store_
                      ->add_item(run_, {.position = ++position_,
                                        .purpose = purpose_of(round),
                                        .task = runs::snapshot(task_),
                                        .label = label_of(round),
                                        .problem = round.problem})
                      .ok());
      return;
    }
    judge::Case one;
    one.task = &task_;
    one.source = {"kernel.cpp", round.source};
    one.settings = round.settings;
    store::NewItem item = runs::planned(++position_, one, label_of(round));
    item.purpose = purpose_of(round);
    item.candidate->notes = notes_of(round);
    ASSERT_TRUE(store_
                    ->add_judged(run_, item, *round.verdict, judge::verdict_as_json(*round.verdict),
                                 {.machine = machine_, .key = std::to_string(position_), .versions = {}})
                    .ok());
  }

  std::vector<Round> read_back() {
    auto all = recorded_rounds(*store_, run_);
    EXPECT_TRUE(all.ok()) << all.error().message;
    return all->empty() ? std::vector<Round>() : all->begin()->second.rounds;
  }

  static Verdict right(double speedup) {
    Verdict verdict{.task = "Relu", .target = "cpu", .stage = VerdictStage::accepted, .time_ns = 1000 / speedup};
    verdict.speedups.push_back({.rival = "plain", .median = speedup, .low = speedup, .high = speedup});
    return verdict;
  }

  ScratchFolder folder_;
  std::optional<store::Store> store_;
  Task task_;
  std::int64_t run_ = 0, machine_ = 0, position_ = 0;
};

TEST_F(RoundRecord, GivesRoundsBackAsTheyWere) {
  keep({.number = 0,
        .role = RoundRole::start,
        .source = "plain",
        .verdict = right(1),
        .performance = "time: \x02"
                       "1 us\x03"});
  keep({.number = 1,
        .parent = 0,
        .role = RoundRole::accelerator,
        .plan = {{"method", "unroll"}, {"reflection", "it is slow"}},
        .edits = 2,
        .problem = "the first edit does not stand in the file"});
  keep({.number = 2,
        .parent = 0,
        .role = RoundRole::accelerator,
        .plan = {{"method", "vectors"}, {"reflection", "read first"}},
        .source = "fast",
        .settings = {{"UNROLL", "4"}},
        .verdict = right(3.5),
        .hot = {7, 9}});
  const std::vector<Round> rounds = read_back();
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[0].role, RoundRole::start);
  EXPECT_EQ(rounds[0].performance,
            "time: \x02"
            "1 us\x03");
  EXPECT_EQ(rounds[0].reflection, "it is slow") << "what it taught was said with the next plan";
  EXPECT_EQ(rounds[1].plan.at("method"), "unroll") << "a method that failed stays known";
  EXPECT_EQ(rounds[1].edits, 2);
  EXPECT_EQ(rounds[1].problem, "the first edit does not stand in the file");
  EXPECT_EQ(rounds[1].reflection, "read first");
  EXPECT_EQ(rounds[2].parent, 0);
  EXPECT_EQ(rounds[2].source, "fast");
  EXPECT_EQ(rounds[2].settings, (Settings{{"UNROLL", "4"}}));
  EXPECT_DOUBLE_EQ(rounds[2].speed(), 3.5);
  EXPECT_EQ(rounds[2].hot.first, 7);
  EXPECT_EQ(rounds[2].hot.last, 9);
  EXPECT_EQ(rounds[0].hot.first, 0);
}

TEST(HotLines, AreNoneWhereARecordHoldsNone) {
  for (const char* text : {"{}", R"({"hot": 3})", R"({"hot": [1]})", R"({"hot": ["a", 2]})", R"({"hot": [5, 2]})"})
    EXPECT_EQ(hot_lines_of(Json::parse_quietly(text)).first, 0) << text;
}

// Logarithms of them are sorted by: what is no number would spoil the order.
TEST_F(RoundRecord, TakesNoNumbersThatNothingMeasured) {
  Round round{.number = 0, .role = RoundRole::coder, .source = "a", .verdict = right(1)};
  round.facts = {{"loops", 3}, {"width", 1e308}, {"depth", -1e308}};
  keep(round);
  EXPECT_EQ(read_back().at(0).facts, (CodeFacts{{"loops", 3}}));
  const Comparison good{.with = 0, .median = 2, .low = 1.9, .high = 2.1, .sure = true, .taped = true};
  EXPECT_TRUE(comparison_of(json_of(good))->taped);
  for (const double ratio : {0.0, -1.0, 1e300}) {
    Json bad = json_of(good);
    bad["median"] = ratio;
    EXPECT_THROW((void)comparison_of(bad), JsonError) << ratio;
  }
}

TEST_F(RoundRecord, KnowsComparisonsThatWereNotMadeHere) {
  keep({.number = 0, .role = RoundRole::coder, .source = "a", .verdict = right(1)});
  keep({.number = 1,
        .parent = 0,
        .role = RoundRole::coder,
        .source = "b",
        .verdict = right(2),
        .beside = Comparison{.with = 0, .median = 2, .low = 1.9, .high = 2.1, .sure = true}});
  EXPECT_FALSE(read_back().at(1).beside->taped);
  ASSERT_TRUE(store_->database().execute("UPDATE item SET label = replace(label, '1.9', '1.8')").ok());
  EXPECT_TRUE(read_back().at(1).beside->taped);
}

// A judge that is lost in the middle lets a program go on from the rounds that it holds, not from the record.
TEST(RoundsOfAProgram, KnowWhatEachOfThemTaughtAsTheRecordDoes) {
  std::vector<Round> rounds;
  add_to(rounds, {.number = 0, .role = RoundRole::coder, .source = "a"});
  add_to(rounds, {.number = 1, .parent = 0, .plan = {{"method", "vectors"}, {"reflection", "it is slow"}}});
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].reflection, "it is slow");
  EXPECT_EQ(rounds[1].reflection, "");
}

TEST_F(RoundRecord, KeepsWhatATapeDecidedBesideWhatIsFoundNow) {
  keep({.number = 0, .role = RoundRole::coder, .source = "a", .verdict = right(1), .taped = VerdictStage::hidden});
  keep({.number = 1,
        .role = RoundRole::coder,
        .source = "b",
        .verdict = right(2),
        .taped = VerdictStage::accepted,
        .beside = Comparison{0, 1.2, 1.1, 1.3, true},
        .beside_now = Comparison{0, 0.9, 0.8, 1.1, false}});
  const std::vector<Round> rounds = read_back();
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_FALSE(rounds[0].right()) << "authors go by the tape";
  EXPECT_TRUE(rounds[0].differs_from_tape());
  EXPECT_FALSE(rounds[1].differs_from_tape());
  ASSERT_TRUE(rounds[1].beside_now);
  EXPECT_EQ(rounds[1].beside_now->median, 0.9);
  EXPECT_EQ(rounds[1].beside->median, 1.2);
}

TEST_F(RoundRecord, EndsWhereARoundIsMissing) {
  keep({.number = 0, .role = RoundRole::coder, .source = "a", .verdict = right(1)});
  keep({.number = 2, .parent = 1, .role = RoundRole::coder, .source = "b", .verdict = right(2)});
  EXPECT_EQ(read_back().size(), 1u);
}

}  // namespace
}  // namespace kw::agents
