// What an author says of earlier tries, with a model that is made up.
#include "agents/author.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "llm/providers.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

std::string& last_question() {
  static std::string text;
  return text;
}
llm::Answer no_kernel(const llm::Endpoint&, const llm::Request& request, const std::stop_token&) {
  last_question() = request.messages.front().text;
  llm::Answer answer;
  answer.text = "no";
  return answer;
}

// "That was not tried from here before": so it is told what was.
TEST(AskToVary, TellsWhatWasChangedBeforeAndWhatCameOfIt) {
  const llm::Provider provider{.name = "made_up", .ask = no_kernel};
  llm::Client client = *llm::Client::open({.provider = &provider, .model = "vary"});
  const Prompts prompts = *Prompts::open();
  const Task task = *suites::find_task("Relu", {});
  Work work;
  work.task = &task;
  const auto add = [&](int parent, const std::string& source, std::optional<Comparison> beside) {
    Round round{.number = static_cast<int>(work.rounds.size()), .parent = parent, .source = source};
    round.verdict = Verdict{.task = "Relu", .stage = VerdictStage::accepted};
    round.beside = beside;
    round.niche = parent < 0 ? "" : "512 bits";
    work.rounds.push_back(round);
  };
  add(-1, "KW_KERNEL(call) {\n  one();\n  two();\n}\n", {});
  add(0, "KW_KERNEL(call) {\n    one();\n  unrolled();\n}\n", Comparison{0, 1.3, 1.2, 1.4, true});
  add(1, "KW_KERNEL(call) {\n  other();\n}\n", {});
  Talk talk(client, prompts, {.task = "Relu"}, {});
  ask_to_vary(work, work.rounds[0], nullptr, "Change one thing.", talk);
  const std::string& asked = last_question();
  EXPECT_NE(asked.find("1.300 [1.200, 1.400] times as fast as round 0, timed side by side: faster (512 bits)\n    + "
                       "unrolled();\n    - two();\n"),
            std::string::npos)
      << asked;
  EXPECT_EQ(asked.find("other();"), std::string::npos) << "not a change of this kernel";
  EXPECT_EQ(asked.find("+ one();"), std::string::npos) << "blanks are no change";
  // Of a kernel to take from it is told how fast it is beside the one to change.
  work.rounds[0].standing = 2;
  work.rounds[1].standing = 3;
  work.rounds[1].niche = "512 bits, 3 deep";
  ask_to_vary(work, work.rounds[0], &work.rounds[1], "Combine the two.", talk);
  EXPECT_NE(last_question().find("It is 1.50 times as fast as the kernel to change; kind: 512 bits, 3 deep."),
            std::string::npos)
      << last_question();
}

// As it was seen: the same question twice brings the same kernel twice.
TEST(Evolve, ShowsTheFirstKernelToTheSecondThatIsWrittenFromNothing) {
  const llm::Provider provider{.name = "made_up", .ask = no_kernel};
  llm::Client client = *llm::Client::open({.provider = &provider, .model = "seeds"});
  const Prompts prompts = *Prompts::open();
  const Task task = *suites::find_task("Relu", {});
  Work work;
  work.task = &task;
  Talk talk(client, prompts, {.task = "Relu"}, {});
  const std::string mark = "# A kernel that is there already: write one that goes about it in another way";
  const auto next = [&] {
    (void)find_author("evolve")->make()->next(work, talk);
    return last_question();
  };
  EXPECT_EQ(next().find(mark), std::string::npos);
  Round first{.role = RoundRole::coder, .source = "KW_KERNEL(call) {\n  one();\n}\n"};
  first.verdict = Verdict{.task = "Relu", .stage = VerdictStage::accepted};
  first.standing = 1;
  work.rounds.push_back(first);
  const std::string second = next();
  EXPECT_NE(second.find(mark + "\n```cpp\nKW_KERNEL(call) {\n  one();"), std::string::npos) << second;
}

// As it was seen: the first kernel was changed six times before a change of a change was thought of.
TEST(Tree, GoesOnFromAChangeThatHelped) {
  const llm::Provider provider{.name = "made_up", .ask = no_kernel};
  llm::Client client = *llm::Client::open({.provider = &provider, .model = "tree"});
  const Prompts prompts = *Prompts::open();
  const Task task = *suites::find_task("Relu", {});
  Work work;
  work.task = &task;
  const auto add = [&](int parent, std::optional<Comparison> beside) {
    Round round{.number = static_cast<int>(work.rounds.size()), .parent = parent, .source = "KW_KERNEL"};
    round.verdict = Verdict{.task = "Relu", .stage = VerdictStage::accepted};
    round.beside = beside;
    take_standing(round, work);
    work.rounds.push_back(round);
  };
  Talk talk(client, prompts, {.task = "Relu"}, {});
  const auto next = [&] { return find_author("tree")->make()->next(work, talk).parent; };
  add(-1, {});
  EXPECT_EQ(next(), 0);
  add(0, Comparison{0, 1.8, 1.7, 1.9, true});
  EXPECT_EQ(next(), 1);
  add(1, Comparison{1, 0.9, 0.8, 0.95, true});
  EXPECT_EQ(next(), 1) << "what made it slower is left behind";
  // Without a better one each change begins with the first kernel.
  work.rounds.resize(1);
  add(0, Comparison{0, 0.9, 0.8, 0.95, true});
  EXPECT_EQ(next(), 0);
}

TEST(AskToMend, ShowsWhereTheRepositoryDefinesWhatIsMissing) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "exp.h", "inline float exp_of(float x) {\n  return x + 41;\n}\n").ok());
  const inspect::Repository repository = *inspect::Repository::open(folder.path());
  const llm::Provider provider{.name = "made_up", .ask = no_kernel};
  llm::Client client = *llm::Client::open({.provider = &provider, .model = "mend"});
  const Prompts prompts = *Prompts::open();
  Round round{.source = "exp_of(1);"};
  round.verdict = Verdict{.task = "Relu", .stage = VerdictStage::build, .reason = {ReasonCode::does_not_compile, {}}};
  round.verdict->errors.push_back({"kernel.cpp", 1, "'exp_of' was not declared in this scope", ""});
  Talk talk(client, prompts, {.task = "Relu", .repository = &repository}, {});
  EXPECT_FALSE(ask_to_mend(round, Work(), talk));
  EXPECT_NE(
      last_question().find("# What the repository has for the names and places in the errors\nexp.h\n    1 inline"),
      std::string::npos)
      << last_question();
}

}  // namespace
}  // namespace kw::agents
