// MoKA: a Debugger and an Accelerator plan, a Coder executes, and all remember every round.
//
// A round begins with the best kernel so far, not with the last one: a regression is remembered and left behind. A
// kernel that fails is repaired for a round or two before it is given up. When the best has not moved for some rounds,
// another right kernel of the archive gets its chance: a branch.
#include <algorithm>
#include <cctype>

#include "agents/answer.h"
#include "agents/author.h"

namespace kw::agents::authors {
namespace {

constexpr int kMostRepairs = 2;        // of one kernel, in a row
constexpr int kMostTries = 3;          // of one plan
constexpr int kPatience = 3;           // rounds without a better kernel, before another branch is tried
constexpr double kWorthABranch = 0.5;  // of the best one's speed

const std::vector<Field> kDebuggerPlan = {
    {"reflection", 600}, {"cause", 1000}, {"reach", 20, {"local", "cross"}}, {"plan", 3500}};
const std::vector<Field> kAcceleratorPlan = {
    {"reflection", 600}, {"bottleneck", 1000}, {"method", 400}, {"plan", 3500}};

std::string normal(const std::string& method) {
  std::string text;
  for (const char c : method) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool failed(const Round& round) { return !round.right(); }

class Moka : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    const Round* base = where_to_begin(work);
    if (base == nullptr) return first(work, talk);
    const bool repair = failed(*base);
    Round round{.parent = base->number, .role = repair ? RoundRole::debugger : RoundRole::accelerator};

    Facts facts = work.facts;
    facts["kernel"] = base->source;
    const Round* best = work.best();
    facts["base"] =
        fmt::format("round {}, ", base->number) +
        (base == best ? "the best so far" : "another right one, for the best led nowhere in the last rounds");
    facts["verdict"] = verdict_text(*base);
    facts["performance"] = base->performance;
    cite_repository(facts, *base, talk);
    facts["history"] = history_text(work);
    const Plan plan =
        repair ? ask_for_plan("debugger", facts, kDebuggerPlan, {}, talk, round)
               : ask_for_plan("accelerator", facts, kAcceleratorPlan, methods_that_failed(work), talk, round);
    if (!round.problem.empty()) return round;
    round.plan = plan.fields;
    work.rounds.back().reflection = plan.of("reflection");

    facts["plan"] = repair ? "Cause: " + plan.of("cause") + "\n" + plan.of("plan")
                           : "Method: " + plan.of("method") + "\n" + plan.of("plan");
    ask_for_code(round, talk.prompts().text("coder", facts), base->source, talk);
    return round;
  }

 private:
  // Without a kernel to begin with, the Coder writes the first one from the task alone.
  static Round first(const Work& work, Talk& talk) {
    Round round{.role = RoundRole::coder};
    ask_for_code(round, first_question(work, talk), work.start, talk);
    return round;
  }

  // Null: there is no kernel yet.
  static const Round* where_to_begin(const Work& work) {
    if (work.rounds.empty()) return nullptr;
    const Round* best = work.best();
    // A failed kernel is repaired a few times; a round without a kernel changed nothing.
    int repairs = 0;
    for (auto each = work.rounds.rbegin(); each != work.rounds.rend() && each->role == RoundRole::debugger; ++each)
      ++repairs;
    const Round& last = work.rounds.back();
    if (failed(last) && !last.source.empty() && (repairs < kMostRepairs || best == nullptr)) return &last;
    if (best == nullptr) {
      for (auto each = work.rounds.rbegin(); each != work.rounds.rend(); ++each) {
        if (!each->source.empty()) return &*each;
      }
      return nullptr;
    }
    // A branch: the next best of another source, when the best one led nowhere.
    const int since = static_cast<int>(work.rounds.size()) - 1 - best->number;
    if (since >= kPatience && since % 2 == 1) {
      const Round* second = nullptr;
      for (const Round& round : work.rounds) {
        if (round.right() && &round != best && round.role != RoundRole::start &&
            (second == nullptr || round.standing > second->standing)) {
          second = &round;
        }
      }
      if (second != nullptr && second->standing > kWorthABranch * best->standing) return second;
    }
    return best;
  }

  // Methods that were carried out in a right kernel (repairs and the tuner's values included) and made nothing faster:
  // they are not proposed again. A method without a right kernel counts as not tried, and one that may have helped
  // stays open.
  static std::vector<std::string> methods_that_failed(const Work& work) {
    std::vector<std::string> methods;
    for (const Round& round : work.rounds) {
      const auto method = round.plan.find("method");
      if (method == round.plan.end() || round.role != RoundRole::accelerator) continue;
      std::vector<int> line = {round.number};  // it, its repairs, and what the tuner made of them
      bool right = round.right();
      bool helped = round.beside && round.beside->may_be_faster();
      for (const Round& other : work.rounds) {
        if (std::ranges::find(line, other.parent) == line.end()) continue;
        if (other.role != RoundRole::debugger && other.role != RoundRole::tuner) continue;
        line.push_back(other.number);
        right = right || other.right();
        helped = helped || (other.beside && other.beside->may_be_faster());
      }
      if (right && !helped) methods.push_back(method->second);
    }
    return methods;
  }

  // Asks for a plan until it fits its schema and repeats no method that failed.
  static Plan ask_for_plan(const std::string& prompt, const Facts& facts, const std::vector<Field>& schema,
                           const std::vector<std::string>& failures, Talk& talk, Round& round) {
    std::vector<llm::Message> messages = {{llm::Role::user, talk.prompts().text(prompt, facts)}};
    Plan plan;
    for (int tries = 1;; ++tries) {
      const auto answer = talk.ask(messages, round.problem);
      if (!answer) return plan;
      plan = plan_in(*answer, schema);
      for (const std::string& method : failures) {
        if (plan.problem.empty() && normal(plan.of("method")) == normal(method)) {
          plan.problem = "the method '" + method + "' was carried out right before and did not help; plan another one";
        }
      }
      if (plan.problem.empty()) return plan;
      if (tries == kMostTries) break;
      round.mended.push_back("no plan: " + plan.problem);
      messages.push_back({llm::Role::assistant, *answer});
      messages.push_back({llm::Role::user, talk.prompts().text("repair", {{"problem", plan.problem}})});
    }
    round.problem = "no plan: " + plan.problem;
    return plan;
  }
};

}  // namespace

AuthorKind moka() {
  return {.name = "moka",
          .about = "Debugger and Accelerator plan, a Coder executes; each round begins with the best kernel",
          .usual_rounds = 10,
          .judges_the_start = true,
          .mends = true,
          .make = [] { return std::unique_ptr<Author>(new Moka); }};
}

}  // namespace kw::agents::authors
