#include "cli/agent_run.h"

#include <fmt/ostream.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "agents/lessons.h"
#include "cli/guests.h"
#include "cli/interruption.h"
#include "cli/model_flags.h"
#include "cli/recorded_run.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "store/sha256.h"
#include "targets/cpu/tools.h"
#include "workbench/case_record.h"
#include "workbench/machine.h"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double kRound_s = 0.4;    // of timing, for each round
constexpr double kConfirm_s = 1.5;  // for the best one

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<int> whole_number(const Arguments& arguments, const std::string& name, int usual, int most) {
  if (!arguments.has(name)) return usual;
  const std::string text = arguments.text(name);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > most)
    return fail("{} takes a number from 1 to {}, not '{}'", name, most, text);
  return static_cast<int>(value);
}

class AgentWorker {
 public:
  AgentWorker(store::Store& store, models::Client& client, const agents::Prompts& prompts, const Guests& guests)
      : store_(store), client_(client), prompts_(prompts), guests_(guests) {}

  agents::SessionOptions options;
  bool quiet = false;
  int in_flight = 1;

  Result<AgentRun> work(const std::string& suite, const std::vector<Task>& tasks) {
    KW_TRY(judge::Judge judge, judge::Judge::open());
    const store::Machine machine = workbench::this_machine(judge.tier().name());
    KW_TRY(machine_, store_.add_machine(machine));
    versions_ = std::make_unique<workbench::RivalVersions>(machine);
    options.cores = &cores_;
    judge::Case rules = options.rules;
    KW_TRY(run_.run, store_.begin_run({.command = command_line(),
                                       .suite = workbench::as_utf8(suite),
                                       .author = options.author.name + " with " + client_.name(),
                                       .rules = workbench::rules_as_json(rules, true, guests_.names())},
                                      {}));
    run_.model = client_.name();
    run_.author = options.author.name;
    run_.tasks.resize(tasks.size());
    const Interruption interruption([this] { last_words(); });
    std::atomic<std::size_t> next = 0;
    Status status;
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < std::min<int>(in_flight, static_cast<int>(tasks.size())); ++i) {
        workers.emplace_back([&] {
          for (std::size_t at; (at = next++) < tasks.size();) {
            const Status one = work_on(judge, tasks[at], run_.tasks[at]);
            const std::lock_guard guard(lock_);
            if (!one.ok() && status.ok()) status = one;
            if (!status.ok()) return;
          }
        });
      }
    }
    const std::lock_guard guard(lock_);
    finished_ = true;
    run_.spent = client_.spent();
    if (!status.ok()) {
      [[maybe_unused]] const Status noted = store_.set_state(run_.run, "stopped", "stopped", status.error().message);
      return status.error();
    }
    KW_CHECK(store_.note(run_.run, "model", spent_text()));
    KW_CHECK(store_.set_state(run_.run, "done", "done"));
    return std::move(run_);
  }

 private:
  std::string spent_text() const {
    const models::Spent spent = client_.spent();
    return fmt::format("{}: {} requests, {} tries, {} input and {} output tokens, {:.4f} US dollars, {} troubles",
                       client_.name(), spent.requests, spent.tries, spent.usage.input_tokens, spent.usage.output_tokens,
                       spent.usd, spent.troubles);
  }

  Status work_on(judge::Judge& judge, const Task& task, AgentTask& result) {
    result.task = task.name;
    // Said before a kernel is asked for, so that a task which nothing can be written for is known at once.
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    agents::SessionOptions mine = options;
    mine.lessons = agents::lessons_for(store_.folder(), task);
    mine.rules.guests = {};
    std::map<int, std::string> hashes;  // of the rounds' candidates
    KW_TRY(const agents::Outcome outcome,
           agents::run_session(judge, task, graph, client_, prompts_, mine,
                               [&](const agents::Round& round, const judge::Case& asked, double spent_s) {
                                 return record(task, round, asked, spent_s, "search", hashes);
                               }));
    result.rounds = static_cast<int>(outcome.work.rounds.size());
    result.times = outcome.times;
    result.over = outcome.over;
    result.troubles = outcome.troubles;
    for (const agents::Round& round : outcome.work.rounds) {
      if (round.verdict) result.verdict = round.verdict;
    }
    const agents::Round* best = outcome.work.best();
    if (best != nullptr && best->role != "start") KW_CHECK(confirm(judge, task, *best, result, hashes));
    {
      const std::lock_guard guard(lock_);
      KW_CHECK(agents::keep_lessons(store_.folder(), outcome.work));
      for (const std::string& trouble : outcome.troubles)
        KW_CHECK(store_.note(run_.run, "model", task.name + ": " + trouble));
      if (!outcome.over.empty()) KW_CHECK(store_.note(run_.run, "over", task.name + ": " + outcome.over));
    }
    if (!quiet) tell(task, outcome, result);
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
    KW_TRY(one.guests, guests_.of(task, one.threads));
    const Clock::time_point begin = Clock::now();
    agents::Round again = best;
    {
      const std::unique_lock alone(cores_);
      KW_TRY(again.verdict, judge.judge(one));
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
    Json label = {{"round", round.number},
                  {"role", round.role},
                  {"from", round.parent >= 0 ? Json(round.parent) : Json()},
                  {"edits", round.edits}};
    if (!round.problem.empty()) {
      // The line of a round without a kernel says why there is none.
      store::NewItem item{.position = ++position_,
                          .purpose = purpose,
                          .task = workbench::snapshot(task),
                          .label = dumped(label),
                          .problem = workbench::as_utf8(round.problem)};
      KW_TRY([[maybe_unused]] const std::int64_t id, store_.add_item(run_.run, item));
      if (!quiet) say(task, round);
      return {};
    }
    store::NewItem item = workbench::planned(++position_, asked, dumped(label));
    item.purpose = purpose;
    item.candidate->author = options.author.name + " with " + client_.name();
    item.candidate->source = workbench::as_utf8(item.candidate->source);
    Json notes = Json::object();
    for (const auto& [name, words] : round.plan) notes[name] = words;
    item.candidate->notes = notes.empty() ? round.role : dumped(notes);
    if (const auto parent = hashes.find(round.parent); parent != hashes.end())
      item.candidate->parents = {parent->second};
    hashes[round.number] = store::hash_of(*item.candidate);
    KW_CHECK(store_.add_judged(run_.run, item, *round.verdict, judge::verdict_as_json(*round.verdict),
                               {.machine = machine_,
                                .spent_s = spent_s,
                                .terms = workbench::terms_of(asked),
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
                                           round.verdict->reason.substr(0, 100));
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
    fmt::print(stderr, "\nkw: stopped; what was judged is in run r{}\n", run_.run);
  }

  store::Store& store_;
  models::Client& client_;
  const agents::Prompts& prompts_;
  const Guests& guests_;
  AgentRun run_;
  std::int64_t machine_ = 0;
  std::int64_t position_ = 0;
  std::unique_ptr<workbench::RivalVersions> versions_;
  bool finished_ = false;
  std::shared_mutex cores_;
  std::mutex lock_;  // of the record
};

}  // namespace

Option author_option() {
  std::string names = "templates";
  for (const agents::AuthorKind& kind : agents::all_authors()) names += ", " + kind.name;
  return {.name = "--author",
          .value = "NAME",
          .help = "who writes the candidates: " + names + " (all but the first with --model)"};
}

std::vector<Option> agent_options() {
  std::vector<Option> options = {
      {.name = "--rounds", .value = "N", .help = "with a model: how many rounds; unless said 10, or 1 for oneshot"},
      {.name = "--in-flight", .value = "N", .help = "with a model: how many tasks at once; unless said 1"},
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

Result<AgentRun> run_agents(const Arguments& arguments, std::vector<Task> tasks, const std::string& suite,
                            store::Store& store) {
  KW_TRY(models::Client client, client_of(arguments));
  KW_TRY(const agents::Prompts prompts, agents::Prompts::open(arguments.text("--prompts")));
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  AgentWorker worker(store, client, prompts, guests);
  KW_TRY(worker.options.author, agents::find_author(arguments.text("--author")));
  KW_TRY(worker.options.rounds, whole_number(arguments, "--rounds", worker.options.author.usual_rounds, 1000));
  KW_TRY(worker.in_flight, whole_number(arguments, "--in-flight", 1, 256));
  worker.options.rules.budget_s = kRound_s;
  worker.options.compilers = targets::kernel_compilers();
  worker.options.repository = arguments.text("--repo");
  worker.quiet = arguments.has("--quiet") || arguments.has("--json");
  return worker.work(suite, tasks);
}

void print_agent_summary(const AgentRun& run, const AgentTask& task, std::ostream& out) {
  fmt::print(out, "\n  author         {} with {}, {} rounds, run r{}\n", run.author, run.model, task.rounds, run.run);
  fmt::print(out, "  tokens         {} in, {} out, {} requests, {:.4f} US dollars\n", run.spent.usage.input_tokens,
             run.spent.usage.output_tokens, run.spent.requests, run.spent.usd);
  fmt::print(out, "  time           {:.1f} s: the model {:.1f} s, the judge {:.1f} s, kw itself {:.0f} ms a round\n",
             task.times.whole_s, task.times.model_s, task.times.judge_s,
             task.rounds > 0 ? 1000 * task.times.own_s() / task.rounds : 0);
  if (!task.accepted()) fmt::print(out, "  no kernel of the model was right\n");
  if (!task.over.empty()) fmt::print(out, "  ended early    {}\n", task.over);
}

std::string agent_summary_json(const AgentRun& run, const AgentTask& task) {
  return dumped({{"name", run.model},
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
                 {"troubles", task.troubles}});
}

}  // namespace kw::cli
