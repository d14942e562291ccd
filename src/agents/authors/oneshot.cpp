// One question, one answer: what a model can do alone.
#include "agents/answer.h"
#include "agents/author.h"

namespace kw::agents::authors {
namespace {

class OneShot : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    Round round{.role = "coder"};
    Facts facts = work.facts;
    facts["kernel"] = work.plain;
    const auto answer = talk.ask({{models::Role::user, talk.prompts().text("oneshot", facts)}}, round.problem);
    if (!answer) return round;
    Code code = code_in(*answer, work.plain);
    round.source = std::move(code.source);
    round.problem = std::move(code.problem);
    round.edits = code.edits;
    return round;
  }
};

}  // namespace

AuthorKind oneshot() {
  return {.name = "oneshot", .about = "one question, one answer", .usual_rounds = 1, .make = [] {
            return std::unique_ptr<Author>(new OneShot);
          }};
}

}  // namespace kw::agents::authors
