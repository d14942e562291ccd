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

constexpr int kMostRepairs = 2;  // of one kernel, in a row
constexpr int kPatience = 3;     // rounds without a better kernel, before another branch is tried
constexpr double kBetter = 1.01;
constexpr double kWorthABranch = 0.5;  // of the best one's speed

const std::vector<Field> kDebuggerPlan = {
    {"reflection", 600}, {"cause", 1000}, {"reach", 20, {"local", "cross"}}, {"plan", 3500}};
const std::vector<Field> kAcceleratorPlan = {
    {"reflection", 600}, {"bottleneck", 1000}, {"method", 120}, {"plan", 3500}};

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
    const Round& base = where_to_begin(work);
    const bool repair = failed(base);
    Round round{.parent = base.number, .role = repair ? RoundRole::debugger : RoundRole::accelerator};

    Facts facts = work.facts;
    facts["kernel"] = base.source;
    facts["verdict"] = verdict_text(base);
    facts["performance"] = base.performance;
    facts["history"] = history_text(work);
    const Plan plan =
        repair ? ask_for_plan("debugger", facts, kDebuggerPlan, {}, talk, round.problem)
               : ask_for_plan("accelerator", facts, kAcceleratorPlan, methods_that_failed(work), talk, round.problem);
    if (!round.problem.empty()) return round;
    round.plan = plan.fields;
    work.rounds.back().reflection = plan.of("reflection");

    facts["plan"] = repair ? "Cause: " + plan.of("cause") + "\n" + plan.of("plan")
                           : "Method: " + plan.of("method") + "\n" + plan.of("plan");
    const auto answer = talk.ask({{llm::Role::user, talk.prompts().text("coder", facts)}}, round.problem);
    if (!answer) return round;
    take_code(round, *answer, base.source);
    return round;
  }

 private:
  static const Round& where_to_begin(const Work& work) {
    const Round* best = work.best();
    // A failed kernel is repaired a few times; a round without a kernel changed nothing.
    int repairs = 0;
    for (auto each = work.rounds.rbegin(); each != work.rounds.rend() && each->role == RoundRole::debugger; ++each)
      ++repairs;
    const Round& last = work.rounds.back();
    if (failed(last) && !last.source.empty() && (repairs < kMostRepairs || best == nullptr)) return last;
    if (best == nullptr) {
      for (auto each = work.rounds.rbegin(); each != work.rounds.rend(); ++each) {
        if (!each->source.empty()) return *each;
      }
      return work.rounds.front();
    }
    // A branch: the next best of another source, when the best one led nowhere.
    const int since = static_cast<int>(work.rounds.size()) - 1 - best->number;
    if (since >= kPatience && since % 2 == 1) {
      const Round* second = nullptr;
      for (const Round& round : work.rounds) {
        if (round.right() && round.source != best->source && round.role != RoundRole::start &&
            (second == nullptr || round.speed() > second->speed())) {
          second = &round;
        }
      }
      if (second != nullptr && second->speed() > kWorthABranch * best->speed()) return *second;
    }
    return *best;
  }

  static std::vector<std::string> methods_that_failed(const Work& work) {
    std::vector<std::string> methods;
    for (const Round& round : work.rounds) {
      const auto method = round.plan.find("method");
      if (method == round.plan.end() || round.parent < 0) continue;
      const Round& parent = work.rounds[static_cast<std::size_t>(round.parent)];
      // One that was repaired afterwards did not fail.
      const bool repaired = std::ranges::any_of(work.rounds, [&](const Round& other) {
        return other.parent == round.number && other.role == RoundRole::debugger && other.right() &&
               other.speed() > parent.speed() * kBetter;
      });
      if (!repaired && round.speed() < parent.speed() * kBetter) methods.push_back(method->second);
    }
    return methods;
  }

  // A plan that fits its schema and repeats no failure; one try to mend it.
  static Plan ask_for_plan(const std::string& prompt, const Facts& facts, const std::vector<Field>& schema,
                           const std::vector<std::string>& failures, Talk& talk, std::string& problem) {
    std::vector<llm::Message> messages = {{llm::Role::user, talk.prompts().text(prompt, facts)}};
    Plan plan;
    for (int tries = 0; tries < 2; ++tries) {
      const auto answer = talk.ask(messages, problem);
      if (!answer) return plan;
      plan = plan_in(*answer, schema);
      for (const std::string& method : failures) {
        if (plan.problem.empty() && normal(plan.of("method")) == normal(method)) {
          plan.problem = "the method '" + method + "' was tried before and failed; plan another one";
        }
      }
      if (plan.problem.empty()) return plan;
      messages.push_back({llm::Role::assistant, *answer});
      messages.push_back({llm::Role::user, talk.prompts().text("repair", {{"problem", plan.problem}})});
    }
    problem = "no plan: " + plan.problem;
    return plan;
  }
};

}  // namespace

AuthorKind moka() {
  return {.name = "moka",
          .about = "Debugger and Accelerator plan, a Coder executes; each round begins with the best kernel",
          .usual_rounds = 10,
          .judges_the_start = true,
          .make = [] { return std::unique_ptr<Author>(new Moka); }};
}

}  // namespace kw::agents::authors
