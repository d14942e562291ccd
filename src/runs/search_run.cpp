#include "runs/search_run.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "core/settings_json.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "runs/drafts.h"
#include "runs/machine.h"
#include "runs/takeaway.h"
#include "search/memory.h"
#include "store/seal.h"
#include "store/sha256.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

// What names a candidate of a task.
std::string name_of_candidate(const std::string& source_hash, const std::string& settings) {
  return source_hash + " " + settings;
}

std::string hash_of_task(const Task& task) { return store::hash_of(snapshot(task)); }

// What progress calls the search of a task, and a candidate of it.
constexpr std::int64_t kSearching = 1;
constexpr std::int64_t kTried = 2;

// Prior for judging the best of a task: 1.5 s plus 1.5 s per 8 MB that the task moves, weighted as 20 observations.
constexpr double kJudging_s = 1.5;
constexpr double kJudgingBytes = 8e6;
constexpr double kJudgingBelief = 20;
// A task whose time is spent already still gets a quick check of a candidate or two.
constexpr double kLeastSearch_s = 0.2;

double judging_size(const Task& task) {
  const auto graph = ops::resolve(task);
  return graph.ok() ? 1 + ops::cost_of(*graph).bytes() / kJudgingBytes : 1;
}

}  // namespace

std::string advice_on(const SearchedTask& task) {
  if (task.technique != compose::kPlain) return "";
  const Speedup* slowest = nullptr;
  for (const Speedup& one : task.verdict.speedups) {
    if (one.called && one.claimed && one.median < 1 && (!slowest || one.median < slowest->median)) slowest = &one;
  }
  if (!slowest) return "";
  return fmt::format(
      "keep the kernel of {}: kw has no technique for this task, and its plain kernel is {:.3f} times as fast",
      slowest->rival, slowest->median);
}

Status SearchWork::prepare(Run& run) {
  KW_TRY(order_, order_of(run.summary()));
  KW_TRY(budget_, search::parse_budget(order_.search.budget));
  KW_TRY(strategy_, search::find_strategy(order_.search.strategy));
  if (!order_.kernel) {
    KW_TRY(techniques_, techniques_for(order_.rules.device));
  }
  options_ = targets::build_options(order_.rules.device);
  KW_CHECK(read_record(run));
  for (std::size_t i = 0; i < order_.tasks.size(); ++i) {
    const Task& task = order_.tasks[i];
    const auto finished = finished_.find(hash_of_task(task));
    if (finished != finished_.end()) {
      KW_CHECK(take_away_if_asked(task, finished->second));
      continue;
    }
    left_.push_back(i);
    sizes_left_ += judging_size(task);
    shares_left_ += share_of(i);
  }
  judged_s_ = kJudging_s * kJudgingBelief;
  judged_sizes_ = kJudgingBelief;
  return {};
}

// What earlier work on this run knows.
Status SearchWork::read_record(Run& run) {
  const auto held = run.workplace().hold();
  const store::Store& store = run.workplace().store();
  std::map<std::string, int> tried;
  KW_CHECK(store.each_recorded(run.id(), [&](const store::Recorded& one) -> Status {
    if (!one.judged) return {};
    // What others wrote into the record was not judged here: it is judged again.
    KW_TRY(const bool is_own, store::is_own_verdict(store.database(), one.item));
    if (!is_own) return {};
    if (one.purpose == store::Purpose::confirm) {
      if (!one.accepted) return {};
      KW_TRY(SearchedTask winner, winner_of(store, one));
      finished_[one.task_hash] = std::move(winner);
      return {};
    }
    std::optional<double> time;
    if (stage_named(one.stage) == VerdictStage::quick_check) {
      time = one.speedups.empty() || !(one.speedups[0].median > 0) ? 1 : 1 / one.speedups[0].median;
    }
    known_[one.task_hash][name_of_candidate(one.source_hash, one.settings)] = time;
    ++tried[one.task_hash];
    return {};
  }));
  for (auto& [hash, finished] : finished_) finished.tried = tried[hash];
  return {};
}

Result<SearchedTask> SearchWork::winner_of(const store::Store& store, const store::Recorded& one) const {
  KW_TRY(const store::Candidate candidate, store.candidate(one.candidate_hash));
  SearchedTask winner{
      .task = one.task, .technique = candidate.notes, .file = candidate.file, .source = candidate.source};
  KW_TRY(winner.settings, settings_from_json(candidate.settings));
  KW_TRY(winner.verdict, judge::verdict_from_json(one.json));
  return winner;
}

report::PlannedWork SearchWork::plan(const Run& run) const {
  const auto total = std::ssize(order_.tasks);
  report::PlannedWork plan{.title = run.name(), .unit = "tasks", .total = total, .done = total - std::ssize(left_)};
  if (is_of_one_task() && !left_.empty()) plan = {.title = run.name(), .total = budget_.candidates};
  const double seconds = is_of_one_task() && budget_.seconds > 0 ? budget_.seconds : order_.search.within_s;
  if (seconds > 0) plan.budget_s = seconds;
  return plan;
}

// With a time for the whole: what is left of it, without judging, is shared by the tasks that are left.
search::Budget SearchWork::budget_of(std::size_t place) {
  search::Budget budget = budget_;
  if (order_.search.within_s > 0) {
    const double judging_s = judged_s_ / judged_sizes_ * sizes_left_;
    const double share_s =
        (order_.search.within_s - seconds_since(*begin_) - judging_s) * share_of(place) / shares_left_;
    budget.seconds = std::max(kLeastSearch_s, budget.seconds > 0 ? std::min(budget.seconds, share_s) : share_s);
  }
  sizes_left_ -= judging_size(order_.tasks[place]);
  shares_left_ -= share_of(place);
  return budget;
}

Status SearchWork::do_item(Run& run, Observer& observer, const std::shared_ptr<judge::Judge>& judge,
                           std::size_t index) {
  const std::size_t place = left_[index];
  const Task& task = order_.tasks[place];
  if (!begin_) begin_ = Clock::now();
  // Where tasks have shares, the last ones matter the least: those whose turn comes too late are left out.
  if (!order_.search.shares.empty() && seconds_since(*begin_) > order_.search.within_s) {
    observer.advance(1);
    return {};
  }
  const double size = judging_size(task);
  const search::Budget budget = budget_of(place);
  const auto begin = Clock::now();
  auto result = search_one(run, observer, *judge, task, budget);
  if (!result.ok()) {
    // As it was, for another try.
    sizes_left_ += size;
    shares_left_ += share_of(place);
    return result.error();
  }
  // What a search took beyond its share counts as judging: of large tasks a single quick check does.
  judged_s_ += std::max(seconds_since(begin) - budget.seconds, 0.0);
  judged_sizes_ += size;
  KW_CHECK(take_away_if_asked(task, *result));
  ended_(*result);
  finished_[hash_of_task(task)] = *std::move(result);
  if (!is_of_one_task()) observer.advance(1);
  return {};
}

Result<std::vector<search::Kernel>> SearchWork::kernels_of(const ops::Graph& graph) const {
  if (!order_.kernel) return kernels_for(order_.rules.device, graph, techniques_);
  KW_TRY(Tunables tunables, read_tunables(order_.kernel->text));
  return std::vector<search::Kernel>{{"file", order_.kernel->name, order_.kernel->text, std::move(tunables)}};
}

Result<SearchedTask> SearchWork::search_one(Run& run, Observer& observer, judge::Judge& judge, const Task& task,
                                            const search::Budget& budget) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(std::vector<search::Kernel> kernels, kernels_of(graph));
  KW_TRY(const search::Space space, search::Space::of(std::move(kernels), options_));
  store::Store& store = run.workplace().store();
  search::Brief inputs{.space = &space, .seed = static_cast<std::uint64_t>(order_.search.seed)};
  {
    const auto held = run.workplace().hold();
    KW_TRY(inputs.lessons, search::recall(store, machine_identity(order_.rules.device), graph, space));
    KW_TRY(inputs.leanings, search::recall_leanings(store, machine_identity(order_.rules.device), graph));
  }
  const auto strategy = strategy_.make(std::move(inputs));
  const auto record = [&](const search::Point& point, const judge::Case& asked, const Verdict& verdict, double spent_s,
                          store::Purpose purpose) {
    judge::Case one = asked;
    one.task = &task;
    store::NewItem item = planned(0, one, "null");
    item.purpose = purpose;
    item.candidate->author = order_.search.author;
    item.candidate->notes = space.kernels()[point.kernel].technique;
    return run.add_judged(std::move(item), one, verdict, spent_s);
  };
  const auto name_of_point = [&](const search::Point& point) {
    const store::NewItem item = planned(
        0, search::case_of(task, space, point, order_.rules.threads, order_.rules.cold, order_.rules.device), "null");
    return name_of_candidate(store::sha256(item.candidate->source), item.candidate->settings);
  };
  auto& known = known_[hash_of_task(task)];
  std::vector<search::Observation> observed;
  observer.start(kSearching, task.name, "", "searching");
  search::SearchJob plan{.task = &task,
                         .space = &space,
                         .strategy = strategy.get(),
                         .budget = budget,
                         .threads = order_.rules.threads,
                         .cold = order_.rules.cold};
  plan.tried = [&](const search::Trial& trial) -> Status {
    observed.push_back({trial.point, trial.time});
    KW_CHECK(record(trial.point, trial.asked, trial.verdict, trial.spent_s, store::Purpose::search));
    known[name_of_point(trial.point)] = trial.time;
    observer.finish(kTried, task.name, space.text(trial.point), trial.verdict);
    if (is_of_one_task()) observer.advance(1);
    if (trial.time) observer.best(task.name, space.text(trial.point), 1 / *trial.time, "the first");
    return {};
  };
  plan.known = [&](const search::Point& point) -> std::optional<search::Observation> {
    const auto found = known.find(name_of_point(point));
    if (found == known.end()) return std::nullopt;
    return search::Observation{point, found->second};
  };
  KW_TRY(const search::Found found, search::search(judge, plan));

  observer.start(kSearching, task.name, "", "judging the best");
  judge::Case rules = order_.rules;
  KW_TRY(rules.frameworks, rivals_.of(task, rules.threads));
  // Where no framework runs it, there is still the plain kernel to be compared with.
  rules.plain = rules.frameworks.empty();
  KW_TRY(
      const search::Winner winner,
      search::decide(judge, task, space, found, rules,
                     [&](const search::Point& point, const judge::Case& asked, const Verdict& verdict, double spent_s) {
                       return record(point, asked, verdict, spent_s, store::Purpose::confirm);
                     }));
  {
    // Only now: a search that is resumed before its winner was judged must begin from what it began from.
    const auto held = run.workplace().hold();
    KW_CHECK(search::remember(store, machine_identity(order_.rules.device), graph, space, observed));
  }
  const search::Kernel& kernel = space.kernels()[winner.point.kernel];
  observer.finish(kSearching, task.name, space.text(winner.point), winner.verdict);
  return SearchedTask{.task = task.name,
                      .technique = kernel.technique,
                      .file = kernel.file,
                      .source = kernel.source,
                      .settings = space.settings(winner.point),
                      .verdict = winner.verdict,
                      .tried = found.tried,
                      .exhausted = found.exhausted};
}

Status SearchWork::take_away_if_asked(const Task& task, SearchedTask& result) const {
  if (order_.out.empty() || !result.verdict.accepted()) return {};
  KW_TRY(result.files, take_away(order_.out, task, {result.file, result.source}, result.settings, result.verdict,
                                 order_.rules.device, targets::facts_of(order_.rules.device).name));
  return {};
}

Result<std::string> SearchWork::unfinished(Run&) { return std::string(); }

std::vector<SearchedTask> SearchWork::results() const {
  std::vector<SearchedTask> all;
  for (const Task& task : order_.tasks) {
    const auto found = finished_.find(hash_of_task(task));
    if (found != finished_.end()) all.push_back(found->second);
  }
  return all;
}

}  // namespace kw::runs
