// The author dice with a model that follows a script, on a device that is made up (tests/targets/made_up).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "agents/session.h"
#include "llm/providers.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

std::deque<std::string>& dice_script() {
  static std::deque<std::string> answers;
  return answers;
}
std::vector<std::string>& dice_asked() {
  static std::vector<std::string> prompts;
  return prompts;
}

llm::Answer dice_answer(const llm::Endpoint&, const llm::Request& request, const std::stop_token&) {
  dice_asked().push_back(request.messages.front().text);
  llm::Answer answer;
  answer.text = dice_script().empty() ? "I have nothing to say." : dice_script().front();
  if (!dice_script().empty()) dice_script().pop_front();
  return answer;
}

std::string fenced(const std::string& text) { return "```cpp\n" + text + "```\n"; }
std::string made_up_kernel(const std::string& body) {
  return "#include <kernelwright.h>\nKW_KERNEL(call) {\n" + body + "\n}\n";
}

class ADiceSession : public testing::Test {
 protected:
  std::vector<Round> play(std::deque<std::string> answers, int rounds, const std::string& provider_name = "made_up") {
    dice_script() = std::move(answers);
    dice_asked().clear();
    const llm::Provider provider{.name = provider_name, .ask = dice_answer};
    judge::Judge judge = *judge::Judge::open("made_up");
    llm::Client client = *llm::Client::open({.provider = &provider, .model = "script"});
    const Prompts prompts = *Prompts::open();
    Task task = *suites::find_task("Relu");
    for (auto& [name, value] : task.lengths) value = 8;
    const ops::Graph graph = *ops::resolve(task);
    SessionOptions options{.author = *find_author("dice"), .rounds = rounds};
    options.rules.device = "made_up";
    options.rules.budget_s = 0.05;
    auto result = run_session(judge, task, graph, client, prompts, options,
                              [](const Round&, const judge::Case&, double) -> Status { return {}; });
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return std::move(result->work.rounds);
  }
};

TEST_F(ADiceSession, SamplesTwiceThenRepairsTheFunctionThatFails) {
  const std::vector<Round> rounds =
      play({fenced(made_up_kernel("does_not_build")), fenced(made_up_kernel("wrong")), fenced("lap_ns 5000;\n")}, 3);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[0].role, RoundRole::coder);
  EXPECT_EQ(rounds[1].role, RoundRole::coder);
  EXPECT_EQ(rounds[2].role, RoundRole::debugger);
  EXPECT_EQ(rounds[2].parent, 1) << "what came further is repaired";
  EXPECT_TRUE(rounds[2].right()) << verdict_text(rounds[2]);
  EXPECT_EQ(rounds[2].source, "#include <kernelwright.h>\nKW_KERNEL(call) {lap_ns 5000;\n}\n")
      << "all around the hole survives byte for byte";
  EXPECT_NE(dice_asked()[2].find("KW_KERNEL(call) {/* HOLE */}"), std::string::npos) << dice_asked()[2];
  EXPECT_NE(dice_asked()[2].find("# The part as it was\n```cpp\n\nwrong\n"), std::string::npos) << dice_asked()[2];
}

TEST_F(ADiceSession, WritesTheSlowLoopOfTheBestAnew) {
  const std::string loops = "one 1\nfor (;;) {\nfor (;;) {\nlap_ns 5000\n}\n}\nfor (;;) { two; }";
  const std::vector<Round> rounds =
      play({fenced(made_up_kernel(loops)), fenced(made_up_kernel("lap_ns 9000")), fenced("lap_ns 2000\n")}, 3);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[2].role, RoundRole::accelerator);
  EXPECT_EQ(rounds[2].parent, 0);
  EXPECT_NE(rounds[2].plan.at("method").find("loop"), std::string::npos);
  EXPECT_EQ(rounds[2].source, made_up_kernel("one 1\nlap_ns 2000\n\nfor (;;) { two; }")) << "the deepest nest";
  EXPECT_TRUE(rounds[2].beside && rounds[2].beside->faster());
}

// As it was seen: the deepest loop was one that no call of the task's own shape runs.
TEST_F(ADiceSession, WritesTheLoopAnewThatTakesMostOfACall) {
  const std::string loops = "lap_ns 5000\nhot_line 10\nfor (;;) {\nfor (;;) {\ncold 1\n}\n}\nfor (;;) { two; }";
  const std::vector<Round> rounds =
      play({fenced(made_up_kernel(loops)), fenced(made_up_kernel("lap_ns 9000")), fenced("three 3\n")}, 3);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[0].hot.first, 10);
  EXPECT_EQ(rounds[2].plan.at("method").substr(rounds[2].plan.at("method").rfind("lines")), "lines 10 to 10");
}

TEST_F(ADiceSession, TakesNothingThatReachesOutOfItsHole) {
  const std::vector<Round> rounds =
      play({fenced(made_up_kernel("wrong")), fenced(made_up_kernel("wrong 2")), fenced("lap_ns 1\n}\n/*\n")}, 3);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_FALSE(rounds[2].verdict);
  EXPECT_NE(rounds[2].problem.find("not confined to its hole"), std::string::npos) << rounds[2].problem;
}

TEST_F(ADiceSession, AsksForNoHoleTwice) {
  const std::string wrong = fenced("\nwrong 3\n");
  const std::vector<Round> rounds = play({fenced(made_up_kernel("wrong")), fenced(made_up_kernel("wrong 2")), wrong,
                                          fenced(made_up_kernel("wrong 4")), fenced(made_up_kernel("wrong 5")), wrong},
                                         6);
  ASSERT_EQ(rounds.size(), 6u);
  EXPECT_EQ(rounds[2].role, RoundRole::debugger);
  EXPECT_EQ(rounds[5].role, RoundRole::debugger);
  EXPECT_NE(rounds[2].parent, rounds[5].parent);
}

TEST_F(ADiceSession, AsksModelsOfOurOwnAsTheCorpusDoes) {
  play({made_up_kernel("lap_ns 5000")}, 1, "lm");
  ASSERT_EQ(dice_asked().size(), 1u);
  EXPECT_TRUE(dice_asked()[0].starts_with("Write a kernel for made_up")) << dice_asked()[0];
  EXPECT_EQ(dice_asked()[0].find("KW_TUNE"), std::string::npos) << "no contract: the model knows it";
  const std::vector<Round> other = play({made_up_kernel("lap_ns 5000")}, 1);
  EXPECT_NE(dice_asked()[0].find("KW_TUNE"), std::string::npos);
  EXPECT_TRUE(other[0].right()) << "a kernel without a fence is one too";
}

}  // namespace
}  // namespace kw::agents
