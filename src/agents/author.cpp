#include "agents/author.h"

#include <algorithm>

#include "agents/answer.h"
#include "base/nearest.h"

namespace kw::agents {
namespace {

std::string first_line(const std::string& text, std::size_t most) {
  std::string line = text.substr(0, text.find('\n'));
  return line.size() > most ? line.substr(0, most) + "..." : line;
}

}  // namespace

std::string_view name_of(RoundRole role) {
  switch (role) {
    case RoundRole::start:
      return "start";
    case RoundRole::coder:
      return "coder";
    case RoundRole::debugger:
      return "debugger";
    case RoundRole::accelerator:
      return "accelerator";
    case RoundRole::tuner:
      return "tuner";
    case RoundRole::confirm:
      return "confirm";
  }
  return "";
}

std::optional<RoundRole> role_named(std::string_view name) {
  for (const RoundRole role : {RoundRole::start, RoundRole::coder, RoundRole::debugger, RoundRole::accelerator,
                               RoundRole::tuner, RoundRole::confirm}) {
    if (name_of(role) == name) return role;
  }
  return std::nullopt;
}

double Round::speed() const {
  if (!right() || verdict->speedups.empty()) return right() ? 1e-9 : 0;
  for (const Speedup& one : verdict->speedups) {
    if (one.rival == "plain") return one.median;
  }
  return verdict->speedups.front().median;
}

const Round* Work::best() const {
  const Round* best = nullptr;
  for (const Round& round : rounds) {
    if (round.right() && (best == nullptr || round.speed() > best->speed())) best = &round;
  }
  return best;
}

std::optional<std::string> Talk::ask(std::vector<llm::Message> messages, std::string& problem,
                                     std::optional<double> temperature) {
  const llm::Answer answer = client_.ask({.messages = std::move(messages), .temperature = temperature}, stop_);
  if (answer.trouble) {
    problem = "the model: " + answer.trouble->message;
    troubles_.push_back(answer.trouble->message);
    if (answer.trouble->ends_the_run()) over_ = answer.trouble->message;
    using Kind = llm::Trouble::Kind;
    const Kind kind = answer.trouble->kind;
    hopeless_ = kind == Kind::budget || kind == Kind::key || kind == Kind::unreachable;
    return std::nullopt;
  }
  return answer.text;
}

void take_code(Round& round, const std::string& answer, const std::string& base) {
  Code code = code_in(answer, base);
  round.source = std::move(code.source);
  round.problem = std::move(code.problem);
  round.edits = code.edits;
}

Round ask_for_kernel(const Work& work, Talk& talk, std::optional<double> temperature) {
  Round round{.role = RoundRole::coder};
  Facts facts = work.facts;
  facts["kernel"] = work.start;
  const auto answer = talk.ask({{llm::Role::user, talk.prompts().text("oneshot", facts)}}, round.problem, temperature);
  if (!answer) return round;
  take_code(round, *answer, work.start);
  return round;
}

std::vector<AuthorKind> all_authors() {
  std::vector<AuthorKind> all;
  for (const authors::Maker maker : authors::table) all.push_back(maker());
  std::ranges::sort(all, {}, &AuthorKind::name);
  return all;
}

Result<AuthorKind> find_author(const std::string& name) {
  std::vector<std::string> names;
  for (const AuthorKind& kind : all_authors()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  return fail("no author is called '{}'{}", name, nearest_hint(name, names));
}

std::string verdict_text(const Round& round) {
  if (!round.problem.empty()) return round.problem;
  if (!round.verdict) return "not judged yet";
  const Verdict& verdict = *round.verdict;
  if (verdict.accepted()) return "The judge accepts it.\n" + round.performance;
  std::string text = fmt::format("Rejected at the stage '{}': {}\n", name_of(verdict.stage),
                                 text_of(verdict.reason, Audience::author));
  for (const SourceError& error : verdict.errors) {
    const std::string one = fmt::format("{}:{}: {}\n{}", error.file, error.line, error.message, error.around);
    if (text.size() + one.size() > 3200) {
      text += "...\n";
      break;
    }
    text += one;
  }
  return text;
}

std::string history_text(const Work& work) {
  std::string text;
  const Round* best = work.best();
  for (const Round& round : work.rounds) {
    std::string line = fmt::format("round {}", round.number);
    if (round.parent >= 0) line += fmt::format(" from {}", round.parent);
    line += fmt::format(" ({})", name_of(round.role));
    for (const char* field : {"method", "cause"}) {
      if (const auto found = round.plan.find(field); found != round.plan.end()) {
        line += fmt::format(" {}: {};", field, first_line(found->second, 120));
      }
    }
    if (!round.problem.empty()) {
      line += " no kernel: " + first_line(round.problem, 120);
    } else if (round.right()) {
      line += " right, " + llm::measured(fmt::format("{:.2f}", round.speed())) + " x plain";
      const Round* parent = round.parent >= 0 ? &work.rounds[static_cast<std::size_t>(round.parent)] : nullptr;
      if (parent != nullptr && parent->right() && round.speed() < parent->speed())
        line += " SLOWER than what it began with";
      if (&round == best) line += " BEST";
    } else if (round.verdict) {
      line += fmt::format(" rejected at {}: {}", name_of(round.verdict->stage),
                          first_line(text_of(round.verdict->reason, Audience::author), 140));
    }
    if (!round.reflection.empty()) line += "; learned: " + first_line(round.reflection, 160);
    text += line + "\n";
  }
  return text;
}

}  // namespace kw::agents
