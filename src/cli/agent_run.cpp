#include "cli/agent_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <thread>

#include "agents/lessons.h"
#include "agents/round_record.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/guests.h"
#include "cli/interruption.h"
#include "cli/model_flags.h"
#include "cli/recorded_run.h"
#include "judge/floor.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "runs/machine.h"
#include "store/run_lock.h"
#include "store/sha256.h"
#include "suites/task_snapshot.h"
#include "targets/cpu/tools.h"

namespace kw::cli {
namespace {
using Clock = std::chrono::steady_clock;

constexpr double kRound_s = 0.4;        // of timing, for each round
constexpr double kConfirm_s = 1.5;      // for the best one
constexpr int kTimedInOneGo = 8;        // kernels of several tasks, while nothing is built
constexpr char kStrategy[] = "rounds";  // what the record calls the work of authors that ask a model

Result<int> whole_number(const Arguments& arguments, const std::string& name, int usual, int most) {
  if (!arguments.has(name)) return usual;
  const std::string text = arguments.text(name);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > most)
    return fail("{} takes a number from 1 to {}, not '{}'", name, most, text);
  return static_cast<int>(value);
}

// What is said on the command line and holds for the whole run, by its name in the run's rules.
constexpr std::pair<const char*, const char*> kKept[] = {{"author", "--author"},       {"model", "--model"},
                                                         {"rounds", "--rounds"},       {"in_flight", "--in-flight"},
                                                         {"prompts", "--prompts"},     {"repo", "--repo"},
                                                         {"tokens", "--model-tokens"}, {"usd", "--model-usd"},
                                                         {"seconds", "--model-time"},  {"no_stream", "--no-stream"}};

class AgentWorker {
 public:
  AgentWorker(store::Store& store, llm::Client& client, const agents::Prompts& prompts, const Guests& guests)
      : store_(store), client_(client), prompts_(prompts), guests_(guests) {}

  agents::SessionOptions options;
  bool quiet = false;
  int in_flight = 1;

  Result<AgentRun> work(std::int64_t run, const std::vector<Task>& tasks) {
    KW_TRY(const store::RunLock lock, store::RunLock::take(store_.folder(), run));
    run_.run = run;
    run_.model = client_.name();
    run_.author = options.author.name;
    run_.tasks.resize(tasks.size());
    KW_CHECK(read_record());
    const Interruption interruption([this] { last_words(); });
    const Status status = work_on_all(tasks);
    while (Interruption::happened()) ::pause();
    const std::lock_guard guard(lock_);
    finished_ = true;
    run_.spent = client_.spent();
    if (!status.ok()) {
      [[maybe_unused]] const Status noted = store_.set_state(run, "stopped", "stopped", status.error().message);
      return fail("{}; {} goes on", status.error().message, how_to_resume(store_, run));
    }
    if (run_.spent.requests > 0) KW_CHECK(store_.note(run, "model", spent_text()));
    const auto left = std::ranges::count_if(run_.tasks, [](const AgentTask& task) { return !task.finished; });
    if (left == 0) {
      KW_CHECK(store_.set_state(run, "done", "done"));
    } else {
      KW_CHECK(store_.set_state(run, "stopped", "stopped", over_));
      fmt::print(stderr, "kw: {} of {} tasks {} not finished: {}; to go on: {}\n", left, tasks.size(),
                 left == 1 ? "is" : "are", over_, how_to_resume(store_, run));
    }
    return std::move(run_);
  }

 private:
  // What earlier work on this run knows.
  Status read_record() {
    KW_TRY(before_, agents::recorded_rounds(store_, run_.run));
    KW_TRY(const auto events, store_.events(run_.run));
    for (const store::Event& event : events) {
      if (event.kind == "finished") done_.insert(event.text.substr(event.text.rfind(' ') + 1));
    }
    KW_TRY(position_, store_.database().number(
                          fmt::format("SELECT coalesce(max(position), 0) FROM item WHERE run = {}", run_.run)));
    return {};
  }

  Status work_on_all(const std::vector<Task>& tasks) {
    KW_TRY(judge::Judge judge, judge::Judge::open());
    const store::Machine machine = runs::this_machine(judge.device().isolation());
    KW_TRY(machine_, store_.add_machine(machine));
    versions_ = std::make_unique<runs::RivalVersions>(machine);
    options.floor = &floor_;
    // More sessions than requests: while one waits for the judge, another one asks. A single request at a time stays
    // with a single session: the model may live on the cores that the judge times on.
    const int sessions = in_flight == 1 ? 1 : 2 * in_flight;
    std::atomic<std::size_t> next = 0;
    Status status;
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < std::min<int>(sessions, static_cast<int>(tasks.size())); ++i) {
        workers.emplace_back([&] {
          for (std::size_t at; (at = next++) < tasks.size();) {
            AgentTask& mine = run_.tasks[at];
            mine.task = tasks[at].name;
            mine.finished = done_.contains(store::hash_of(runs::snapshot(tasks[at])));
            if (mine.finished || hopeless_) continue;
            const Status one = work_on(judge, tasks[at], mine);
            const std::lock_guard guard(lock_);
            if (!one.ok() && status.ok()) status = one;
            if (!status.ok()) return;
          }
        });
      }
    }
    run_.timings = judge.timings();
    return status;
  }

  std::string spent_text() const {
    const llm::Spent spent = client_.spent();
    return fmt::format("{}: {} requests, {} tries, {} input and {} output tokens, {:.4f} US dollars, {} troubles",
                       client_.name(), spent.requests, spent.tries, spent.usage.input_tokens, spent.usage.output_tokens,
                       spent.usd, spent.troubles);
  }

  Status work_on(judge::Judge& judge, const Task& task, AgentTask& result) {
    // Said before a kernel is asked for, so that a task which nothing can be written for is known at once.
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    agents::SessionOptions mine = options;
    mine.lessons = agents::lessons_for(store_.folder(), task);
    mine.rules.guests = {};
    const std::string hash = store::hash_of(runs::snapshot(task));
    std::map<int, std::string> hashes;  // of the rounds' candidates
    if (const auto before = before_.find(hash); before != before_.end()) {
      mine.before = before->second.rounds;
      for (std::size_t i = 0; i < before->second.candidates.size(); ++i) {
        if (!before->second.candidates[i].empty()) hashes[static_cast<int>(i)] = before->second.candidates[i];
      }
    }
    KW_TRY(const agents::Outcome outcome,
           agents::run_session(judge, task, graph, client_, prompts_, mine,
                               [&](const agents::Round& round, const judge::Case& asked, double spent_s) {
                                 return record(task, round, asked, spent_s, agents::purpose_of(round), hashes);
                               }));
    result.rounds = static_cast<int>(outcome.work.rounds.size());
    result.times = outcome.times;
    result.over = outcome.over;
    result.troubles = outcome.troubles;
    const agents::Round* best = nullptr;  // of the model's own; what it was given is no answer
    for (const agents::Round& round : outcome.work.rounds) {
      if (round.role == "start") continue;
      if (round.verdict) result.verdict = round.verdict;
      if (round.right() && (best == nullptr || round.speed() > best->speed())) best = &round;
    }
    if (best != nullptr) KW_CHECK(confirm(judge, task, *best, result, hashes));
    if (!quiet) tell(task, outcome, result);
    return end(task, hash, outcome, result);
  }

  // A task is finished when the record says so; one that ended early is left for another day.
  Status end(const Task& task, const std::string& hash, const agents::Outcome& outcome, AgentTask& result) {
    const std::lock_guard guard(lock_);
    if (Interruption::happened()) return {};
    for (const std::string& trouble : outcome.troubles) {
      KW_CHECK(store_.note(run_.run, "model", task.name + ": " + trouble));
    }
    if (!outcome.over.empty()) {
      over_ = outcome.over;
      hopeless_ = hopeless_ || outcome.hopeless;
      return store_.note(run_.run, "over", task.name + ": " + outcome.over);
    }
    KW_CHECK(agents::keep_lessons(store_.folder(), outcome.work));
    KW_CHECK(store_.note(run_.run, "finished", fmt::format("{}, task {}", runs::as_utf8(task.name), hash)));
    result.finished = true;
    return {};
  }

  // The best once more, on new inputs and beside the frameworks: luck of selection is not counted.
  Status confirm(judge::Judge& judge, const Task& task, const agents::Round& best, AgentTask& result,
                 std::map<int, std::string>& hashes) {
    judge::Case one = options.rules;
    one.task = &task;
    one.source = {"kernel.cpp", best.source};
    one.settings = best.settings;
    one.budget_s = kConfirm_s;
    const Clock::time_point begin = Clock::now();
    agents::Round again = best;
    if (guests_.names() == "best") {
      // Finding the best times them.
      const judge::Alone alone(&floor_);
      KW_TRY(one.guests, guests_.of(task, one.threads));
    } else {
      KW_TRY(one.guests, guests_.of(task, one.threads));
    }
    judge::Inspected inspected;
    {
      const judge::Beside others(&floor_);
      KW_TRY(inspected, judge.inspect(one));
    }
    {
      const judge::Alone alone(&floor_);
      KW_TRY(again.verdict, judge.time(one, std::move(inspected)));
    }
    again.number = result.rounds;
    again.parent = best.number;
    again.role = "confirm";
    KW_CHECK(record(task, again, one, std::chrono::duration<double>(Clock::now() - begin).count(), "confirm", hashes));
    result.source = best.source;
    result.settings = best.settings;
    result.verdict = again.verdict;
    return {};
  }

  Status record(const Task& task, const agents::Round& round, const judge::Case& asked, double spent_s,
                const std::string& purpose, std::map<int, std::string>& hashes) {
    const std::lock_guard guard(lock_);
    if (Interruption::happened()) return {};
    if (!round.problem.empty()) {
      // The line of a round without a kernel says why there is none.
      store::NewItem item{.position = ++position_,
                          .purpose = purpose,
                          .task = runs::snapshot(task),
                          .label = agents::label_of(round),
                          .problem = runs::as_utf8(round.problem)};
      KW_TRY([[maybe_unused]] const std::int64_t id, store_.add_item(run_.run, item));
      if (!quiet) say(task, round);
      return {};
    }
    store::NewItem item = runs::planned(++position_, asked, agents::label_of(round));
    item.purpose = purpose;
    item.candidate->author = round.role == "start" ? "plain" : options.author.name + " with " + client_.name();
    item.candidate->source = runs::as_utf8(item.candidate->source);
    item.candidate->notes = agents::notes_of(round);
    if (const auto parent = hashes.find(round.parent); parent != hashes.end()) {
      item.candidate->parents = {parent->second};
    }
    hashes[round.number] = store::hash_of(*item.candidate);
    KW_CHECK(store_.add_judged(run_.run, item, *round.verdict, judge::verdict_as_json(*round.verdict),
                               {.machine = machine_,
                                .spent_s = spent_s,
                                .terms = runs::terms_of(asked),
                                .key = store::sha256(judge::key_of(asked) + purpose),
                                .versions = versions_->of(asked)}));
    if (!quiet) say(task, round);
    return {};
  }

  static void say(const Task& task, const agents::Round& round) {
    std::string result = round.problem;
    if (round.verdict) {
      result = round.right() ? fmt::format("right, {:.2f} x plain", round.speed())
                             : fmt::format("rejected at {}: {}", name_of(round.verdict->stage),
                                           text_of(round.verdict->reason).substr(0, 100));
    }
    fmt::print(stderr, "  {:<24} round {:>2} {:<12} {}{}\n", task.name.substr(0, 24), round.number, round.role,
               round.parent >= 0 ? fmt::format("from {}: ", round.parent) : "", result);
  }

  void tell(const Task& task, const agents::Outcome& outcome, const AgentTask& result) const {
    fmt::print(stderr, "  {:<24} {}{}\n", task.name.substr(0, 24), result.accepted() ? "has a kernel" : "has no kernel",
               outcome.over.empty() ? "" : "; ended early: " + outcome.over);
  }

  void last_words() {
    const std::lock_guard guard(lock_);
    if (finished_) return;
    [[maybe_unused]] const Status noted = store_.set_state(run_.run, "stopped", "stopped", "interrupted");
    say_stopped(store_, run_.run);
  }

  store::Store& store_;
  llm::Client& client_;
  const agents::Prompts& prompts_;
  const Guests& guests_;
  AgentRun run_;
  std::map<std::string, agents::RecordedRounds> before_;  // by the hashes of tasks
  std::set<std::string> done_;                            // hashes of tasks
  std::int64_t machine_ = 0;
  std::int64_t position_ = 0;
  std::unique_ptr<runs::RivalVersions> versions_;
  bool finished_ = false;
  std::string over_;                    // why the last of those that ended early did
  std::atomic<bool> hopeless_ = false;  // nothing more is begun
  judge::Floor floor_{static_cast<int>(std::max(1u, std::thread::hardware_concurrency())), kTimedInOneGo};
  std::mutex lock_;  // of the record
};

std::string rules_of(const Arguments& arguments, const llm::Client& client, int rounds, const Guests& guests,
                     const std::vector<Task>& tasks) {
  judge::Case how;
  how.budget_s = kRound_s;
  Json rules = Json::parse(runs::rules_as_json(how, true, guests.names()));
  Json& agents = rules["agents"];
  for (const auto& [name, flag] : kKept) {
    if (arguments.has(flag)) agents[name] = client.without_secrets(arguments.text(flag));
  }
  agents["model"] = client.without_secrets(model_named(arguments));
  agents["asked"] = client.name();
  agents["rounds"] = std::to_string(rounds);
  for (const char* folder : {"prompts", "repo"}) {
    if (agents.contains(folder)) agents[folder] = std::filesystem::absolute(agents[folder].text()).string();
  }
  rules["tasks"] = Json::array();
  for (const Task& task : tasks) {
    const store::TaskSnapshot one = runs::snapshot(task);
    rules["tasks"].push_back({{"name", one.name}, {"category", one.category}, {"text", one.text}});
  }
  return rules.dump();
}

// Begins a run of the tasks, or goes on with `run`.
Result<AgentRun> work_with(const Arguments& arguments, const Guests& guests, const std::vector<Task>& tasks,
                           const std::string& suite, store::Store& store, const store::RunSummary* run) {
  KW_TRY(const int in_flight, whole_number(arguments, "--in-flight", 1, 256));
  KW_TRY(llm::Client client, client_of(arguments, in_flight));
  KW_TRY(const agents::Prompts prompts, agents::Prompts::open(arguments.text("--prompts")));
  AgentWorker worker(store, client, prompts, guests);
  worker.in_flight = in_flight;
  KW_TRY(worker.options.author, agents::find_author(arguments.text("--author")));
  KW_TRY(worker.options.rounds, whole_number(arguments, "--rounds", worker.options.author.usual_rounds, 1000));
  worker.options.rules.budget_s = kRound_s;
  worker.options.compilers = targets::kernel_compilers();
  worker.options.repository = arguments.text("--repo");
  worker.quiet = arguments.has("--quiet") || arguments.has("--json");
  const std::string author = worker.options.author.name + " with " + client.name();
  if (run != nullptr) {
    if (run->about.author != author) {
      return fail("{} is the work of {}; {} cannot go on with it", run->name(), run->about.author, author);
    }
    KW_CHECK(store.note(run->id, "resumed", ""));
    return worker.work(run->id, tasks);
  }
  KW_TRY(const std::int64_t id,
         store.begin_run({.command = client.without_secrets(command_line()),
                          .suite = runs::as_utf8(suite),
                          .author = author,
                          .strategy = kStrategy,
                          .rules = rules_of(arguments, client, worker.options.rounds, guests, tasks)},
                         {}));
  return worker.work(id, tasks);
}

}  // namespace

Option author_option() {
  std::string names = "templates";
  for (const agents::AuthorKind& kind : agents::all_authors()) names += ", " + kind.name;
  return {.name = "--author",
          .value = "NAME",
          .help = "who writes the candidates: " + names + " (all but the first with --model)"};
}

Option in_flight_option() {
  return {.name = "--in-flight",
          .value = "N",
          .help = "with a model: how many requests at once, each of another task; unless said 1"};
}

std::vector<Option> agent_options() {
  std::vector<Option> options = {
      {.name = "--rounds", .value = "N", .help = "with a model: how many rounds; unless said 10, or 1 for oneshot"},
      in_flight_option(),
      {.name = "--prompts",
       .value = "DIR",
       .help = "with a model: prompts of your own, by the names in prompts/",
       .completes = Completes::file},
      {.name = "--repo",
       .value = "DIR",
       .help = "with a model: a framework's sources to show of",
       .completes = Completes::file}};
  for (Option& option : model_options()) options.push_back(std::move(option));
  return options;
}

bool wants_model(const Arguments& arguments) {
  return arguments.has("--author") && arguments.text("--author") != "templates";
}

Status check_author(const Arguments& arguments) {
  if (!wants_model(arguments)) {
    if (arguments.has("--model"))
      return fail("--model needs an author that asks it: --author moka, oneshot, passk or refine");
    return {};
  }
  const auto found = agents::find_author(arguments.text("--author"));
  if (!found.ok())
    return fail("{}; there are templates, and with a model moka, oneshot, passk and refine", found.error().message);
  return {};
}

bool is_agent_run(const store::RunSummary& run) { return run.about.strategy == kStrategy; }

Result<AgentRun> run_agents(const Arguments& arguments, const std::vector<Task>& tasks, const std::string& suite,
                            store::Store& store) {
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  return work_with(arguments, guests, tasks, suite, store, nullptr);
}

Result<AgentRun> resume_agents(const Arguments& given, store::Store& store, const store::RunSummary& run) {
  const Json rules = Json::parse_quietly(run.about.rules);
  Arguments arguments = given;
  std::vector<Task> tasks;
  try {
    for (const auto& [name, flag] : kKept) {
      if (rules.at("agents").contains(name) && !given.has(flag)) arguments.add(flag, {rules.at("agents").at(name)});
    }
    for (const Json& task : rules.at("tasks")) {
      KW_TRY(Task one, suites::task_of_snapshot(task.at("text")));
      tasks.push_back(std::move(one));
    }
  } catch (const JsonError& error) {
    return fail("the record of the run's rules is damaged: {}", error.what());
  }
  bool fresh = false;
  std::string rivals;
  KW_TRY([[maybe_unused]] const judge::Case how, runs::rules_from_json(run.about.rules, fresh, rivals));
  KW_TRY(const Guests guests, Guests::chosen(rivals));
  return work_with(arguments, guests, tasks, run.about.suite, store, &run);
}

void print_agent_summary(const AgentRun& run, const AgentTask& task, std::ostream& out) {
  print(out, "\n  author         {} with {}, {} rounds, run r{}\n", run.author, run.model, task.rounds, run.run);
  print(out, "  tokens         {} in, {} out, {} requests, {:.4f} US dollars\n", run.spent.usage.input_tokens,
        run.spent.usage.output_tokens, run.spent.requests, run.spent.usd);
  print(out, "  time           {:.1f} s: the model {:.1f} s, the judge {:.1f} s, kw itself {:.0f} ms a round\n",
        task.times.whole_s, task.times.model_s, task.times.judge_s,
        task.rounds > 0 ? 1000 * task.times.own_s() / task.rounds : 0);
  if (!task.accepted()) print(out, "  no kernel of the model was right\n");
  if (!task.over.empty()) print(out, "  ended early    {}\n", task.over);
}

std::string agent_summary_json(const AgentRun& run, const AgentTask& task) {
  return Json({{"name", run.model},
               {"author", run.author},
               {"rounds", task.rounds},
               {"requests", run.spent.requests},
               {"input_tokens", run.spent.usage.input_tokens},
               {"output_tokens", run.spent.usage.output_tokens},
               {"usd", run.spent.usd},
               {"model_s", task.times.model_s},
               {"judge_s", task.times.judge_s},
               {"own_s", task.times.own_s()},
               {"over", task.over},
               {"troubles", task.troubles}})
      .dump();
}

}  // namespace kw::cli
