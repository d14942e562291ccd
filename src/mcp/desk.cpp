#include "mcp/desk.h"

#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/nearest.h"
#include "core/settings_json.h"
#include "judge/floor.h"
#include "judge/kills.h"
#include "judge/sample.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "runs/performance.h"
#include "runs/run.h"
#include "search/engine.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::mcp {
namespace {

// The number of jobs that are remembered when they are over; older ones are read from the record.
constexpr std::size_t kMostRemembered = 256;
// The number of runs that are held open besides those with work in them.
constexpr std::size_t kMostIdleRuns = 32;
// Of searches over tunables.
constexpr char kStrategy[] = "auto";

// A run that this desk works on.
struct OpenRun {
  std::shared_ptr<runs::Run> run;
  std::int64_t open = 0;  // items without a verdict
};

// "r3.5" is run 3, position 5.
struct JobName {
  std::int64_t run = 0;
  std::int64_t position = 0;
};

Result<JobName> parse_id(const std::string& id) {
  JobName name;
  int end = 0;
  long long run = 0, position = 0;
  if (id.size() > 32 || std::sscanf(id.c_str(), "r%lld.%lld%n", &run, &position, &end) != 2 ||
      static_cast<std::size_t>(end) != id.size() || run <= 0 || position <= 0) {
    return fail("'{}' is no id: submit_kernel gives one, such as r3.5", id.substr(0, 40));
  }
  return JobName{run, position};
}

}  // namespace

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::waiting:
      return "waiting";
    case JobState::examining:
      return "examining";
    case JobState::timing:
      return "timing";
    case JobState::tuning:
      return "tuning";
    case JobState::judged:
      return "judged";
    case JobState::failed:
      return "failed";
    case JobState::stopped:
      return "stopped";
  }
  return "";
}

// The runs' loop (runs/run.h) works off its queue.
struct Desk::Inside final : runs::Pieces {
  // A submission on its way: what a worker of the loop has in hand.
  struct Job final : runs::Piece {
    explicit Job(Inside& desk) : inside(desk) {}

    runs::Run& run() override { return *its_run; }
    Status work(const std::shared_ptr<judge::Judge>& judge) override;
    std::int64_t recorded() override { return verdict ? 1 : 0; }
    // The others go on, whatever became of this one.
    Status end(Status status) override;

    Inside& inside;
    JobStatus progress;  // guarded by the desk's lock
    judge::Case one;
    std::optional<Tuning> tuning;
    bool look_into = false;
    std::int64_t item = 0;
    std::shared_ptr<runs::Run> its_run;
    // What its worker alone knows.
    std::optional<Clock::time_point> begin;
    std::optional<Verdict> verdict;  // that is in the record
    std::optional<Tuned> tuned;
    std::string code;
  };

  explicit Inside(const DeskRules& desk_rules) : rules(desk_rules) {}

  const DeskRules& rules;

  mutable std::mutex lock;  // of the queue and the jobs
  mutable std::condition_variable_any changed;
  std::deque<std::shared_ptr<Job>> waiting;
  std::map<std::string, std::shared_ptr<Job>> jobs;
  std::deque<std::string> over;  // the oldest first
  bool hurried = false;

  runs::Stop stopping;  // asked for: nothing more is begun or recorded

  mutable std::mutex runs_lock;  // of what follows; never taken while `lock` is held
  std::optional<store::Store> store;
  std::optional<runs::Workplace> workplace;  // with the store
  std::map<std::string, OpenRun> runs;       // by client and order
  std::int64_t comparisons = 0;

  judge::Floor floor;
  std::jthread loop;

  // --- the queue -----------------------------------------------------------------------------------------------------
  std::shared_ptr<runs::Piece> next() override {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return !waiting.empty() || stopping.asked(); });
    if (stopping.asked()) return nullptr;
    std::shared_ptr<Job> job = waiting.front();
    waiting.pop_front();
    return job;
  }
  int workers() const override { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

  // --- the record ----------------------------------------------------------------------------------------------------
  Status open_store() {
    if (store) return {};
    KW_TRY(store::Store opened, store::Store::open(rules.store_folder));
    store.emplace(std::move(opened));
    // A client's connection is not the warden's to hold open.
    workplace.emplace(*store, rules.device,
                      [] { [[maybe_unused]] const int done = ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC); });
    return {};
  }

  Result<OpenRun*> begin_run(const std::string& client, const judge::Case& one) {
    const runs::Order order{.suite = one.task->suite, .rules = one, .rivals = rules.rivals};
    store::NewRun run = runs::run_of(order, rules.command);
    run.author = client;
    std::string key = client + "\n" + run.suite + "\n" + run.rules;
    // The run records which kernels were compared: each comparison is a run of its own.
    if (!one.against.empty()) key += "\n" + std::to_string(comparisons++);
    if (const auto found = runs.find(key); found != runs.end()) return &found->second;
    if (runs.size() >= kMostIdleRuns) {
      std::erase_if(runs, [&](const auto& named) { return named.second.open == 0 && end_run(*named.second.run).ok(); });
    }
    KW_TRY(std::shared_ptr<runs::Run> begun, runs::Run::begin(*workplace, run, {}, stopping));
    return &runs.emplace(key, OpenRun{std::move(begun)}).first->second;
  }

  static Status end_run(runs::Run& run) {
    KW_TRY(const std::string left, run.unjudged());
    return run.end(left.empty(), left);
  }

  Status plan(const std::string& client, const std::string& notes, Job& job) {
    const std::lock_guard guard(runs_lock);
    if (stopping.asked()) return fail("the service is ending");
    KW_CHECK(open_store());
    KW_TRY(OpenRun* const run, begin_run(client, job.one));
    store::NewItem item = runs::planned(0, job.one, "null");
    item.candidate->author = client;
    item.candidate->notes = runs::as_utf8(notes);
    if (!job.one.against.empty()) item.purpose = store::Purpose::compare;
    const auto added = run->run->add_item(item);
    if (!added.ok()) return stopping.asked() ? fail("the service is ending") : added.error();
    job.item = *added;
    ++run->open;
    job.its_run = run->run;
    job.progress.id = fmt::format("{}.{}", run->run->name(), item.position);
    return {};
  }

  // A kernel that a search chose and had judged; its id.
  Result<std::string> record_choice(const Job& job, const judge::Case& asked, const Verdict& verdict, double spent_s) {
    store::NewItem item = runs::planned(0, asked, "null");
    item.candidate->author = job.its_run->summary().about.author;
    item.purpose = store::Purpose::confirm;
    KW_TRY(const std::int64_t id, job.its_run->add_item(item));
    KW_CHECK(job.its_run->record(id, asked, verdict, spent_s));
    return fmt::format("{}.{}", job.its_run->name(), item.position);
  }

  void close_item(const Job& job) {
    const std::lock_guard guard(runs_lock);
    for (auto& [key, run] : runs) run.open -= run.run == job.its_run ? 1 : 0;
  }

  // --- judging -------------------------------------------------------------------------------------------------------
  void set_state(Job& job, JobState state) {
    const std::lock_guard guard(lock);
    job.progress.state = state;
    changed.notify_all();
  }

  Result<Verdict> judge_once(judge::Judge& the_judge, Job& job) {
    set_state(job, JobState::examining);
    judge::Inspected inspected;
    {
      const judge::Beside others(&floor);
      KW_TRY(inspected, the_judge.inspect(job.one));
      if (inspected.verdict.accepted() && job.look_into) {
        KW_TRY(const std::vector<std::uint64_t> samples,
               judge::sample_calls(*job.one.task, the_judge.device(), *inspected.built, job.one.threads));
        job.code = runs::code_for_author(the_judge.device().look_into(*inspected.built, {.samples = samples}));
      }
    }
    if (!inspected.verdict.accepted() || !job.one.timed) return inspected.verdict;
    const judge::Alone alone(&floor);
    set_state(job, JobState::timing);
    if (rules.frameworks) {
      KW_TRY(job.one.frameworks, rules.frameworks(*job.one.task, job.one.threads));
    }
    return the_judge.time(job.one, std::move(inspected));
  }

  // The best values of a kernel's tunables that the budget finds. The search builds on all cores and times on one, so
  // that it has the floor.
  Result<Tuned> tune(judge::Judge& the_judge, Job& job) {
    KW_TRY(Tunables tunables, read_tunables(job.one.source.text));
    KW_TRY(const search::Space space,
           search::Space::of({{"submitted", job.one.source.name, job.one.source.text, std::move(tunables)}},
                             targets::build_options(rules.device)));
    KW_TRY(const search::StrategyKind kind, search::find_strategy(kStrategy));
    const std::unique_ptr<search::Strategy> strategy = kind.make({.space = &space});
    const judge::Alone alone(&floor);
    set_state(job, JobState::tuning);
    search::SearchJob plan{.task = job.one.task,
                           .space = &space,
                           .strategy = strategy.get(),
                           .threads = job.one.threads,
                           .cold = job.one.cold};
    plan.budget = {.seconds = job.tuning->seconds, .candidates = job.tuning->candidates};
    plan.tried = [&](const search::Trial&) -> Status {
      if (stopping.asked()) return fail("the service is ending");
      return {};
    };
    KW_TRY(const search::Found found, search::search(the_judge, plan));
    Tuned tuned{.tried = found.tried};
    KW_TRY(const search::Winner winner, search::decide(the_judge, *job.one.task, space, found, job.one,
                                                       [&](const search::Point&, const judge::Case& asked,
                                                           const Verdict& verdict, double spent_s) -> Status {
                                                         KW_TRY(tuned.id, record_choice(job, asked, verdict, spent_s));
                                                         return {};
                                                       }));
    tuned.settings = space.settings(winner.point);
    tuned.verdict = winner.verdict;
    return tuned;
  }

  void forget_old(const std::string& id) {
    over.push_back(id);
    if (over.size() <= kMostRemembered) return;
    jobs.erase(over.front());
    over.pop_front();
  }

  JobStatus progress_of(const Job& job) const {
    JobStatus progress = job.progress;
    if (progress.state == JobState::waiting) {
      const auto place = std::ranges::find_if(waiting, [&](const auto& one) { return one.get() == &job; });
      progress.ahead = static_cast<std::size_t>(place - waiting.begin());
    }
    return progress;
  }
};

Status Desk::Inside::Job::work(const std::shared_ptr<judge::Judge>& judge) {
  if (!begin) begin = Clock::now();
  if (!verdict) {
    KW_TRY(Verdict found, judge::despite_kills([&] { return inside.judge_once(*judge, *this); }));
    KW_CHECK(its_run->record(item, one, found, std::chrono::duration<double>(Clock::now() - *begin).count()));
    verdict = std::move(found);
  }
  if (tuning && verdict->accepted()) {
    KW_TRY(tuned, inside.tune(*judge, *this));
  }
  return {};
}

Status Desk::Inside::Job::end(Status status) {
  const std::string problem = status.ok() ? "" : status.error().message;
  if (!verdict) {
    [[maybe_unused]] const Status noted =
        its_run->note(store::EventKind::problem, fmt::format("{}: {}", progress.id, problem));
  }
  inside.close_item(*this);
  its_run.reset();  // what is remembered of a job holds no lock
  const std::lock_guard guard(inside.lock);
  progress.state = verdict ? JobState::judged : inside.stopping.asked() ? JobState::stopped : JobState::failed;
  progress.problem = problem;
  progress.verdict = std::move(verdict);
  progress.tuned = std::move(tuned);
  progress.code = std::move(code);
  inside.forget_old(progress.id);
  inside.changed.notify_all();
  return {};
}

Desk::Desk(DeskRules rules) : rules_(std::move(rules)), inside_(new Inside(rules_)) {}

Result<std::unique_ptr<Desk>> Desk::open(DeskRules rules) {
  std::unique_ptr<Desk> desk(new Desk(std::move(rules)));
  KW_TRY(desk->suites_, suites::installed_suites());
  if (!desk->rules_.tasks.empty()) {
    suites::Suite more{"", "given at the start", desk->rules_.tasks};
    desk->suites_.insert(desk->suites_.begin(), std::move(more));
  }
  Inside& inside = *desk->inside_;
  inside.loop = std::jthread([&inside] {
    // No job ends it with an error.
    [[maybe_unused]] const Status ended = runs::work_off(inside);
  });
  return desk;
}

Desk::~Desk() {
  stop();
  inside_->loop = {};  // joined
}

Result<const Task*> Desk::find_task(const std::string& name) const {
  std::vector<std::string> names;
  for (const suites::Suite& suite : suites_) {
    for (const Task& task : suite.tasks) {
      if (task.name == name || suite.name + "/" + task.name == name) return &task;
      names.push_back(task.name);
    }
  }
  return fail("no task is called '{}'{}; list_tasks tells which there are", name.substr(0, 80),
              nearest_hint(name.substr(0, 80), names));
}

Result<JobStatus> Desk::submit(const std::string& client, Submission submission) {
  Inside& inside = *inside_;
  const auto job = std::make_shared<Inside::Job>(inside);
  job->one.device = rules_.device;
  job->one.task = submission.task;
  job->one.source = std::move(submission.source);
  job->one.settings = std::move(submission.settings);
  job->one.against = std::move(submission.against);
  job->one.timed = submission.timed;
  job->one.budget_s = submission.budget_s;
  job->tuning = submission.tuning;
  job->look_into = submission.look_into;
  job->progress.task = submission.task->name;
  job->progress.file = job->one.source.name;
  if (job->one.source.text.find('\0') != std::string::npos) return fail("the source has zero bytes in it");
  if (const auto tunables = read_tunables(job->one.source.text); tunables.ok() && !job->one.settings.empty()) {
    KW_TRY([[maybe_unused]] const Choice choice,
           choose(*tunables, job->one.settings, targets::build_options(rules_.device)));
  }
  const auto full = [&]() -> Status {
    if (inside.stopping.asked()) return fail("the service is ending");
    if (inside.waiting.size() < rules_.most_waiting) return {};
    return fail("{} kernels wait to be judged already, and no more are taken: wait for a verdict, then submit again",
                inside.waiting.size());
  };
  {
    const std::lock_guard guard(inside.lock);
    KW_CHECK(full());
  }
  KW_CHECK(inside.plan(client, submission.notes, *job));
  const std::lock_guard guard(inside.lock);
  // It may have ended meanwhile, and then no worker would take the job: it stays open in the record, for `kw resume`.
  if (inside.stopping.asked()) {
    job->progress.state = JobState::stopped;
    inside.jobs[job->progress.id] = job;
    return inside.progress_of(*job);
  }
  inside.jobs[job->progress.id] = job;
  inside.waiting.push_back(job);
  inside.changed.notify_all();
  return inside.progress_of(*job);
}

Result<Submitted> Desk::find(const std::string& id) const {
  {
    const std::lock_guard guard(inside_->lock);
    if (const auto found = inside_->jobs.find(id); found != inside_->jobs.end()) {
      const Inside::Job& job = *found->second;
      return Submitted{inside_->progress_of(job), job.one.source, job.one.settings};
    }
  }
  KW_TRY(const JobName name, parse_id(id));
  std::optional<Submitted> found;
  KW_CHECK(with_store([&](const store::Store* store) -> Status {
    if (!store) return {};
    const auto run = store->find_run(fmt::format("r{}", name.run));
    if (!run.ok()) return {};
    return store->each_recorded(name.run, [&](const store::Recorded& one) -> Status {
      if (one.position != name.position) return {};
      Submitted submitted;
      JobStatus& progress = submitted.progress;
      progress.id = id;
      progress.task = one.task;
      progress.file = one.file;
      progress.problem = one.problem;
      progress.state = one.judged ? JobState::judged : !one.problem.empty() ? JobState::failed : JobState::stopped;
      if (one.judged) {
        KW_TRY(progress.verdict, judge::verdict_from_json(one.json));
      }
      if (!one.source_hash.empty()) {
        KW_TRY(std::string text, store->source(one.source_hash));
        submitted.source = {one.file, std::move(text)};
        KW_TRY(submitted.settings, settings_from_json(one.settings));
      }
      found = std::move(submitted);
      return {};
    });
  }));
  if (!found) return fail("nothing with the id {} was recorded", id);
  return *std::move(found);
}

Result<JobStatus> Desk::look(const std::string& id) const {
  KW_TRY(Submitted submitted, find(id));
  return std::move(submitted.progress);
}

Result<JobStatus> Desk::wait(const std::string& id, Clock::time_point until, std::stop_token stop,
                             const std::function<void(const JobStatus&)>& changed) const {
  Inside& inside = *inside_;
  std::shared_ptr<Inside::Job> job;
  {
    const std::lock_guard guard(inside.lock);
    if (const auto found = inside.jobs.find(id); found != inside.jobs.end()) job = found->second;
  }
  if (!job) return look(id);
  for (;;) {
    JobStatus seen;
    {
      const std::lock_guard guard(inside.lock);
      seen = inside.progress_of(*job);
      if (seen.over() || inside.hurried || stop.stop_requested() || Clock::now() >= until) return seen;
    }
    if (changed) changed(seen);
    std::unique_lock guard(inside.lock);
    inside.changed.wait_until(guard, stop, until, [&] {
      const JobStatus now = inside.progress_of(*job);
      return inside.hurried || now.state != seen.state || now.ahead != seen.ahead;
    });
  }
}

Status Desk::with_store(const std::function<Status(const store::Store*)>& use) const {
  Inside& inside = *inside_;
  {
    const std::lock_guard guard(inside.runs_lock);
    if (!inside.store && store::Store::is_in(rules_.store_folder)) KW_CHECK(inside.open_store());
    if (!inside.store) return use(nullptr);
  }
  const auto held = inside.workplace->hold();
  return use(&*inside.store);
}

void Desk::hurry() {
  const std::lock_guard guard(inside_->lock);
  inside_->hurried = true;
  inside_->changed.notify_all();
}

void Desk::stop() {
  {
    const std::lock_guard guard(inside_->lock);
    if (inside_->stopping.asked()) return;
    inside_->stopping.ask();
    inside_->hurried = true;
    for (const auto& job : inside_->waiting) job->progress.state = JobState::stopped;
    inside_->waiting.clear();
    inside_->changed.notify_all();
  }
  const std::lock_guard guard(inside_->runs_lock);
  for (const auto& [key, open] : inside_->runs) {
    // Where it cannot be written, the run is open and not locked: resumable all the same.
    [[maybe_unused]] const Status noted = inside_->end_run(*open.run);
  }
}

}  // namespace kw::mcp
