#include "agents/work.h"

#include <algorithm>

#include "llm/model.h"
#include "runs/performance.h"

namespace kw::agents {
namespace {

constexpr std::size_t kMostErrorText = 3200;  // characters of a verdict's errors
constexpr double kWide = 1.1;                 // an interval's upper end, as times its lower one

std::string first_line(const std::string& text, std::size_t most) {
  std::string line = text.substr(0, text.find('\n'));
  return line.size() > most ? line.substr(0, most) + "..." : line;
}

std::string plan_line(const Round& round) {
  std::string line;
  for (const char* field : {"method", "cause"}) {
    const auto found = round.plan.find(field);
    if (found != round.plan.end())
      line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", field, first_line(found->second, 160));
  }
  return line;
}

// How the plan was carried out, apart from what came of it.
std::string implementation_line(const Round& round) {
  std::string line = round.edits > 0 ? fmt::format("{} edits", round.edits) : "";
  if (!round.mended.empty()) {
    line += fmt::format("{}asked again {} within the round ({})", line.empty() ? "" : "; ",
                        round.mended.size() == 1 ? "once" : fmt::format("{} times", round.mended.size()),
                        first_line(round.mended.back(), 100));
  }
  return line;
}

std::string result_line(const Work& work, const Round& round) {
  if (!round.problem.empty()) return "no kernel: " + first_line(round.problem, 160);
  if (!round.verdict) return "not judged";
  if (!round.right()) {
    const std::string why = round.differs_from_tape()
                                ? "when the tape was made"
                                : first_line(text_of(round.verdict->reason, Audience::author), 160);
    return fmt::format("rejected at {}: {}", name_of(*round.stage()), why);
  }
  if (!round.left_out.empty()) return "right, " + llm::measured(round.left_out);
  std::string line = "right, ";
  if (round.verdict->time_ns) line += llm::measured(runs::time_of_call(*round.verdict)) + " a call, ";
  line += llm::measured(comparison_text(round));
  if (&round == work.best()) line += llm::measured("; the BEST so far");
  return line;
}

}  // namespace

std::string_view outcome_of(const Comparison& one) {
  if (one.faster()) return "faster";
  if (one.slower()) return "SLOWER";
  if (one.low > 1) return "perhaps faster (copies of one kernel differed as much at that time)";
  if (one.high < 1) return "perhaps slower (copies of one kernel differed as much at that time)";
  return one.high > kWide * one.low ? "not told apart (the interval is wide)" : "no difference";
}

std::string comparison_text(const Round& round) {
  if (!round.beside) return "the first right kernel";
  const Comparison& one = *round.beside;
  const std::string ratio = fmt::format("{:.3f} [{:.3f}, {:.3f}]", one.median, one.low, one.high);
  return fmt::format("{} times as fast as round {}, timed side by side: {}", ratio, one.with, outcome_of(one));
}

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

std::optional<VerdictStage> Round::stage() const {
  if (taped || !verdict) return taped;
  return verdict->stage;
}

bool Round::differs_from_tape() const { return taped && verdict && *taped != verdict->stage; }

double Round::speed() const {
  if (!right() || !verdict || verdict->speedups.empty()) return right() ? 1e-9 : 0;
  for (const Speedup& one : verdict->speedups) {
    if (one.rival == "plain") return one.median;
  }
  return verdict->speedups.front().median;
}

const Round* Work::round(int number) const {
  return number >= 0 && number < static_cast<int>(rounds.size()) ? &rounds[static_cast<std::size_t>(number)] : nullptr;
}

const Round* Work::best() const {
  const Round* best = nullptr;
  for (const Round& round : rounds) {
    if (!round.right() || !round.left_out.empty()) continue;
    if (best == nullptr) {
      best = &round;
    } else if (round.beside) {
      // Compared with an earlier incumbent only where this one is not faster than the incumbent of now.
      if (round.beside->with == best->number && round.beside->faster()) best = &round;
    } else if (round.speed() > best->speed()) {
      best = &round;  // of a record from before rounds were compared side by side
    }
  }
  return best;
}

const Round* Work::best_of_author() const {
  const Round* incumbent = best();
  if (incumbent != nullptr && incumbent->role != RoundRole::start) return incumbent;
  const Round* best = nullptr;
  for (const Round& round : rounds) {
    if (!round.right() || !round.left_out.empty() || round.role == RoundRole::start) continue;
    if (best == nullptr || round.standing > best->standing) best = &round;
  }
  return best;
}

void take_standing(Round& round, const Work& work) {
  if (!round.right() || !round.left_out.empty()) return;
  const Round* other = round.beside ? work.round(round.beside->with) : nullptr;
  round.standing = other != nullptr ? other->standing * round.beside->median : 1;
}

std::vector<std::string> breaches_of_the_order(const std::vector<Round>& rounds, std::optional<int> taken) {
  std::vector<std::string> breaches;
  std::optional<int> incumbent;  // known from the first comparison on
  for (const Round& round : rounds) {
    if (!round.beside) continue;
    if (incumbent && round.beside->with != *incumbent) {
      breaches.push_back(fmt::format("round {} was timed beside round {}, though round {} was the best", round.number,
                                     round.beside->with, *incumbent));
    }
    if (!incumbent) incumbent = round.beside->with;
    if (round.beside->faster()) incumbent = round.number;
  }
  if (incumbent && taken && *taken != *incumbent)
    breaches.push_back(fmt::format("round {} was taken in the end, though round {} was the best", *taken, *incumbent));
  return breaches;
}

std::string verdict_text(const Round& round) {
  if (!round.problem.empty()) return round.problem;
  if (!round.verdict) return "not judged yet";
  if (round.differs_from_tape()) {
    return round.right() ? "The judge accepted it when the tape was made.\n"
                         : fmt::format("Rejected at the stage '{}' when the tape was made.\n", name_of(*round.taped));
  }
  const Verdict& verdict = *round.verdict;
  if (verdict.accepted()) {
    std::string text = "The judge accepts it.\n" + round.performance;
    if (!round.left_out.empty()) text += llm::measured(round.left_out) + "\n";
    if (round.beside) text += "beside the best kernel before it: " + llm::measured(comparison_text(round)) + "\n";
    if (!round.tuning.empty()) text += "the tuner, without the model:\n" + llm::measured(round.tuning);
    return text;
  }
  std::string text = fmt::format("Rejected at the stage '{}'", name_of(verdict.stage));
  // A compiler's or linker's first error is both the reason and the first of the errors: it is printed once.
  const ReasonCode code = verdict.reason.code;
  const bool is_an_error =
      !verdict.errors.empty() && (code == ReasonCode::does_not_compile || code == ReasonCode::does_not_link);
  text += is_an_error ? "\n" : ": " + text_of(verdict.reason, Audience::author) + "\n";
  std::vector<std::string> seen;
  for (const SourceError& error : verdict.errors) {
    // Of one error in many places each place is told, its words and lines once.
    const bool again = std::ranges::find(seen, error.message) != seen.end();
    const std::string place = error.line > 0 ? fmt::format("{}:{}: ", error.file, error.line) : error.file + ": ";
    const std::string one =
        again ? fmt::format("{}the same error\n", place) : fmt::format("{}{}\n{}", place, error.message, error.around);
    if (text.size() + one.size() > kMostErrorText) {
      text += "...\n";
      break;
    }
    seen.push_back(error.message);
    text += one;
  }
  return text;
}

std::string history_text(const Work& work) {
  std::string text;
  for (const Round& round : work.rounds) {
    text += fmt::format("round {}", round.number);
    if (round.parent >= 0) text += fmt::format(" from {}", round.parent);
    text += fmt::format(" ({})\n", name_of(round.role));
    if (const std::string plan = plan_line(round); !plan.empty()) text += "  plan: " + plan + "\n";
    if (const std::string done = implementation_line(round); !done.empty()) text += "  carried out: " + done + "\n";
    text += "  result: " + result_line(work, round) + "\n";
    if (!round.tuning.empty()) text += "  tuner: " + llm::measured(first_line(round.tuning, 300)) + "\n";
    if (!round.reflection.empty()) text += "  learned: " + first_line(round.reflection, 200) + "\n";
  }
  return text;
}

}  // namespace kw::agents
