// One conversation: each answer is judged, and the model hears what the judge said.
#include "agents/author.h"

namespace kw::agents::authors {
namespace {

constexpr std::size_t kMostMessages = 9;  // the question, and the last four answers with what was said of them

class Refine : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    Round round{.parent = work.rounds.empty() ? -1 : work.rounds.back().number, .role = RoundRole::coder};
    if (messages_.empty()) {
      messages_.push_back({llm::Role::user, first_question(work, talk)});
      recall(work, talk);
    }
    if (!work.rounds.empty() && messages_.back().role == llm::Role::assistant) {
      Facts facts = work.facts;
      facts["verdict"] = verdict_text(work.rounds.back());
      cite_repository(facts, work.rounds.back(), talk);
      messages_.push_back({llm::Role::user, talk.prompts().text("refine", facts)});
    }
    while (messages_.size() > kMostMessages) messages_.erase(messages_.begin() + 1, messages_.begin() + 3);
    const auto answer = talk.ask(messages_, round.problem);
    if (!answer) return round;
    messages_.push_back({llm::Role::assistant, *answer});
    take_code(round, *answer, work.rounds.empty() ? work.start : work.rounds.back().source);
    return round;
  }

 private:
  // A conversation that another program began, as far as the rounds tell of it: their kernels and what was said of
  // them.
  void recall(const Work& work, Talk& talk) {
    for (const Round& round : work.rounds) {
      if (round.role != RoundRole::coder || round.source.empty()) continue;
      messages_.push_back({llm::Role::assistant, "```cpp\n" + round.source + "\n```\n"});
      if (&round == &work.rounds.back()) break;  // what is said of the last one comes with the next question
      Facts facts = work.facts;
      facts["verdict"] = verdict_text(round);
      messages_.push_back({llm::Role::user, talk.prompts().text("refine", facts)});
    }
  }

  std::vector<llm::Message> messages_;
};

}  // namespace

AuthorKind refine() {
  return {
      .name = "refine", .about = "one conversation with the judge's words as feedback", .usual_rounds = 10, .make = [] {
        return std::unique_ptr<Author>(new Refine);
      }};
}

}  // namespace kw::agents::authors
