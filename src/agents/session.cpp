#include "agents/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "base/files.h"
#include "core/verdict.h"
#include "inspect/model.h"
#include "inspect/tree.h"
#include "judge/plain_source.h"
#include "runs/performance.h"
#include "runs/task_text.h"
#include "search/engine.h"
#include "targets/target.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kPlainStart = "A plain kernel that is right and slow";

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A folder is read once, for all tasks: a framework's checkout takes seconds.
Result<std::shared_ptr<const std::vector<inspect::TreeFile>>> kept_tree(const fs::path& folder) {
  static std::mutex lock;
  static std::map<fs::path, std::shared_ptr<const std::vector<inspect::TreeFile>>> kept;
  const std::lock_guard guard(lock);
  auto& tree = kept[folder];
  if (tree == nullptr) {
    KW_TRY(auto files, inspect::read_tree(folder));
    tree = std::make_shared<const std::vector<inspect::TreeFile>>(std::move(files));
  }
  return tree;
}

class Session {
 public:
  Session(judge::Judge& judge, llm::Client& client, const SessionOptions& options, const EachRound& each)
      : judge_(judge), client_(client), options_(options), each_(each) {}

  Result<SessionResult> run(const Task& task, const ops::Graph& graph, const Prompts& prompts,
                            const std::stop_token& stop) {
    const Clock::time_point begin = Clock::now();
    SessionResult outcome;
    Work& work = outcome.work;
    work.task = &task;
    work.graph = &graph;
    work.start = options_.start;
    if (work.start.empty()) {
      KW_TRY(const judge::Source plain, judge::plain_source(judge_.device().name(), graph));
      work.start = plain.text;
    }
    KW_TRY(work.facts, facts_of(task, graph, options_.repository, judge_.device().name()));
    work.facts["lessons"] = options_.lessons;
    work.facts["start"] = options_.start.empty() ? kPlainStart : "The user's own kernel, to start from";
    if (const auto least = targets::least_time(judge_.device().name(), ops::cost_of(graph), options_.rules.threads);
        least.ok()) {
      least_ = *least;
    }

    Talk talk(client_, prompts, stop);
    const std::unique_ptr<Author> author = options_.author.make();
    const int rounds = options_.rounds > 0 ? options_.rounds : options_.author.usual_rounds;
    work.rounds = options_.before;
    if (options_.author.judges_the_start && work.rounds.empty()) {
      KW_CHECK(take(work, {.role = RoundRole::start, .source = work.start}));
    }
    // The tuner may have been at work on the last one.
    if (!options_.before.empty()) KW_CHECK(tune(work));
    const auto asked_for = [](const Round& round) {
      return round.role != RoundRole::start && round.role != RoundRole::tuner;
    };
    int done = static_cast<int>(std::ranges::count_if(work.rounds, asked_for));
    const double asked_before_s = client_.spent().waiting_s;
    double model_s = 0;
    for (; done < rounds && !stop.stop_requested(); ++done) {
      const Clock::time_point asked = Clock::now();
      Round round = author->next(work, talk);
      model_s += seconds_since(asked);
      // What was never answered is no round: it is asked again by whoever goes on.
      if (!talk.over().empty()) break;
      KW_CHECK(take(work, std::move(round)));
    }
    outcome.over = stop.stop_requested() ? "stopped" : talk.over();
    outcome.hopeless = talk.hopeless();
    outcome.troubles = talk.troubles();
    outcome.times.whole_s = seconds_since(begin);
    // Alone with its client, a session knows how long the model took; else all of asking counts as the model's.
    const double waited_s = client_.spent().waiting_s - asked_before_s;
    outcome.times.model_s = waited_s <= model_s ? waited_s : model_s;
    outcome.times.judge_s = judge_s_;
    return outcome;
  }

 private:
  // Judges a round, and what the tuner makes of it.
  Status take(Work& work, Round round) {
    round.number = static_cast<int>(work.rounds.size());
    for (const Round& earlier : work.rounds) {
      if (round.problem.empty() && earlier.source == round.source && earlier.settings == round.settings &&
          earlier.verdict) {
        round.problem = fmt::format("the same kernel as in round {}", earlier.number);
        round.source.clear();
      }
    }
    judge::Case asked = case_of(work, round);
    const Clock::time_point begin = Clock::now();
    if (round.problem.empty()) KW_CHECK(judge_round(work, asked, round));
    work.rounds.push_back(std::move(round));
    KW_CHECK(each_(work.rounds.back(), asked, seconds_since(begin)));
    return tune(work);
  }

  judge::Case case_of(const Work& work, const Round& round) const {
    judge::Case one = options_.rules;
    one.task = work.task;
    one.source = {file_name(), round.source};
    one.settings = round.settings;
    return one;
  }

  // Once more where the kernel's process was killed by something else.
  Status judge_round(const Work& work, const judge::Case& asked, Round& round) {
    for (int tries = 1;; ++tries) {
      KW_CHECK(judge_once(work, asked, round));
      if (tries == kMostKills || !may_be_killed_from_outside(round.verdict->reason)) return {};
    }
  }

  Status judge_once(const Work& work, const judge::Case& asked, Round& round) {
    const Clock::time_point begin = Clock::now();
    if (const auto tunables = read_tunables(round.source); !tunables.ok()) {
      // The source's own fault, so a verdict: as a compiler's complaint would be one.
      round.verdict = Verdict{.task = work.task->name,
                              .target = judge_.device().name(),
                              .stage = VerdictStage::build,
                              .reason = {ReasonCode::bad_source, {{"text", tunables.error().message}}}};
      return {};
    }
    judge::Inspected inspected;
    std::string code;
    bool right = false;
    {
      const judge::Beside others(options_.floor);
      KW_TRY(inspected, judge_.inspect(asked));
      judge_s_ += seconds_since(begin);
      // While nobody times: reading machine code takes a core.
      right = inspected.verdict.accepted();
      if (right) code = notes_on(*inspected.built);
    }
    if (right) {
      const Clock::time_point timing = Clock::now();
      const judge::Alone alone(options_.floor);
      KW_TRY(round.verdict, judge_.time(asked, std::move(inspected)));
      judge_s_ += seconds_since(timing);
    } else {
      round.verdict = std::move(inspected.verdict);
    }
    round.performance =
        runs::performance_text(*work.graph, *round.verdict, least_ ? &*least_ : nullptr, code, llm::measured);
    return {};
  }

  std::string notes_on(const judge::Built& built) {
    const auto notes = judge_.device().look_into(built);
    return notes.ok() ? notes->text : notes.error().message + "\n";
  }

  std::string file_name() const { return targets::source_name(judge_.device().name(), "kernel"); }

  // Searches the tunables of the round's kernel; where other values are faster, they are a round of their own.
  Status tune(Work& work) {
    const Round& round = work.rounds.back();
    if (options_.tune < 2 || !round.right() || round.role == RoundRole::start || round.role == RoundRole::tuner)
      return {};
    KW_TRY(Tunables tunables, read_tunables(round.source));
    if (tunables.list.empty()) return {};
    const Clock::time_point begin = Clock::now();
    std::vector<search::Kernel> kernels;
    kernels.push_back({"agent", file_name(), round.source, std::move(tunables)});
    const auto space = search::Space::of(std::move(kernels), targets::build_options(judge_.device().name()));
    if (!space.ok()) return {};
    KW_TRY(const search::StrategyKind kind, search::find_strategy("local"));
    const auto strategy = kind.make({.space = &*space});
    search::SearchJob plan{.task = work.task,
                           .space = &*space,
                           .strategy = strategy.get(),
                           .budget = {.candidates = options_.tune},
                           .threads = options_.rules.threads,
                           .cold = options_.rules.cold};
    search::Found found;
    {
      const judge::Alone alone(options_.floor);
      KW_TRY(found, search::search(judge_, plan));
    }
    judge_s_ += seconds_since(begin);
    if (found.ranking.empty() || *found.ranking[0].time > 0.98) return {};
    Round tuned{.parent = round.number,
                .role = RoundRole::tuner,
                .plan = {{"tried", fmt::format("{} choices of the tunables, without the model", found.tried)}},
                .source = round.source,
                .settings = space->settings(found.ranking[0].point)};
    if (tuned.settings == round.settings) return {};
    return take(work, std::move(tuned));
  }

  judge::Judge& judge_;
  llm::Client& client_;
  const SessionOptions& options_;
  const EachRound& each_;
  std::optional<targets::LeastTime> least_;
  double judge_s_ = 0;
};

}  // namespace

Result<Facts> facts_of(const Task& task, const ops::Graph& graph, const fs::path& repository,
                       const std::string& device) {
  Facts facts;
  KW_TRY(const std::string text, runs::task_as_text(task, device));
  facts["task"] = cut_to(text, 700) + "\nas the kernel sees it\n" + inspect::kernel_side(graph);
  std::vector<std::string> subject;
  for (const Node& node : task.nodes) subject.push_back(node.op);
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const auto own, kept_tree(data / "kernels"));
  facts["sources"] = inspect::as_text(inspect::sorted_by_likeness(*own, subject), repository.empty() ? 450 : 200);
  if (!repository.empty()) {
    KW_TRY(const auto theirs, kept_tree(repository));
    facts["sources"] +=
        repository.filename().string() + "/\n" + inspect::as_text(inspect::sorted_by_likeness(*theirs, subject), 240);
  }
  return facts;
}

Result<SessionResult> run_session(judge::Judge& judge, const Task& task, const ops::Graph& graph, llm::Client& client,
                                  const Prompts& prompts, const SessionOptions& options, const EachRound& each,
                                  const std::stop_token& stop) {
  return Session(judge, client, options, each).run(task, graph, prompts, stop);
}

}  // namespace kw::agents
