#include "agents/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/files.h"
#include "inspect/performance.h"
#include "inspect/tree.h"
#include "plain/plain.h"
#include "search/engine.h"
#include "targets/cpu/kept_roofs.h"
#include "workbench/task_text.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kFile = "kernel.cpp";

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// "call.input<float>(0)  x  float32[64, 2048]"
std::string as_the_kernel_sees_it(const ops::Graph& graph) {
  static const std::map<DType, const char*> types = {
      {DType::float32, "float"},         {DType::float64, "double"},  {DType::float16, "kw::float16"},
      {DType::bfloat16, "kw::bfloat16"}, {DType::int8, "int8_t"},     {DType::int16, "int16_t"},
      {DType::int32, "int32_t"},         {DType::int64, "int64_t"},   {DType::uint8, "uint8_t"},
      {DType::uint16, "uint16_t"},       {DType::uint32, "uint32_t"}, {DType::uint64, "uint64_t"},
      {DType::boolean, "bool"}};
  std::string text = "\nas the kernel sees it\n";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ops::GraphInput& input = graph.inputs[i];
    text +=
        fmt::format("  call.input<{}>({})  {}  {}  {}\n", types.at(input.type.dtype), i, input.name, input.type.text(),
                    input.role == Role::input ? "new with every call" : "constant: KW_PREPARE may pack it");
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType type = graph.output_type(i);
    text += fmt::format("  call.output<{}>({})  {}\n", types.at(type.dtype), i, type.text());
  }
  return text;
}

class Session {
 public:
  Session(judge::Judge& judge, models::Client& client, const SessionOptions& options, const EachRound& each)
      : judge_(judge), client_(client), options_(options), each_(each) {}

  Result<Outcome> run(const Task& task, const ops::Graph& graph, const Prompts& prompts, const std::stop_token& stop) {
    const Clock::time_point begin = Clock::now();
    Outcome outcome;
    Work& work = outcome.work;
    work.task = &task;
    work.graph = &graph;
    KW_TRY(work.plain, plain::plain_kernel(graph));
    KW_TRY(work.facts, facts_of(task, graph, options_.repository));
    work.facts["lessons"] = options_.lessons;
    if (auto roofs = targets::known_roofs(); roofs.ok()) roofs_ = *std::move(roofs);

    Talk talk(client_, prompts, stop);
    const std::unique_ptr<Author> author = options_.author.make();
    const int rounds = options_.rounds > 0 ? options_.rounds : options_.author.usual_rounds;
    if (options_.author.begins_with_plain) {
      KW_CHECK(take(work, {.role = "start", .source = work.plain}));
    }
    const double asked_before_s = client_.spent().waiting_s;
    double model_s = 0;
    for (int i = 0; i < rounds && talk.over().empty() && !stop.stop_requested(); ++i) {
      const Clock::time_point asked = Clock::now();
      Round round = author->next(work, talk);
      model_s += seconds_since(asked);
      KW_CHECK(take(work, std::move(round)));
    }
    outcome.over = stop.stop_requested() ? "stopped" : talk.over();
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
    one.source = {kFile, round.source};
    one.settings = round.settings;
    return one;
  }

  Status judge_round(const Work& work, const judge::Case& asked, Round& round) {
    const Clock::time_point begin = Clock::now();
    if (const auto tunables = read_tunables(round.source); !tunables.ok()) {
      // The source's own fault, so a verdict: as a compiler's complaint would be one.
      round.verdict = Verdict{
          .task = work.task->name, .target = "cpu", .stage = VerdictStage::build, .reason = tunables.error().message};
      return {};
    }
    std::shared_lock<std::shared_mutex> beside_others;
    if (options_.cores != nullptr) beside_others = std::shared_lock(*options_.cores);
    KW_TRY(judge::Inspected inspected, judge_.inspect(asked));
    if (beside_others.owns_lock()) beside_others.unlock();
    judge_s_ += seconds_since(begin);
    inspect::MachineCode code;
    const bool right = inspected.verdict.accepted();
    if (right) code = machine_code(*inspected.built);
    if (right) {
      const Clock::time_point timing = Clock::now();
      std::unique_lock<std::shared_mutex> alone;
      if (options_.cores != nullptr) alone = std::unique_lock(*options_.cores);
      KW_TRY(round.verdict, judge_.time(asked, std::move(inspected)));
      judge_s_ += seconds_since(timing);
    } else {
      round.verdict = std::move(inspected.verdict);
    }
    round.performance = inspect::performance_text(*work.graph, *round.verdict, roofs_ ? &*roofs_ : nullptr,
                                                  right ? &code : nullptr, models::measured);
    return {};
  }

  static inspect::MachineCode machine_code(const judge::Built& built) {
    const auto content = sandbox::content_of(built.library, 64 << 20);
    const fs::path file = fs::temp_directory_path() / fmt::format("kw_agent_{}_{}.so", ::getpid(), ::gettid());
    if (!content.ok() || !write_file(file, *content).ok()) return {};
    auto code = inspect::machine_code_of(file);
    std::error_code error;
    fs::remove(file, error);
    return code.ok() ? *std::move(code) : inspect::MachineCode{.loops = {}, .missing = code.error().message};
  }

  // Searches the tunables of the round's kernel; where other values are faster, they are a round of their own.
  Status tune(Work& work) {
    const Round& round = work.rounds.back();
    if (options_.tune < 2 || !round.right() || round.role == "start" || round.role == "tuner") return {};
    KW_TRY(Tunables tunables, read_tunables(round.source));
    if (tunables.list.empty()) return {};
    const Clock::time_point begin = Clock::now();
    std::vector<search::Kernel> kernels;
    kernels.push_back({"agent", kFile, round.source, std::move(tunables)});
    const auto space = search::Space::of(std::move(kernels), options_.compilers);
    if (!space.ok()) return {};
    KW_TRY(const search::StrategyKind kind, search::find_strategy("local"));
    const auto strategy = kind.make({.space = &*space});
    std::unique_lock<std::shared_mutex> alone;
    if (options_.cores != nullptr) alone = std::unique_lock(*options_.cores);
    search::Plan plan{
        .task = work.task, .space = &*space, .strategy = strategy.get(), .budget = {.candidates = options_.tune}};
    KW_TRY(const search::Found found, search::search(judge_, plan));
    judge_s_ += seconds_since(begin);
    if (alone.owns_lock()) alone.unlock();
    if (found.ranking.empty() || *found.ranking[0].time > 0.98) return {};
    Round tuned{.parent = round.number,
                .role = "tuner",
                .source = round.source,
                .settings = space->settings(found.ranking[0].point)};
    if (tuned.settings == round.settings) return {};
    return take(work, std::move(tuned));
  }

  judge::Judge& judge_;
  models::Client& client_;
  const SessionOptions& options_;
  const EachRound& each_;
  std::optional<targets::Roofs> roofs_;
  double judge_s_ = 0;
};

}  // namespace

Result<Facts> facts_of(const Task& task, const ops::Graph& graph, const fs::path& repository) {
  Facts facts;
  KW_TRY(const std::string text, workbench::task_as_text(task));
  facts["task"] = cut_to(text, 700) + as_the_kernel_sees_it(graph);
  std::vector<std::string> subject;
  for (const Node& node : task.nodes) subject.push_back(node.op);
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const auto own, inspect::tree_of(data / "kernels", subject));
  facts["sources"] = inspect::as_text(own, repository.empty() ? 450 : 200);
  if (!repository.empty()) {
    KW_TRY(const auto theirs, inspect::tree_of(repository, subject));
    facts["sources"] += repository.filename().string() + "/\n" + inspect::as_text(theirs, 240);
  }
  return facts;
}

Result<Outcome> run_session(judge::Judge& judge, const Task& task, const ops::Graph& graph, models::Client& client,
                            const Prompts& prompts, const SessionOptions& options, const EachRound& each,
                            const std::stop_token& stop) {
  return Session(judge, client, options, each).run(task, graph, prompts, stop);
}

}  // namespace kw::agents
