// A tape that is played again on a day on which the judge finds otherwise: a model and a device that are made up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>

#include "agents/session.h"
#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "llm/providers.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

std::deque<std::string>& said() {
  static std::deque<std::string> answers;
  return answers;
}
llm::Answer next_of_script(const llm::Endpoint&, const llm::Request&, const std::stop_token&) {
  if (said().empty()) return llm::troubled(llm::Trouble::Kind::program, "the script is over");
  llm::Answer answer;
  answer.text = said().front();
  said().pop_front();
  return answer;
}
const llm::Provider kScript{.name = "made_up", .ask = next_of_script};

std::string method(const std::string& name) {
  return Json{{"reflection", "r"}, {"bottleneck", "b"}, {"method", name}, {"plan", "p"}}.dump();
}
const std::string kRepairAgain = Json{{"reflection", "r"}, {"cause", "c"}, {"reach", "local"}, {"plan", "p"}}.dump();
std::string code(const std::string& lines) { return "```cpp\nKW_KERNEL 1\n" + lines + "\n```\n"; }

class AReplay : public testing::Test {
 protected:
  AReplay() : judge_(*judge::Judge::open("made_up")), prompts_(*Prompts::open()) {
    task_ = *suites::find_task("Relu", {});
    for (auto& [name, value] : task_.lengths) value = 8;
    graph_ = *ops::resolve(task_);
  }

  SessionResult play(llm::ClientOptions client_options, Decisions& decisions) {
    llm::Client client = *llm::Client::open({.provider = &kScript, .model = "replay"}, std::move(client_options));
    SessionOptions options{.author = *find_author("moka"), .rounds = 4};
    options.rules.device = "made_up";
    options.rules.budget_s = 0.05;
    options.decisions = &decisions;
    auto result = run_session(judge_, task_, graph_, client, prompts_, options,
                              [](const Round&, const judge::Case&, double) { return Status(); });
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return *std::move(result);
  }

  // As if compilers, secret inputs or clocks were others: kernels say the contrary of what they said.
  void turn_answers(const std::vector<std::pair<std::string, std::string>>& words) const {
    for (const auto& entry : std::filesystem::directory_iterator(tape_.path())) {
      if (entry.path().extension() != ".json") continue;
      std::string text = *read_file(entry.path());
      for (const auto& [from, to] : words) {
        for (std::size_t at = 0; (at = text.find("\"" + from + "\"", at)) != std::string::npos; at += to.size())
          text.replace(at, from.size() + 2, "\"" + to + "\"");
      }
      ASSERT_TRUE(write_file(entry.path(), text).ok());
    }
  }

  static std::vector<std::string> story_of(const SessionResult& result) {
    std::vector<std::string> story;
    for (const Round& round : result.work.rounds) {
      story.push_back(fmt::format("{} {} from {}: {}, {} mended, {}", round.number, name_of(round.role), round.parent,
                                  round.right(), round.mended.size(),
                                  round.beside ? fmt::format("{:.6f}", round.beside->median) : "alone"));
    }
    return story;
  }

  const ScratchFolder tape_;
  judge::Judge judge_;
  const Prompts prompts_;
  Task task_;
  ops::Graph graph_;
};

TEST_F(AReplay, GoesTheTapesWayWhateverTheJudgeFindsNow) {
  said() = {code("lap_ns 9000\nfirst 1"),  // round 0: right
            method("wide"),
            code("lap_ns 5000\nwrong"),  // round 1: wrong
            kRepairAgain,
            code("lap_ns 4000\nsecond 1"),  // round 2: right and faster
            method("packed"),
            code("lap_ns 3000\ndoes_not_build"),  // round 3: does not build, is repaired
            code("lap_ns 2000\nthird 1")};
  auto recording = *Decisions::to_record(tape_.path());
  const SessionResult first = play({.record = tape_.path()}, *recording);
  ASSERT_EQ(first.work.rounds.size(), 4u);
  EXPECT_TRUE(said().empty());
  EXPECT_FALSE(first.work.rounds[1].right());
  EXPECT_EQ(first.work.rounds[3].mended.size(), 1u);
  EXPECT_EQ(first.work.best()->number, 3);
  EXPECT_EQ(first.replay, "");

  const auto same = *Decisions::to_replay(tape_.path());
  const SessionResult again = play({.replay = tape_.path()}, *same);
  EXPECT_EQ(story_of(again), story_of(first));
  EXPECT_EQ(again.replay, "4 of 4 kernels judged as on the tape");

  // Today the wrong one is right, the second is wrong, what did not build builds, and the last one is slow.
  turn_answers(
      {{"wrong", "fine"}, {"second 1", "wrong"}, {"does_not_build", "builds 1"}, {"lap_ns 2000", "lap_ns 20000"}});
  const auto other = *Decisions::to_replay(tape_.path());
  const SessionResult turned = play({.replay = tape_.path()}, *other);
  EXPECT_EQ(story_of(turned), story_of(first));
  EXPECT_EQ(turned.over, "") << "the tape has an answer to each question";
  EXPECT_EQ(turned.work.best()->number, 3);
  EXPECT_EQ(turned.replay,
            "2 of 4 kernels judged as on the tape; round 1: verify on the tape, accepted now, round 2: accepted on the "
            "tape, verify now");
  // What is found now is told beside.
  const Round& slow = turned.work.rounds[3];
  EXPECT_TRUE(slow.beside->faster());
  EXPECT_TRUE(slow.verdict->accepted());
  EXPECT_FALSE(turned.work.rounds[1].beside) << "it was not right when the tape was made";
  EXPECT_NE(history_text(turned.work).find("rejected at verify: when the tape was made"), std::string::npos)
      << history_text(turned.work);
}

// Tapes from before verdicts were kept go by those of now.
TEST_F(AReplay, OfATapeWithoutVerdictsGoesByThoseOfNow) {
  said() = {code("lap_ns 9000"), method("wide"), code("lap_ns 5000")};
  auto recording = *Decisions::to_record(tape_.path());
  play({.record = tape_.path()}, *recording);
  ASSERT_TRUE(write_file(tape_.path() / "rounds.jsonl", R"({"task": "Relu", "round": 0})"
                                                        "\n")
                  .ok());
  const auto playing = *Decisions::to_replay(tape_.path());
  const SessionResult again = play({.replay = tape_.path()}, *playing);
  EXPECT_EQ(again.work.best()->number, 1);
  EXPECT_EQ(again.replay, "");
}

}  // namespace
}  // namespace kw::agents
