#include "agents/author_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "agents/lessons.h"
#include "core/settings_json.h"
#include "core/tunable_defaults.h"
#include "core/verdict.h"
#include "judge/kills.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "runs/ranking.h"
#include "runs/takeaway.h"
#include "store/seal.h"
#include "targets/target.h"

namespace kw::agents {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kConfirm_s = 1.5;  // of timing, for the best one

std::string hash_of_task(const Task& task) { return store::hash_of(runs::snapshot(task)); }

// What progress calls the work on a task.
std::int64_t id_of(std::size_t place) { return static_cast<std::int64_t>(place) + 1; }

std::string beside_text(const Round& round) {
  if (!round.beside) return "";
  const std::string now = round.beside_now && round.beside_now->with == round.beside->with
                              ? fmt::format("; {:.3f} now", round.beside_now->median)
                              : "";
  return fmt::format(", {:.3f} x round {} ({}{}{})", round.beside->median, round.beside->with,
                     outcome_of(*round.beside), round.beside->taped ? ", says the tape" : "", now);
}

// A line for a person.
std::string line_of(const Task& task, const Round& round) {
  std::string result = round.problem;
  if (round.differs_from_tape()) {
    const std::string then = round.right() ? "right" : fmt::format("rejected at {}", name_of(*round.taped));
    const std::string now = round.right() ? fmt::format("rejected at {}: {}", name_of(round.verdict->stage),
                                                        text_of(round.verdict->reason).substr(0, 100))
                                          : fmt::format("came to {}", name_of(round.verdict->stage));
    result = fmt::format("{} on the tape{}; now {}", then, beside_text(round), now);
  } else if (round.verdict) {
    result = !round.left_out.empty() ? "right, " + round.left_out
             : round.right()         ? fmt::format("right, {:.2f} x plain{}", round.speed(), beside_text(round))
                                     : fmt::format("rejected at {}: {}", name_of(round.verdict->stage),
                                                   text_of(round.verdict->reason).substr(0, 100));
  }
  return fmt::format("  {:<24} round {:>2} {:<12} {}{}", task.name.substr(0, 24), round.number, name_of(round.role),
                     round.parent >= 0 ? fmt::format("from {}: ", round.parent) : "", result);
}

}  // namespace

int AuthorWork::most_at_once() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

Status AuthorWork::prepare(runs::Run& run) {
  KW_TRY(order_, runs::order_of(run.summary()));
  if (run.summary().about.author != author_name()) {
    return fail("{} is the work of {}; {} cannot go on with it", run.name(), run.summary().about.author, author_name());
  }
  KW_TRY(options_.author, find_author(terms_.author));
  options_.rounds = terms_.rounds;
  options_.rules = order_.rules;
  options_.repository = terms_.repository;
  options_.floor = &floor_;
  options_.decisions = decisions_;
  options_.seed = terms_.seed;
  results_.resize(order_.tasks.size());
  written_.resize(order_.tasks.size());
  KW_CHECK(read_record(run));
  for (std::size_t i = 0; i < order_.tasks.size(); ++i) {
    results_[i].task = order_.tasks[i].name;
    if (!results_[i].finished) left_.push_back(i);
    if (results_[i].finished) KW_CHECK(take_away_if_asked(i));
  }
  return {};
}

// What earlier work on this run knows.
Status AuthorWork::read_record(runs::Run& run) {
  const auto held = run.workplace().hold();
  const store::Store& store = run.workplace().store();
  std::map<std::string, std::size_t> place_of;
  for (std::size_t i = 0; i < order_.tasks.size(); ++i) place_of[hash_of_task(order_.tasks[i])] = i;
  KW_TRY(auto recorded, recorded_rounds(store, run.id()));
  for (auto& [hash, rounds] : recorded) {
    const auto place = place_of.find(hash);
    if (place == place_of.end()) continue;
    Written& written = written_[place->second];
    results_[place->second].rounds = static_cast<int>(rounds.rounds.size());
    written.rounds = std::move(rounds.rounds);
    for (std::size_t i = 0; i < rounds.candidates.size(); ++i) {
      if (!rounds.candidates[i].empty()) written.candidates[static_cast<int>(i)] = rounds.candidates[i];
    }
  }
  KW_CHECK(store.each_recorded(run.id(), [&](const store::Recorded& one) -> Status {
    const auto place = place_of.find(one.task_hash);
    if (one.purpose != store::Purpose::confirm || !one.judged || place == place_of.end()) return {};
    KW_TRY(const bool is_own, store::is_own_verdict(store.database(), one.item));
    if (!is_own) return {};
    AuthoredTask& result = results_[place->second];
    KW_TRY(const store::Candidate candidate, store.candidate(one.candidate_hash));
    result.source = candidate.source;
    KW_TRY(result.settings, settings_from_json(candidate.settings));
    KW_TRY(result.verdict, judge::verdict_from_json(one.json));
    return {};
  }));
  KW_TRY(const auto events, store.events(run.id()));
  for (const store::Event& event : events) {
    if (event.kind != store::EventKind::finished) continue;
    const auto place = place_of.find(event.text.substr(event.text.rfind(' ') + 1));
    if (place != place_of.end()) results_[place->second].finished = true;
  }
  return {};
}

report::PlannedWork AuthorWork::plan(const runs::Run& run) const {
  const auto total = std::ssize(order_.tasks);
  return {.title = run.name(), .unit = "tasks", .total = total, .done = total - std::ssize(left_)};
}

// More sessions than requests: while one waits for the judge, another one asks. A single request at a time stays with a
// single session: the model may live on the cores that the judge times on.
int AuthorWork::workers() const { return terms_.in_flight == 1 ? 1 : 2 * terms_.in_flight; }

Status AuthorWork::do_item(runs::Run& run, runs::Observer& observer, const std::shared_ptr<judge::Judge>& judge,
                           std::size_t index) {
  const std::size_t place = left_[index];
  if (hopeless_) return {};
  const Task& task = order_.tasks[place];
  // Resolved before a kernel is asked for, so that a task which nothing can be written for is known at once.
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  observer.start(id_of(place), task.name, "", "asking the model");
  SessionOptions options = options_;
  {
    const std::lock_guard guard(lock_);
    options.lessons = lessons_for(run.workplace().store().folder(), task);
  }
  options.before = written_[place].rounds;
  KW_TRY(options.start, start_of(run, task));
  Journal journal(run.workplace().store().folder() / "unfinished" /
                  fmt::format("{}-{}.jsonl", run.name(), hash_of_task(task).substr(0, 16)));
  options.journal = &journal;
  if (rivals_.names() != "best") {
    KW_TRY(options.frameworks, rivals_.of(task, options.rules.threads));
  }
  const auto each = [&](const Round& round, const judge::Case& asked, double spent_s) {
    return record(run, observer, place, round, asked, spent_s);
  };
  KW_TRY(const SessionResult outcome, run_session(*judge, task, graph, client_, prompts_, options, each));
  AuthoredTask& result = results_[place];
  result.rounds = static_cast<int>(outcome.work.rounds.size());
  result.times = outcome.times;
  result.over = outcome.over;
  result.troubles = outcome.troubles;
  for (const Round& round : outcome.work.rounds) {
    if (round.role != RoundRole::start && round.verdict) result.verdict = round.verdict;
  }
  // The kernel to begin with is not the model's work and is not returned as its best; except that a user's own kernel
  // is not replaced by one that is not faster.
  const Round* best = outcome.work.best_of_author();
  if (order_.kernel && best != nullptr) best = outcome.work.best();
  if (best != nullptr) KW_CHECK(confirm(run, observer, *judge, place, *best));
  KW_CHECK(end(run, observer, place, outcome));
  return take_away_if_asked(place);
}

Result<Start> AuthorWork::start_of(runs::Run& run, const Task& task) const {
  if (order_.kernel) return Start{Start::Kind::own, order_.kernel->text};
  if (terms_.start == name_of(Start::Kind::nothing)) return Start{};
  if (terms_.start == name_of(Start::Kind::plain)) return Start{Start::Kind::plain};
  if (terms_.start != name_of(Start::Kind::best)) return fail("a run cannot start from '{}'", terms_.start);
  const auto held = run.workplace().hold();
  KW_TRY(const auto best, runs::best_kernel(run.workplace().store(), task, order_.rules.device));
  // Without a kernel on record the author begins with nothing.
  if (!best) return Start{};
  KW_TRY(std::string source, with_defaults(best->source, best->settings, targets::build_options(order_.rules.device)));
  return Start{Start::Kind::best, std::move(source)};
}

Result<Verdict> AuthorWork::judge_again(judge::Judge& judge, const judge::Case& one) {
  return judge::despite_kills([&]() -> Result<Verdict> {
    judge::Inspected inspected;
    {
      const judge::Beside others(&floor_);
      KW_TRY(inspected, judge.inspect(one));
    }
    const judge::Alone alone(&floor_);
    return judge.time(one, std::move(inspected));
  });
}

// Measures the best kernel once more, on new inputs and beside the frameworks, so that the luck of having been chosen
// is not counted.
Status AuthorWork::confirm(runs::Run& run, runs::Observer& observer, judge::Judge& judge, std::size_t place,
                           const Round& best) {
  const Task& task = order_.tasks[place];
  judge::Case one = order_.rules;
  one.task = &task;
  one.source = {kernel_name(), best.source};
  one.settings = best.settings;
  one.budget_s = kConfirm_s;
  const Clock::time_point begin = Clock::now();
  observer.start(id_of(place), task.name, "", "judging the best");
  if (rivals_.names() == "best") {
    // Choosing the fastest framework may time all of them.
    const judge::Alone alone(&floor_);
    KW_TRY(one.frameworks, rivals_.of(task, one.threads));
  } else {
    KW_TRY(one.frameworks, rivals_.of(task, one.threads));
  }
  Round again = best;
  KW_TRY(again.verdict, judge_again(judge, one));
  AuthoredTask& result = results_[place];
  again.number = result.rounds;
  again.parent = best.number;
  again.role = RoundRole::confirm;
  // It is judged beside the frameworks and now, not beside an incumbent and not by a tape.
  again.beside.reset();
  again.beside_now.reset();
  again.taped.reset();
  KW_CHECK(record(run, observer, place, again, one, std::chrono::duration<double>(Clock::now() - begin).count()));
  result.source = best.source;
  result.settings = best.settings;
  result.verdict = again.verdict;
  return {};
}

Status AuthorWork::record(runs::Run& run, runs::Observer& observer, std::size_t place, const Round& round,
                          const judge::Case& asked, double spent_s) {
  const Task& task = order_.tasks[place];
  Written& written = written_[place];
  const std::int64_t id = id_of(place);
  const std::string candidate = fmt::format("round {} {}", round.number, name_of(round.role));
  if (!round.problem.empty()) {
    // The line of a round without a kernel says why there is none.
    store::NewItem item{.purpose = purpose_of(round),
                        .task = runs::snapshot(task),
                        .label = label_of(round),
                        .problem = runs::as_utf8(round.problem)};
    KW_TRY([[maybe_unused]] const std::int64_t added, run.add_item(item));
    observer.error(store::EventKind::no_kernel, task.name + ", " + candidate + ": " + runs::as_utf8(round.problem));
  } else {
    store::NewItem item = runs::planned(0, asked, label_of(round));
    item.purpose = purpose_of(round);
    const std::string given = order_.kernel ? "file" : terms_.start == "best" ? "record" : "plain";
    const bool is_given = round.role == RoundRole::start || (order_.kernel && round.source == order_.kernel->text);
    item.candidate->author = is_given ? given : author_name();
    item.candidate->source = runs::as_utf8(item.candidate->source);
    item.candidate->notes = notes_of(round);
    if (const auto parent = written.candidates.find(round.parent); parent != written.candidates.end()) {
      item.candidate->parents = {parent->second};
    }
    const std::string hash = store::hash_of(*item.candidate);
    KW_CHECK(run.add_judged(std::move(item), asked, *round.verdict, spent_s));
    if (round.role != RoundRole::confirm) written.candidates[round.number] = hash;
    observer.finish(id, task.name, candidate, *round.verdict);
    observer.start(id, task.name, "", "asking the model");
  }
  if (round.role != RoundRole::confirm) add_to(written.rounds, round);
  observer.note(line_of(task, round));
  return {};
}

// A task is finished when an event of the record says so; one that ended early stays open for `kw resume`.
Status AuthorWork::end(runs::Run& run, runs::Observer& observer, std::size_t place, const SessionResult& outcome) {
  const Task& task = order_.tasks[place];
  observer.drop(id_of(place));
  observer.note(fmt::format("  {:<24} {}{}", task.name.substr(0, 24),
                            results_[place].accepted() ? "has a kernel" : "has no kernel",
                            outcome.over.empty() ? "" : "; ended early: " + outcome.over));
  if (!outcome.replay.empty()) {
    observer.note(fmt::format("  {:<24} {}", task.name.substr(0, 24), outcome.replay));
    KW_CHECK(run.note(store::EventKind::model, task.name + ": " + outcome.replay));
  }
  if (!outcome.surrogate.empty()) {
    observer.note(fmt::format("  {:<24} {}", task.name.substr(0, 24), outcome.surrogate));
    KW_CHECK(run.note(store::EventKind::model, task.name + ": " + outcome.surrogate));
  }
  for (const std::string& trouble : outcome.troubles) {
    KW_CHECK(run.note(store::EventKind::model, task.name + ": " + trouble));
    observer.error(store::EventKind::model, task.name + ": " + trouble);
  }
  if (!outcome.over.empty()) {
    const std::lock_guard guard(lock_);
    over_ = outcome.over;
    hopeless_ = hopeless_ || outcome.hopeless;
    return run.note(store::EventKind::over, task.name + ": " + outcome.over);
  }
  // Comparisons of a tape were timed on another machine.
  if (decisions_ == nullptr || !decisions_->replays()) {
    const std::lock_guard guard(lock_);
    KW_CHECK(keep_lessons(run.workplace().store().folder(), outcome.work));
  }
  KW_CHECK(
      run.note(store::EventKind::finished, fmt::format("{}, task {}", runs::as_utf8(task.name), hash_of_task(task))));
  results_[place].finished = true;
  observer.advance(1);
  return {};
}

Status AuthorWork::take_away_if_asked(std::size_t place) {
  AuthoredTask& result = results_[place];
  if (order_.out.empty() || !result.accepted()) return {};
  KW_TRY(result.files,
         runs::take_away(order_.out, order_.tasks[place], {kernel_name(), result.source}, result.settings,
                         *result.verdict, order_.rules.device, targets::facts_of(order_.rules.device).name));
  return {};
}

std::string AuthorWork::kernel_name() const { return targets::source_name(order_.rules.device, "kernel"); }

std::string AuthorWork::spent_text() const {
  const llm::Spent spent = client_.spent();
  const std::string served = client_.served_by();
  return fmt::format("{}: {} requests, {} tries, {} input and {} output tokens, {:.4f} US dollars, {} troubles{}",
                     client_.name(), spent.requests, spent.tries, spent.usage.input_tokens, spent.usage.output_tokens,
                     spent.usd, spent.troubles, served.empty() ? "" : "; answered by " + served);
}

Result<std::string> AuthorWork::unfinished(runs::Run& run) {
  if (client_.spent().requests > 0) KW_CHECK(run.note(store::EventKind::model, spent_text()));
  const auto left = std::ranges::count_if(results_, [](const AuthoredTask& task) { return !task.finished; });
  if (left == 0) return std::string();
  return fmt::format("{} of {} tasks {} not finished: {}", left, results_.size(), left == 1 ? "is" : "are", over_);
}

}  // namespace kw::agents
