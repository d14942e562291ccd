// Sessions with an author that follows a script, on a device that is made up (tests/targets/made_up): no model is
// asked.
#include "agents/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/files.h"
#include "base/scratch.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

// What the author says, one a round.
std::deque<Round>& script() {
  static std::deque<Round> rounds;
  return rounds;
}

class ScriptedAuthor final : public Author {
 public:
  Round next(Work&, Talk&) override {
    if (script().empty()) return {.problem = "the script is over"};
    Round round = script().front();
    script().pop_front();
    return round;
  }
};

AuthorKind scripted(bool judges_the_start) {
  return {.name = "scripted", .usual_rounds = 3, .judges_the_start = judges_the_start, .make = [] {
            return std::unique_ptr<Author>(new ScriptedAuthor());
          }};
}

class ASession : public testing::Test {
 protected:
  ASession()
      : judge_(*judge::Judge::open("made_up")),
        client_(*llm::Client::open(*llm::endpoint_named("command:false"))),
        prompts_(*Prompts::open()),
        task_(*suites::find_task("Relu")) {
    for (auto& [name, value] : task_.lengths) value = 8;
    graph_ = *ops::resolve(task_);
    options_.author = scripted(true);
    options_.start = {Start::Kind::own, "lap_ns 20000"};
    options_.rules.device = "made_up";
    options_.rules.budget_s = 0.1;
    script().clear();
  }

  static Round kernel(const std::string& text) { return {.role = RoundRole::accelerator, .source = text}; }

  SessionResult run() {
    recorded_.clear();
    auto result = run_session(judge_, task_, graph_, client_, prompts_, options_,
                              [&](const Round& round, const judge::Case& asked, double) -> Status {
                                EXPECT_EQ(asked.device, "made_up");
                                EXPECT_EQ(asked.source.name, "kernel.txt");
                                recorded_.push_back(round.number);
                                return {};
                              });
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return *std::move(result);
  }

  judge::Judge judge_;
  llm::Client client_;
  Prompts prompts_;
  Task task_;
  ops::Graph graph_;
  SessionOptions options_;
  std::vector<int> recorded_;
};

TEST_F(ASession, JudgesTheStartThenEachRoundAndKnowsTheBest) {
  script() = {kernel("lap_ns 5000"), kernel("lap_ns 1000\nwrong"), kernel("lap_ns 10000")};
  const SessionResult result = run();
  ASSERT_EQ(result.work.rounds.size(), 4u);
  EXPECT_EQ(recorded_, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(result.work.rounds[0].role, RoundRole::start);
  EXPECT_TRUE(result.work.rounds[1].right());
  EXPECT_FALSE(result.work.rounds[2].right());
  ASSERT_NE(result.work.best(), nullptr);
  EXPECT_EQ(result.work.best()->number, 1);
  EXPECT_EQ(result.over, "");
}

TEST_F(ASession, JudgesNoKernelTwice) {
  script() = {kernel("lap_ns 5000"), kernel("lap_ns 5000")};
  options_.rounds = 2;
  const SessionResult result = run();
  ASSERT_EQ(result.work.rounds.size(), 3u);
  EXPECT_EQ(result.work.rounds[2].problem, "the same kernel as in round 1");
  EXPECT_FALSE(result.work.rounds[2].verdict);
}

TEST_F(ASession, RecordsARoundWithoutAKernel) {
  script() = {{.role = RoundRole::coder, .problem = "no code in the answer"}};
  options_.rounds = 1;
  const SessionResult result = run();
  EXPECT_EQ(recorded_, (std::vector<int>{0, 1}));
  EXPECT_FALSE(result.work.rounds[1].verdict);
}

TEST_F(ASession, GoesOnAfterTheRoundsThatAreRecorded) {
  script() = {kernel("lap_ns 5000")};
  options_.rounds = 1;
  options_.before = run().work.rounds;
  script() = {kernel("lap_ns 4000")};
  options_.rounds = 2;
  const SessionResult result = run();
  EXPECT_EQ(recorded_, (std::vector<int>{2})) << "neither the start nor the first round is judged again";
  EXPECT_EQ(result.work.best()->number, 2);
}

TEST_F(ASession, TimesEachKernelBesideTheIncumbent) {
  script() = {kernel("lap_ns 5000"), kernel("lap_ns 4500"), kernel("lap_ns 4500\nempty_ns 300"), kernel("lap_ns 6000")};
  options_.rounds = 4;
  const std::vector<Round>& rounds = run().work.rounds;
  ASSERT_EQ(rounds.size(), 5u);
  EXPECT_FALSE(rounds[0].beside);
  ASSERT_TRUE(rounds[2].beside && rounds[3].beside && rounds[4].beside);
  EXPECT_EQ(rounds[2].beside->with, 1);
  EXPECT_TRUE(rounds[2].beside->faster());
  EXPECT_EQ(rounds[3].beside->with, 2);
  EXPECT_FALSE(rounds[3].beside->faster() || rounds[3].beside->slower()) << "the same times";
  EXPECT_EQ(rounds[4].beside->with, 2) << "no difference replaces nobody";
  EXPECT_TRUE(rounds[4].beside->slower());
  for (const Round& round : rounds) {
    for (const Speedup& one : round.verdict->speedups)
      EXPECT_NE(one.rival, "reference") << "it is of this session alone";
  }
}

// The third race says nothing of the second kernel; the fourth, three times as long, does.
TEST_F(ASession, LooksLongerWhereAChallengerMayBeFaster) {
  script() = {kernel("lap_ns 5000"), kernel("lap_ns 4000\nscattered_in_race 3")};
  options_.rounds = 2;
  const SessionResult result = run();
  ASSERT_EQ(result.work.rounds.size(), 3u);
  EXPECT_EQ(judge_.timings().count, 4);
  const std::optional<Comparison>& beside = result.work.rounds[2].beside;
  ASSERT_TRUE(beside);
  EXPECT_TRUE(beside->faster()) << beside->median << " [" << beside->low << ", " << beside->high << "]";
  EXPECT_NEAR(beside->median, 1.25, 0.05);
  EXPECT_EQ(result.work.best()->number, 2);
}

TEST_F(ASession, LooksThreeTimesAsLongAtTheTwoAlone) {
  judge::Case asked{.device = "made_up", .task = &task_, .source = {"kernel.txt", "lap_ns 4000"}, .budget_s = 2};
  const auto incumbent = judge_.inspect(asked)->built;
  const judge::Case longer = longer_look(asked, incumbent);
  EXPECT_EQ(longer.budget_s, 6);
  EXPECT_FALSE(longer.plain) << "its time would be spent on a third";
  EXPECT_EQ(longer.reference, incumbent);
  EXPECT_EQ(longer.source.text, asked.source.text);
}

TEST_F(ASession, LooksNoLongerWhereTheAnswerIsClear) {
  script() = {kernel("lap_ns 5000"), kernel("lap_ns 4000"), kernel("lap_ns 6000"), kernel("lap_ns 4000\nempty_ns 200")};
  options_.rounds = 4;
  EXPECT_EQ(run().work.best()->number, 2);
  EXPECT_EQ(judge_.timings().count, 5) << "faster, slower, and the same to a percent";
}

TEST_F(ASession, DecidesAsTheTapeDidThatIsPlayed) {
  const ScratchFolder tape;
  script() = {kernel("lap_ns 5000"), kernel("lap_ns 4000")};
  options_.rounds = 2;
  auto recording = *Decisions::to_record(tape.path());
  options_.decisions = recording.get();
  ASSERT_EQ(run().work.best()->number, 2);
  // The clock of another machine says the contrary.
  script() = {kernel("lap_ns 4000"), kernel("lap_ns 5000")};
  auto playing = *Decisions::to_replay(tape.path());
  options_.decisions = playing.get();
  EXPECT_EQ(run().work.best()->number, 2);
}

TEST_F(ASession, AsksAgainWithinTheRoundForWhatDoesNotBuild) {
  const ScratchFolder folder;
  const auto answer = folder.path() / "answer";
  ASSERT_TRUE(write_file(answer, "```cpp\nlap_ns 4000\nKW_KERNEL 1\n```\n").ok());
  client_ = *llm::Client::open(*llm::endpoint_named("command:cat > /dev/null; cat " + answer.string()));
  options_.author.mends = true;
  options_.rounds = 1;
  script() = {kernel("does_not_build\nKW_KERNEL 1")};
  const std::vector<Round>& rounds = run().work.rounds;
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_TRUE(rounds[1].right()) << verdict_text(rounds[1]);
  ASSERT_EQ(rounds[1].mended.size(), 1u);
  EXPECT_NE(rounds[1].mended[0].find("did not build"), std::string::npos);
  // An author that answers once is judged by that answer.
  options_.author.mends = false;
  script() = {kernel("does_not_build\nKW_KERNEL 1")};
  EXPECT_FALSE(run().work.rounds[1].right());
}

TEST_F(ASession, MakesTheTunersBestValuesTheDefaultsThatTheNextRoundSees) {
  options_.author = scripted(false);
  options_.rounds = 1;
  script() = {kernel("KW_KERNEL 1\nlap_ns 8000\nKW_TUNE(SPEED_UP, 1, 1, 2, 4);\n")};
  const Work work = run().work;
  ASSERT_EQ(work.rounds.size(), 2u);
  const Round& tuned = work.rounds[1];
  EXPECT_EQ(tuned.role, RoundRole::tuner);
  EXPECT_EQ(tuned.parent, 0);
  EXPECT_NE(tuned.source.find("KW_TUNE(SPEED_UP, 4"), std::string::npos) << tuned.source;
  ASSERT_TRUE(tuned.beside);
  EXPECT_TRUE(tuned.beside->faster());
  EXPECT_EQ(work.best()->number, 1);
  const std::string history = history_text(work);
  EXPECT_NE(history.find("SPEED_UP=4"), std::string::npos) << history;
  EXPECT_NE(history.find("choices tried"), std::string::npos) << "the table of what was tried";
}

// Speed hangs on the width of vectors, which the machine code shows.
TEST_F(ASession, LeavesOutOnTheWordOfASurrogateOnlyWhenItIsCalibrated) {
  constexpr int kRounds = 72;
  const ScratchFolder tape;
  const auto play = [&](double slower) {
    script().clear();
    for (int i = 0; i < kRounds; ++i) {
      const int width = 128 << (i * 7 % 3);
      const double lap_ns = slower * 2e6 / width * (1 + 0.002 * i);
      script().push_back(kernel(fmt::format("lap_ns {:.0f}\nwidth {}\n", lap_ns, width)));
    }
  };
  options_.author = scripted(false);
  options_.author.guesses = true;
  options_.rounds = kRounds;
  options_.rules.budget_s = 0.005;
  play(1);
  auto recording = *Decisions::to_record(tape.path());
  options_.decisions = recording.get();
  const SessionResult result = run();
  const auto left_out = [](const Round& round) { return !round.left_out.empty(); };
  const auto lap_of = [](const Round& round) { return std::stoi(round.source.substr(7)); };
  const std::vector<Round>& rounds = result.work.rounds;
  EXPECT_EQ(std::ranges::count_if(rounds.begin(), rounds.begin() + 30, left_out), 0) << "not calibrated yet";
  const auto skipped = std::ranges::count_if(rounds, left_out);
  EXPECT_GT(skipped, 3) << result.surrogate;
  EXPECT_NE(result.surrogate.find(fmt::format("{} kernels left out", skipped)), std::string::npos) << result.surrogate;
  for (const Round& round : rounds) {
    if (!left_out(round)) continue;
    EXPECT_TRUE(round.right() && !round.verdict->time_ns && !round.beside);
    EXPECT_GT(lap_of(round), lap_of(*result.work.best())) << round.left_out;
  }
  // What goes on from the record knows as much, and a tape leaves out what it left out.
  options_.decisions = nullptr;
  options_.before = rounds;
  options_.rounds = 0;
  EXPECT_NE(run().surrogate.find(fmt::format("{} kernels left out", skipped)), std::string::npos);
  options_.before.clear();
  options_.rounds = kRounds;
  play(1.5);
  auto playing = *Decisions::to_replay(tape.path());
  options_.decisions = playing.get();
  const SessionResult again = run();
  ASSERT_EQ(again.work.rounds.size(), rounds.size());
  for (std::size_t i = 0; i < rounds.size(); ++i)
    EXPECT_EQ(again.work.rounds[i].left_out, rounds[i].left_out) << "round " << i;
}

// As it was seen: every kernel of DepthToSpace was of the kind "0 bits".
TEST_F(ASession, TellsKernelsThatMoveVectorsFromThoseThatMoveElements) {
  script() = {kernel("lap_ns 5000\nmoves 512"), kernel("lap_ns 4000"), kernel("lap_ns 3000\nwidth 256")};
  const std::vector<Round>& rounds = run().work.rounds;
  EXPECT_TRUE(rounds[1].niche.starts_with("512 bits")) << rounds[1].niche;
  EXPECT_TRUE(rounds[2].niche.starts_with("0 bits")) << rounds[2].niche;
  EXPECT_TRUE(rounds[3].niche.starts_with("256 bits")) << rounds[3].niche;
}

TEST_F(ASession, MayBeginWithNothing) {
  options_.start = {};
  options_.rounds = 1;
  script() = {kernel("lap_ns 5000")};
  const SessionResult result = run();
  ASSERT_EQ(result.work.rounds.size(), 1u);
  EXPECT_EQ(result.work.rounds[0].role, RoundRole::accelerator) << "no start is judged";
  EXPECT_NE(result.work.facts.at("hints"), "");
  EXPECT_NE(result.work.facts.at("exemplar"), "");
  EXPECT_NE(result.work.facts.at("exemplar_task"), "Relu");
}

TEST_F(ASession, EndsWhenARoundCannotBeRecorded) {
  script() = {kernel("lap_ns 5000")};
  const auto result = run_session(judge_, task_, graph_, client_, prompts_, options_,
                                  [](const Round&, const judge::Case&, double) -> Status { return fail("disk full"); });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "disk full");
}

TEST_F(ASession, TellsAPromptHowFarFromTheLeastTimeAKernelIs) {
  options_.author = scripted(false);
  options_.rounds = 1;
  script() = {kernel("lap_ns 5000")};
  const SessionResult result = run();
  ASSERT_EQ(result.work.rounds.size(), 1u);
  EXPECT_NE(result.work.rounds[0].performance.find("time: "), std::string::npos) << result.work.rounds[0].performance;
}

}  // namespace
}  // namespace kw::agents
