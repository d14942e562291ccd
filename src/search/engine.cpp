#include "search/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "core/verdict.h"
#include "judge/batch.h"
#include "judge/kills.h"

namespace kw::search {
namespace {

// Of timing, for each candidate in a quick check.
constexpr double kQuickCheck_s = 0.04;
// Between two that the search could not tell apart.
constexpr double kRunOff_s = 0.15;
constexpr double kCannotTell = 1.06;
constexpr double kDoubtful = 1.5;
constexpr std::size_t kRunOffs = 2;
// Judged in full before a search gives up on its own candidates.
constexpr std::size_t kMostFinalists = 6;

std::optional<double> time_of(const Verdict& verdict) {
  if (!verdict.accepted() || verdict.speedups.empty() || !(verdict.speedups[0].median > 0)) return std::nullopt;
  return 1 / verdict.speedups[0].median;
}

// Nothing is accepted in a quick check.
void leave_at_quick_check(Verdict& verdict) {
  if (!verdict.accepted()) return;
  verdict.stage = VerdictStage::quick_check;
  verdict.reason = {ReasonCode::only_quick_check};
}

// Once more where the candidate's process was killed by something else.
Result<judge::Inspected> inspect_surely(judge::Judge& judge, const judge::Case& one) {
  return judge::despite_kills([&] { return judge.inspect(one); });
}

Result<Verdict> judge_surely(judge::Judge& judge, const judge::Case& one) {
  return judge::despite_kills([&] { return judge.judge(one); });
}

class Search {
 public:
  Search(judge::Judge& judge, const SearchJob& plan) : judge_(judge), plan_(plan), begin_(Clock::now()) {}

  Result<Found> run() {
    KW_TRY(quick_check_, judge::make_quick_check(*plan_.task));
    const std::size_t at_once = 2 * judge_.device().builds_at_once();
    KW_CHECK(find_reference());
    while (!spent()) {
      std::size_t most = at_once;
      if (plan_.budget.candidates > 0) {
        most = std::min(most, static_cast<std::size_t>(plan_.budget.candidates - found_.tried));
      }
      const std::vector<Point> points = plan_.strategy->propose(most);
      if (points.empty()) {
        found_.exhausted = true;
        break;
      }
      KW_CHECK(try_all(points));
    }
    std::ranges::stable_sort(found_.ranking, {}, [](const Observation& one) { return *one.time; });
    return std::move(found_);
  }

 private:
  bool spent() const {
    if (plan_.budget.candidates > 0 && found_.tried >= plan_.budget.candidates) return true;
    return plan_.budget.seconds > 0 && seconds_since(begin_) >= plan_.budget.seconds;
  }

  judge::Case quick_check_of(const Point& point) const {
    judge::Case one = case_of(*plan_.task, *plan_.space, point, plan_.threads, plan_.cold, judge_.device().name());
    one.plain = false;
    one.quick_check = &quick_check_;
    one.budget_s = kQuickCheck_s;
    one.reference = reference_;
    return one;
  }

  void learn(const Observation& observation) {
    plan_.strategy->observe(observation);
    ++found_.tried;
    if (observation.time) {
      found_.ranking.push_back(observation);
    } else {
      ++found_.rejected;
    }
  }

  // The first kernel whose defaults are right in a quick check; its time is 1.
  Status find_reference() {
    for (std::size_t i = 0; i < plan_.space->kernels().size(); ++i) {
      const Point& point = plan_.space->first(i);
      const auto begin = Clock::now();
      judge::Case one = quick_check_of(point);
      KW_TRY(judge::Inspected inspected, inspect_surely(judge_, one));
      Trial trial{.point = point, .asked = one, .verdict = inspected.verdict};
      if (inspected.verdict.accepted()) {
        trial.time = 1;
        reference_ = inspected.built;
      }
      leave_at_quick_check(trial.verdict);
      trial.spent_s = seconds_since(begin);
      const bool is_new = !plan_.known(point);
      learn({point, trial.time});
      if (is_new) KW_CHECK(plan_.tried(trial));
      if (reference_ != nullptr || spent()) return {};
    }
    return {};
  }

  Status try_all(const std::vector<Point>& points) {
    std::vector<judge::Case> cases;
    std::vector<Point> asked;
    for (const Point& point : points) {
      if (const std::optional<Observation> known = plan_.known(point)) {
        learn(*known);
        continue;
      }
      cases.push_back(quick_check_of(point));
      asked.push_back(point);
    }
    Status status;
    auto last = Clock::now();
    std::vector<std::optional<Trial>> trials(cases.size());
    std::vector<std::size_t> left(cases.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    for (int tries = 1; !left.empty() && status.ok(); ++tries) {
      std::vector<std::size_t> again;  // whose processes were killed by something else
      std::vector<judge::Case> these;
      for (const std::size_t index : left) these.push_back(cases[index]);
      judge::judge_batch(judge_, these, [&](std::size_t i, const Result<Verdict>& verdict) {
        if (!status.ok()) return;
        if (!verdict.ok()) {
          status = verdict.error();
          return;
        }
        const std::size_t index = left[i];
        if (tries < kMostKills && may_be_killed_from_outside(verdict->reason)) return again.push_back(index);
        Trial trial{.point = asked[index], .asked = cases[index], .verdict = *verdict, .time = time_of(*verdict)};
        leave_at_quick_check(trial.verdict);
        trial.spent_s = seconds_since(last);
        last = Clock::now();
        status = plan_.tried(trial);
        trials[index] = std::move(trial);
      });
      left = std::move(again);
    }
    KW_CHECK(status);
    // In the order of the proposals: what a strategy does next does not hang on which build was the quicker one.
    for (const std::optional<Trial>& trial : trials) learn({trial->point, trial->time});
    return {};
  }

  judge::Judge& judge_;
  const SearchJob& plan_;
  const Clock::time_point begin_;
  judge::QuickCheck quick_check_;
  std::shared_ptr<const judge::Built> reference_;
  Found found_;
};

}  // namespace

Result<Budget> parse_budget(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str() || !std::isfinite(number) || number < 0) {
    return fail("{}: a budget is a time or a number of candidates: 60s, 5m, 200", text);
  }
  Budget budget;
  if (unit.empty()) {
    if (number != std::floor(number) || number > 1e9) return fail("{}: a whole number of candidates, please", text);
    budget.candidates = static_cast<int>(number);
  } else if (unit == "s" || unit == "m" || unit == "h") {
    budget.seconds = number * (unit == "s" ? 1 : unit == "m" ? 60 : 3600);
  } else {
    return fail("{}: a budget is a time or a number of candidates: 60s, 5m, 200", text);
  }
  if (number == 0) return fail("{}: a budget of zero tries nothing", text);
  return budget;
}

std::string text_of(const Budget& budget) {
  if (budget.candidates > 0) return fmt::format("{} candidates", budget.candidates);
  return fmt::format("{:g} s", budget.seconds);
}

judge::Case case_of(const Task& task, const Space& space, const Point& point, int threads, bool cold,
                    const std::string& device) {
  const Kernel& kernel = space.kernels()[point.kernel];
  judge::Case one;
  one.device = device;
  one.task = &task;
  one.source = {kernel.file, kernel.source};
  one.settings = space.settings(point);
  one.threads = threads;
  one.cold = cold;
  return one;
}

Result<Found> search(judge::Judge& judge, const SearchJob& plan) { return Search(judge, plan).run(); }

Result<Winner> decide(judge::Judge& judge, const Task& task, const Space& space, const Found& found,
                      const judge::Case& rules, const Judged& judged) {
  const std::string device = judge.device().name();
  std::vector<Point> finalists;
  for (const Observation& one : found.ranking) finalists.push_back(one.point);
  // Whatever happens, there is the last kernel's default: the plain one, where it is an author's own list.
  for (std::size_t i = 0; i < space.kernels().size(); ++i) {
    if (std::ranges::find(finalists, space.first(i)) == finalists.end()) finalists.push_back(space.first(i));
  }
  if (finalists.size() > kMostFinalists) {
    finalists[kMostFinalists - 1] = finalists.back();
    finalists.resize(kMostFinalists);
  }

  // A run-off of the first ones, as long as the search could not tell them apart, and where the first was so far ahead
  // that something must have disturbed the race.
  const auto wants_run_off = [&](std::size_t i) {
    const double behind = *found.ranking[i].time / *found.ranking[0].time;
    return behind < kCannotTell || (i == 1 && behind > kDoubtful);
  };
  if (found.ranking.size() > 1 && wants_run_off(1)) {
    KW_TRY(const judge::QuickCheck quick_check, judge::make_quick_check(task));
    for (std::size_t i = 1; i <= kRunOffs && i < found.ranking.size(); ++i) {
      if (!wants_run_off(i)) break;
      judge::Case first = case_of(task, space, finalists[0], rules.threads, rules.cold, device);
      first.quick_check = &quick_check;
      first.plain = false;
      KW_TRY(judge::Inspected standing, inspect_surely(judge, first));
      if (!standing.verdict.accepted()) break;
      judge::Case other = case_of(task, space, finalists[i], rules.threads, rules.cold, device);
      other.quick_check = &quick_check;
      other.plain = false;
      other.budget_s = kRunOff_s;
      other.reference = standing.built;
      KW_TRY(const Verdict verdict, judge_surely(judge, other));
      const std::optional<double> time = time_of(verdict);
      if (time && *time < 1) std::swap(finalists[0], finalists[i]);
    }
  }

  std::optional<Winner> last;
  for (const Point& point : finalists) {
    judge::Case one = case_of(task, space, point, rules.threads, rules.cold, device);
    one.frameworks = rules.frameworks;
    one.against = rules.against;
    one.budget_s = rules.budget_s;
    one.pairs = rules.pairs;
    one.plain = rules.plain;
    const auto begin = Clock::now();
    KW_TRY(Verdict verdict, judge_surely(judge, one));
    KW_CHECK(judged(point, one, verdict, seconds_since(begin)));
    last = Winner{point, std::move(verdict)};
    if (last->verdict.accepted()) break;
  }
  return *std::move(last);
}

}  // namespace kw::search
