#include "agents/infill.h"

#include <fmt/format.h>

#include "agents/answer.h"

namespace kw::agents {
namespace {

bool knows_the_form(const Talk& talk) { return talk.model().starts_with("lm:"); }

}  // namespace

Round ask_for_sample(const Work& work, Talk& talk, std::optional<double> temperature) {
  Round round{.role = RoundRole::coder};
  const std::string question =
      knows_the_form(talk) ? work.facts.at("prompt") : talk.prompts().text("sample", work.facts);
  const auto answer = talk.ask({{llm::Role::user, question}}, round.problem, temperature);
  if (answer) take_code(round, *answer, "");
  return round;
}

Round ask_to_fill(const Work& work, const Round& base, const corpus::Hole& hole, const std::string& wish, Talk& talk,
                  std::optional<double> temperature) {
  Round round{.parent = base.number,
              .role = base.right() ? RoundRole::accelerator : RoundRole::debugger,
              .plan = {{"method", fmt::format("fill in the {} of {} anew, lines {} to {}", name_of(hole.kind),
                                              hole.name, hole.first_line, hole.last_line)}}};
  const std::string prefix = hole.prefix(base.source), suffix = hole.suffix(base.source);
  Facts facts = work.facts;
  facts["prefix"] = prefix;
  facts["suffix"] = suffix;
  facts["hole"] = hole.middle(base.source);
  facts["verdict"] = verdict_text(base);
  facts["wish"] = wish;
  const auto answer = talk.ask({{llm::Role::user, talk.prompts().text("infill", facts)}}, round.problem, temperature);
  if (!answer) return round;
  const Code part = part_in(*answer);
  if (!part.problem.empty()) {
    round.problem = part.problem;
    return round;
  }
  const auto whole = corpus::filled(prefix, part.source, suffix);
  if (whole.ok()) {
    round.source = *whole;
    round.edits = 1;
  } else {
    round.problem = whole.error().message;
  }
  return round;
}

}  // namespace kw::agents
