// The same question k times, at a temperature that lets answers differ: the best of k samples.
#include "agents/answer.h"
#include "agents/author.h"

namespace kw::agents::authors {
namespace {

constexpr double kTemperature = 0.8;

class PassK : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    Round round{.role = "coder"};
    Facts facts = work.facts;
    facts["kernel"] = work.plain;
    const auto answer =
        talk.ask({{models::Role::user, talk.prompts().text("oneshot", facts)}}, round.problem, kTemperature);
    if (!answer) return round;
    Code code = code_in(*answer, work.plain);
    round.source = std::move(code.source);
    round.problem = std::move(code.problem);
    round.edits = code.edits;
    return round;
  }
};

}  // namespace

AuthorKind passk() {
  return {
      .name = "passk", .about = "the same question k times, the best answer counts", .usual_rounds = 10, .make = [] {
        return std::unique_ptr<Author>(new PassK);
      }};
}

}  // namespace kw::agents::authors
