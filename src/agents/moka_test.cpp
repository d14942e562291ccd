// What MoKA does next, from rounds that are made up and with a model that is made up: nothing is built or judged.
#include <gtest/gtest.h>

#include <deque>

#include "agents/author.h"
#include "base/json.h"
#include "llm/providers.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

// What the model says, one an answer, and what it was asked.
std::deque<std::string>& answers() {
  static std::deque<std::string> all;
  return all;
}
std::vector<llm::Request>& asked() {
  static std::vector<llm::Request> all;
  return all;
}
llm::Answer next_answer(const llm::Endpoint&, const llm::Request& request, const std::stop_token&) {
  asked().push_back(request);
  if (answers().empty()) return llm::troubled(llm::Trouble::Kind::program, "the script is over");
  llm::Answer answer;
  answer.text = answers().front();
  answers().pop_front();
  return answer;
}
const llm::Provider kScripted{.name = "made_up", .ask = next_answer};

std::string plan(const std::string& method) {
  return Json{{"reflection", "r"}, {"bottleneck", "b"}, {"method", method}, {"plan", "p"}}.dump();
}
const std::string kRepair = Json{{"reflection", "r"}, {"cause", "c"}, {"reach", "local"}, {"plan", "p"}}.dump();
const std::string kCode = "```cpp\n#include <kernelwright.h>\nKW_KERNEL(call) {}\n```\n";

class Moka : public testing::Test {
 protected:
  Moka() : client_(*llm::Client::open({.provider = &kScripted, .model = "moka"})), prompts_(*Prompts::open()) {
    task_ = *suites::find_task("Relu", {});
    work_.task = &task_;
    answers().clear();
    asked().clear();
  }

  // A round of the past; `beside`: how it did beside the incumbent of its time, if it was right and not the first.
  Round& add(Round round, bool right, std::optional<Comparison> beside = {}) {
    round.number = static_cast<int>(work_.rounds.size());
    round.source = "kernel " + std::to_string(round.number);
    round.verdict = Verdict{.task = "Relu", .stage = right ? VerdictStage::accepted : VerdictStage::verify};
    if (!right) round.verdict->reason = {ReasonCode::bad_source, {{"text", "wrong"}}};
    round.beside = beside;
    take_standing(round, work_);
    return work_.rounds.emplace_back(std::move(round));
  }
  static Comparison faster(int with) { return {with, 1.2, 1.1, 1.3, true}; }
  static Comparison same(int with) { return {with, 0.99, 0.95, 1.04, false}; }
  static Round planned(int parent, const std::string& method) {
    return {.parent = parent, .role = RoundRole::accelerator, .plan = {{"method", method}}};
  }

  Round next(std::deque<std::string> said) {
    answers() = std::move(said);
    Talk talk(client_, prompts_, {.task = "Relu"}, {});
    return find_author("moka")->make()->next(work_, talk);
  }

  llm::Client client_;
  Prompts prompts_;
  Task task_;
  Work work_;
};

TEST_F(Moka, BeginsWithTheBestAndNotWithTheLast) {
  add({}, true);
  add(planned(0, "vectors"), true, faster(0));
  add(planned(1, "prefetch"), true, Comparison{1, 0.5, 0.4, 0.6, true});
  const Round round = next({plan("blocks"), kCode});
  EXPECT_EQ(round.parent, 1);
  EXPECT_EQ(round.role, RoundRole::accelerator);
  EXPECT_EQ(round.plan.at("method"), "blocks");
  EXPECT_NE(asked()[0].messages[0].text.find("kernel 1"), std::string::npos);
  EXPECT_EQ(work_.rounds.back().reflection, "r") << "what the last round taught";
}

TEST_F(Moka, RepairsAKernelTwiceAndThenLeavesIt) {
  add({}, true);
  add(planned(0, "vectors"), false);
  EXPECT_EQ(next({kRepair, kCode}).parent, 1);
  add({.parent = 1, .role = RoundRole::debugger}, false);
  const Round second = next({kRepair, kCode});
  EXPECT_EQ(second.parent, 2);
  EXPECT_EQ(second.role, RoundRole::debugger);
  add({.parent = 2, .role = RoundRole::debugger}, false);
  const Round third = next({plan("vectors"), kCode});
  EXPECT_EQ(third.parent, 0);
  EXPECT_EQ(third.role, RoundRole::accelerator);
  EXPECT_EQ(third.plan.at("method"), "vectors") << "what never came to a right kernel has not been tried";
  EXPECT_TRUE(third.mended.empty());
}

TEST_F(Moka, StrikesOutWhatWasCarriedOutRightAndDidNotHelp) {
  add({}, true);
  add(planned(0, "Vectors of eight"), true, same(0));
  const Round round = next({plan("vectors, of EIGHT!"), plan("blocks"), kCode});
  EXPECT_EQ(round.plan.at("method"), "blocks");
  ASSERT_EQ(round.mended.size(), 1u) << "asked again within the round";
  EXPECT_NE(round.mended[0].find("did not help"), std::string::npos) << round.mended[0];
  // What may have helped is open.
  work_.rounds.clear();
  add({}, true);
  add(planned(0, "vectors"), true, Comparison{0, 1.27, 1.15, 1.41, false});
  EXPECT_TRUE(next({plan("vectors"), kCode}).mended.empty());
  work_.rounds.back().beside = Comparison{0, 1.46, 0.76, 1.52, false};
  EXPECT_TRUE(next({plan("vectors"), kCode}).mended.empty());
  // The tuner made something of it: then it did help.
  work_.rounds.clear();
  add({}, true);
  add(planned(0, "vectors"), true, same(0));
  add({.parent = 1, .role = RoundRole::tuner}, true, faster(0));
  EXPECT_TRUE(next({plan("vectors"), kCode}).mended.empty());
}

TEST_F(Moka, TellsThePlannerTheRivalsTimesAndTheLargestErrorInEachRound) {
  work_.facts["rivals"] = "mnn 2.9: 12 us a call without what calling it costs\n";
  add({}, true).performance = "largest error: 0.31 of what is allowed\n";
  next({plan("blocks"), kCode});
  ASSERT_EQ(asked().size(), 2u);
  for (const char* fact : {"mnn 2.9: 12 us", "largest error: 0.31"})
    EXPECT_NE(asked()[0].messages[0].text.find(fact), std::string::npos) << fact;
  EXPECT_NE(asked()[1].messages[0].text.find("largest error: 0.31"), std::string::npos) << "the Coder too";
}

// As it was seen: a round was lost for a method of 140 characters.
TEST_F(Moka, TakesAMethodInAFewSentences) {
  add({}, true);
  const std::string method(140, 'm');
  const Round round = next({plan(method), kCode});
  EXPECT_EQ(round.plan.at("method"), method);
  EXPECT_TRUE(round.mended.empty());
}

TEST_F(Moka, AsksAgainWithinTheRoundForAnEditThatDoesNotFit) {
  add({}, true);
  const std::string edit = "<<<<<<< SEARCH\nkernel 7\n=======\nx\n>>>>>>> REPLACE\n";
  const Round round = next({plan("blocks"), edit, kCode});
  EXPECT_EQ(round.problem, "");
  ASSERT_EQ(round.mended.size(), 1u);
  ASSERT_EQ(asked().size(), 3u);
  EXPECT_NE(asked()[2].messages.back().text.find("   1 kernel 0"), std::string::npos)
      << "the nearest lines: " << asked()[2].messages.back().text;
}

TEST_F(Moka, BranchesFromAnotherKernelWhenTheBestLeadsNowhere) {
  add({}, true);
  add(planned(0, "a"), true, faster(0));
  add(planned(1, "b"), true, Comparison{1, 0.8, 0.7, 0.9, true});
  add(planned(1, "c"), true, Comparison{1, 0.95, 0.94, 0.96, true});
  EXPECT_EQ(next({plan("d"), kCode}).parent, 1) << "patience";
  add(planned(1, "d"), true, Comparison{1, 0.7, 0.6, 0.8, true});
  EXPECT_EQ(next({plan("e"), kCode}).parent, 3) << "the next best";
  EXPECT_NE(asked()[asked().size() - 2].messages[0].text.find(
                "# The kernel to make faster: round 3, another right one, for the best led nowhere"),
            std::string::npos)
      << "as it was seen: it was called the best";
}

TEST_F(Moka, AsksAgainForAPlanThatIsNoneAndThenGivesUp) {
  add({}, true);
  const Round round = next({"vectors, I think", "no", "never"});
  EXPECT_EQ(round.mended.size(), 2u);
  EXPECT_EQ(round.problem.rfind("no plan: ", 0), 0u) << round.problem;
}

TEST_F(Moka, WritesTheFirstKernelFromTheTaskAlone) {
  const Round round = next({kCode});
  EXPECT_EQ(round.role, RoundRole::coder);
  EXPECT_EQ(round.parent, -1);
  EXPECT_NE(round.source.find("KW_KERNEL"), std::string::npos);
}

}  // namespace
}  // namespace kw::agents
