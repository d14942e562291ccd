#include "cli/search_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "base/json.h"
#include "cli/guests.h"
#include "cli/interruption.h"
#include "cli/recorded_run.h"
#include "cli/store_folder.h"
#include "compose/techniques.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "runs/machine.h"
#include "search/engine.h"
#include "search/memory.h"
#include "store/run_lock.h"
#include "store/sha256.h"
#include "suites/task_snapshot.h"
#include "targets/cpu/tools.h"

namespace kw::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace runs;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// What names a candidate of a task.
std::string name_of_candidate(const std::string& source_hash, const std::string& settings) {
  return source_hash + " " + settings;
}

// What progress calls the search of a task, and a candidate of it.
constexpr std::int64_t kSearching = 1;
constexpr std::int64_t kTried = 2;

// Judging the best of a task takes about so long, and as much again for so many bytes that the task moves. It is
// believed as if so many tasks had shown it, until others have.
constexpr double kJudging_s = 1.5;
constexpr double kJudgingBytes = 8e6;
constexpr double kJudgingBelief = 20;
// A task whose time is spent already still gets a glance at a candidate or two.
constexpr double kLeastSearch_s = 0.2;

class SearchWorker {
 public:
  SearchWorker(store::Store& store, const store::RunSummary& run, Progress& progress, const TaskEnded& ended)
      : store_(store), run_(run), progress_(progress), ended_(ended) {}

  Status work() {
    KW_TRY(const store::RunLock lock, store::RunLock::take(store_.folder(), run_.id));
    KW_CHECK(prepare());
    const Interruption interruption([this] { last_words(); });
    const Status status = search_all();
    while (Interruption::happened()) ::pause();
    const std::lock_guard guard(lock_);
    finished_ = true;
    progress_.end(status.ok() ? "done" : "stopped");
    if (!status.ok()) {
      [[maybe_unused]] const Status noted = store_.set_state(run_.id, "stopped", "stopped", status.error().message);
      return fail("{}; {} goes on", status.error().message, how_to_resume(store_, run_.id));
    }
    return store_.set_state(run_.id, "done", "done");
  }

 private:
  Status prepare() {
    const Json rules = Json::parse_quietly(run_.about.rules);
    try {
      bool fresh = false;
      std::string rivals;
      KW_TRY(rules_, rules_from_json(run_.about.rules, fresh, rivals));
      KW_TRY(guests_, Guests::chosen(rivals));
      const Json& search = rules.at("search");
      KW_TRY(budget_, search::parse_budget(search.at("budget")));
      within_s_ = search.value("within_s", 0.0);
      KW_TRY(strategy_, search::find_strategy(run_.about.strategy));
      if (search.contains("kernel")) {
        kernel_ = judge::Source{search.at("kernel").at("file"), search.at("kernel").at("source")};
      }
      for (const Json& task : rules.at("tasks")) {
        KW_TRY(Task one, suites::task_of_snapshot(task.at("text")));
        tasks_.push_back(std::move(one));
      }
    } catch (const JsonError& error) {
      return fail("the record of the run's rules is damaged: {}", error.what());
    }
    if (!kernel_) {
      KW_TRY(techniques_, compose::read_techniques());
    }
    compilers_ = targets::kernel_compilers();
    return read_record();
  }

  // What earlier work on this run knows.
  Status read_record() {
    return store_.each_recorded(run_.id, [&](const store::Recorded& one) -> Status {
      position_ = std::max(position_, one.position);
      if (!one.judged) return {};
      if (one.purpose == "confirm") {
        if (one.accepted) done_.insert(one.task_hash);
        return {};
      }
      std::optional<double> time;
      if (one.stage == name_of(VerdictStage::glance)) {
        time = one.speedups.empty() || !(one.speedups[0].median > 0) ? 1 : 1 / one.speedups[0].median;
      }
      known_[one.task_hash][name_of_candidate(one.source_hash, one.settings)] = time;
      return {};
    });
  }

  Status search_all() {
    KW_TRY(judge::Judge judge, judge::Judge::open());
    const store::Machine machine = this_machine(judge.tier().name());
    KW_TRY(machine_, store_.add_machine(machine));
    versions_ = std::make_unique<RivalVersions>(machine);
    std::int64_t before = 0;
    for (const Task& task : tasks_) before += done_.contains(store::hash_of(snapshot(task))) ? 1 : 0;
    progress_.plan(plan_of(before));
    std::int64_t left = std::ssize(tasks_) - before;
    const auto begin = Clock::now();
    double sizes_left = 0;
    for (const Task& task : tasks_) {
      if (!done_.contains(store::hash_of(snapshot(task)))) sizes_left += judging_size(task);
    }
    double judged_s = kJudging_s * kJudgingBelief, judged_sizes = kJudgingBelief;
    for (const Task& task : tasks_) {
      if (done_.contains(store::hash_of(snapshot(task)))) continue;
      search::Budget budget = budget_;
      if (within_s_ > 0) {
        const double judging_s = judged_s / judged_sizes * sizes_left;
        const double share_s = (within_s_ - seconds_since(begin) - judging_s) / static_cast<double>(left);
        budget.seconds = std::max(kLeastSearch_s, budget.seconds > 0 ? std::min(budget.seconds, share_s) : share_s);
      }
      const double size = judging_size(task);
      const auto task_begin = Clock::now();
      KW_CHECK(search_one(judge, task, budget));
      if (!is_of_one_task()) progress_.advance();
      // What a search took beyond its share counts as judging: of large tasks a single glance does.
      judged_s += std::max(seconds_since(task_begin) - budget.seconds, 0.0);
      judged_sizes += size;
      sizes_left -= size;
      --left;
    }
    return {};
  }

  // One task is not counted as tasks: "0 of 1" until the end says nothing.
  bool is_of_one_task() const { return tasks_.size() == 1; }

  report::Plan plan_of(std::int64_t tasks_before) const {
    const double seconds = is_of_one_task() && budget_.seconds > 0 ? budget_.seconds : within_s_;
    report::Plan plan{.title = run_.name(), .unit = "tasks", .total = std::ssize(tasks_), .done = tasks_before};
    if (is_of_one_task() && tasks_before == 0) plan = {.title = run_.name(), .total = budget_.candidates};
    if (seconds > 0) plan.budget_s = seconds;
    return plan;
  }

  static double judging_size(const Task& task) {
    const auto graph = ops::resolve(task);
    return graph.ok() ? 1 + ops::cost_of(*graph).bytes() / kJudgingBytes : 1;
  }

  Result<std::vector<search::Kernel>> kernels_of(const ops::Graph& graph) const {
    std::vector<search::Kernel> kernels;
    if (kernel_) {
      KW_TRY(Tunables tunables, read_tunables(kernel_->text));
      kernels.push_back({"file", kernel_->name, kernel_->text, std::move(tunables)});
      return kernels;
    }
    KW_TRY(std::vector<compose::Draft> drafts, compose::drafts_of(graph, techniques_));
    for (compose::Draft& draft : drafts) {
      kernels.push_back({draft.technique, draft.technique + ".cpp", std::move(draft.source), std::move(draft.tunables),
                         draft.technique == compose::kPlain});
    }
    return kernels;
  }

  Status search_one(judge::Judge& judge, const Task& task, const search::Budget& budget) {
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    KW_TRY(std::vector<search::Kernel> kernels, kernels_of(graph));
    KW_TRY(const search::Space space, search::Space::of(std::move(kernels), compilers_));
    KW_TRY(auto lessons, search::recall(store_, machine_identity(), graph, space));
    KW_TRY(auto leanings, search::recall_leanings(store_, machine_identity(), graph));
    const auto strategy = strategy_.make({.space = &space,
                                          .seed = static_cast<std::uint64_t>(run_.about.seed.value_or(1)),
                                          .lessons = std::move(lessons),
                                          .leanings = std::move(leanings)});
    const auto& known = known_[store::hash_of(snapshot(task))];
    std::vector<search::Observation> observed;
    progress_.start(kSearching, task.name, "", "searching");
    search::Plan plan{.task = &task, .space = &space, .strategy = strategy.get(), .budget = budget};
    plan.tried = [&](const search::Trial& trial) -> Status {
      observed.push_back({trial.point, trial.time});
      KW_CHECK(record(task, space, trial.point, trial.asked, trial.verdict, trial.spent_s, "search"));
      progress_.finish(kTried, task.name, space.text(trial.point), trial.verdict);
      if (is_of_one_task()) progress_.advance();
      if (trial.time) progress_.best(task.name, space.text(trial.point), 1 / *trial.time, "the first");
      return {};
    };
    plan.known = [&](const search::Point& point) -> std::optional<search::Observation> {
      const store::NewItem item = planned(0, search::case_of(task, space, point), "null");
      const auto found = known.find(name_of_candidate(store::sha256(item.candidate->source), item.candidate->settings));
      if (found == known.end()) return std::nullopt;
      return search::Observation{point, found->second};
    };
    KW_TRY(const search::Found found, search::search(judge, plan));

    progress_.start(kSearching, task.name, "", "judging the best");
    judge::Case rules = rules_;
    KW_TRY(rules.guests, guests_.of(task, rules.threads));
    // Where no framework runs it, there is still the plain kernel to be compared with.
    rules.plain = rules.guests.empty();
    KW_TRY(
        const search::Winner winner,
        search::decide(judge, task, space, found, rules,
                       [&](const search::Point& point, const judge::Case& asked, const Verdict& verdict,
                           double spent_s) { return record(task, space, point, asked, verdict, spent_s, "confirm"); }));
    // Only now: a search that is resumed before its winner was judged must begin from what it began from.
    KW_CHECK(search::remember(store_, machine_identity(), graph, space, observed));
    const search::Kernel& kernel = space.kernels()[winner.point.kernel];
    progress_.finish(kSearching, task.name, space.text(winner.point), winner.verdict);
    ended_({.task = task.name,
            .technique = kernel.technique,
            .file = kernel.file,
            .source = kernel.source,
            .settings = space.settings(winner.point),
            .verdict = winner.verdict,
            .tried = found.tried,
            .exhausted = found.exhausted});
    return {};
  }

  Status record(const Task& task, const search::Space& space, const search::Point& point, const judge::Case& asked,
                const Verdict& verdict, double spent_s, const std::string& purpose) {
    const std::lock_guard guard(lock_);
    if (Interruption::happened()) return {};
    judge::Case plain_case = asked;
    plain_case.task = &task;
    store::NewItem item = planned(++position_, plain_case, "null");
    item.purpose = purpose;
    item.candidate->author = run_.about.author;
    item.candidate->notes = space.kernels()[point.kernel].technique;
    auto versions = versions_->of(plain_case);
    versions.erase("reference");
    return store_.add_judged(run_.id, item, verdict, judge::verdict_as_json(verdict),
                             {.machine = machine_,
                              .spent_s = spent_s,
                              .terms = terms_of(plain_case),
                              .key = store::sha256(judge::key_of(plain_case) + purpose),
                              .versions = versions});
  }

  void last_words() {
    const std::lock_guard guard(lock_);
    if (finished_) return;
    progress_.end("stopped");
    [[maybe_unused]] const Status noted = store_.set_state(run_.id, "stopped", "stopped", "interrupted");
    say_stopped(store_, run_.id);
  }

  store::Store& store_;
  const store::RunSummary run_;
  Progress& progress_;
  const TaskEnded& ended_;
  judge::Case rules_;
  Guests guests_;
  search::Budget budget_;
  double within_s_ = 0;
  search::StrategyKind strategy_;
  std::optional<judge::Source> kernel_;
  std::vector<Task> tasks_;
  std::vector<compose::Technique> techniques_;
  std::vector<std::string> compilers_;
  std::set<std::string> done_;  // hashes of tasks
  // Of each task: what came of each candidate.
  std::map<std::string, std::map<std::string, std::optional<double>>> known_;
  std::int64_t position_ = 0;
  std::int64_t machine_ = 0;
  std::unique_ptr<RivalVersions> versions_;
  bool finished_ = false;
  std::mutex lock_;  // of the record
};

}  // namespace

bool is_search(const store::RunSummary& run) { return !run.about.strategy.empty(); }

Result<std::int64_t> begin_search(store::Store& store, const SearchOrder& order) {
  KW_TRY([[maybe_unused]] const search::Budget budget, search::parse_budget(order.budget));
  KW_TRY([[maybe_unused]] const search::StrategyKind kind, search::find_strategy(order.strategy));
  judge::Case how;
  how.threads = order.threads;
  how.cold = order.cold;
  how.budget_s = order.confirm_s;
  Json rules = Json::parse(rules_as_json(how, true, order.rivals));
  rules["search"] = {{"budget", order.budget}};
  if (order.within_s > 0) rules["search"]["within_s"] = order.within_s;
  if (order.kernel) {
    rules["search"]["kernel"] = {{"file", as_utf8(order.kernel->name)}, {"source", order.kernel->text}};
  }
  Json tasks = Json::array();
  for (const Task& task : order.tasks) {
    const store::TaskSnapshot one = snapshot(task);
    tasks.push_back({{"name", one.name}, {"category", one.category}, {"text", one.text}});
  }
  rules["tasks"] = std::move(tasks);
  return store.begin_run({.command = command_line(),
                          .suite = as_utf8(order.suite),
                          .author = order.author,
                          .strategy = order.strategy,
                          .seed = order.seed,
                          .rules = rules.dump()},
                         {});
}

Status work_on_search(store::Store& store, std::int64_t run, Progress& progress, const TaskEnded& ended) {
  KW_TRY(const store::RunSummary summary, store.run(run));
  return SearchWorker(store, summary, progress, ended).work();
}

}  // namespace kw::cli
