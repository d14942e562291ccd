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
  EXPECT_NE(asked.find("- faster (512 bits)\n    + unrolled();\n    - two();\n"), std::string::npos) << asked;
  EXPECT_EQ(asked.find("other();"), std::string::npos) << "not a change of this kernel";
  EXPECT_EQ(asked.find("+ one();"), std::string::npos) << "blanks are no change";
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
