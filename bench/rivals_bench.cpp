// Prints the rivals' figures.
//
//   kw_rivals_bench loop [RIVAL]...     each through the judge and in a loop of its own, on twenty tasks of all sizes
//   kw_rivals_bench same [RIVAL]...     each against itself, 500 pairs
//   kw_rivals_bench cost [RIVAL]...     what adding it to a judging costs beyond its timed calls
//
// Of the rivals that are installed. On a machine with nothing else to do.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/paired_ratio.h"
#include "judge/judge.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "plain/plain.h"
#include "rivals/framework.h"
#include "suites/catalog.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using rivals::Framework;
using rivals::RivalFile;

// From a microsecond to tens of milliseconds, and every kind of work.
constexpr const char* kTasks[] = {"Relu",      "PRelu",  "Softmax", "Add",     "Min",
                                  "ReduceL1",  "ArgMax", "Concat",  "Slice",   "Gather",
                                  "MatMul",    "Gemm",   "Conv",    "MaxPool", "AveragePool",
                                  "LayerNorm", "CumSum", "Erf",     "Reshape", "Dense_Convolution_2D"};

Result<Verdict> judged(judge::Judge& judge, const Task& task, std::vector<judge::Guest*> guests, int pairs) {
  judge::Case one;
  one.task = &task;
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const std::string source, plain::plain_kernel(graph));
  one.source = {"plain.cpp", source};
  one.guests = std::move(guests);
  one.pairs = pairs;
  return judge.judge(one);
}

// The framework alone, call after call, on buffers and inputs of its own.
Result<double> loop_ns(Framework& framework, const judge::Instance& instance) {
  if (const auto outcome = framework.enter(instance, 1)) return fail("{}", outcome->text);
  KW_TRY(const judge::Arena inputs, judge::Arena::make(true));
  KW_TRY(const judge::Arena outputs, judge::Arena::make(false));
  Random random(1);
  constexpr std::uint32_t kCalls = 4;
  const std::vector<judge::Place> places(kCalls + 1, judge::Place::aligned);
  const judge::Layout layout = judge::lay_out(instance.inputs, instance.constant, instance.outputs, places, random);
  inputs.cut_to(layout.input_bytes);
  outputs.cut_to(layout.output_bytes);
  for (std::size_t call = 0; call < layout.calls.size(); ++call) {
    const std::vector<Tensor> drawn = ops::draw_inputs(instance.graph, ops::Manner::typical, call);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (instance.constant[i]) continue;
      const judge::Buffer& buffer = layout.calls[call].inputs[i];
      std::memcpy(inputs.at(buffer.offset), drawn[i].bytes().data(), buffer.size_bytes);
    }
  }
  const auto deadline = [] { return Clock::now() + std::chrono::seconds(30); };
  if (const auto outcome = framework.arrange(layout, instance, inputs, outputs, deadline())) {
    return fail("{}", outcome->text);
  }
  std::vector<double> times_ns;
  for (int round = 0; round < 40; ++round) {
    double time_ns = 0;
    if (const auto outcome = framework.run(0, kCalls, kCalls, &time_ns, deadline())) return fail("{}", outcome->text);
    times_ns.push_back(time_ns / kCalls);
  }
  return median_of(times_ns);
}

Status loop(judge::Judge& judge, const RivalFile& rival) {
  KW_TRY(Framework framework, Framework::open(rival));
  std::vector<double> ratios;
  for (const char* name : kTasks) {
    KW_TRY(const Task task, suites::find_task(name));
    KW_TRY(const judge::Instance instance, judge::make_instance(task, task.lengths, 1));
    const auto before = loop_ns(framework, instance);
    if (!before.ok()) {
      fmt::print("  {} {}: {}\n", rival.name, name, before.error().message);
      continue;
    }
    KW_TRY(const Verdict verdict, judged(judge, task, {&framework}, 60));
    KW_TRY(const double after, loop_ns(framework, instance));
    if (verdict.speedups.size() < 2 || !verdict.speedups.back().called) continue;
    const double loop = (*before + after) / 2, through = verdict.speedups.back().called->time_ns;
    ratios.push_back(through / loop);
    fmt::print("  {} {:<22} alone {:9.2f} us, through kw {:9.2f} us, {:+.1f} %\n", rival.name, name, loop / 1000,
               through / 1000, 100 * (through / loop - 1));
  }
  int near = 0;
  for (double ratio : ratios) near += std::fabs(ratio - 1) <= 0.05;
  fmt::print("{}: within 5 % of its own loop on {} of {} tasks; median {:+.1f} %\n", rival.name, near, ratios.size(),
             100 * (median_of(ratios) - 1));
  return {};
}

Status same(judge::Judge& judge, const RivalFile& rival) {
  KW_TRY(Framework one, Framework::open(rival));
  KW_TRY(Framework other, Framework::open(rival));
  KW_TRY(const Task task, suites::find_task("Softmax"));
  KW_TRY(const Verdict verdict, judged(judge, task, {&one, &other}, 500));
  std::vector<const Speedup*> guests;
  for (const Speedup& speedup : verdict.speedups) {
    if (speedup.called) guests.push_back(&speedup);
  }
  if (guests.size() != 2) return fail("{}: not both could be timed", rival.name);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < guests[0]->times.size(); ++i) {
    pairs.push_back({guests[0]->times[i].b_ns, guests[1]->times[i].b_ns});
  }
  const Ratio ratio = ratio_of_pairs(pairs, 1);
  fmt::print("{} against itself (Softmax, {} pairs): {:.4f} [{:.4f}, {:.4f}], noise {:.4f}: {}\n", rival.name,
             pairs.size(), ratio.median, ratio.low, ratio.high, *verdict.noise,
             ratio.differs_by_more_than(*verdict.noise) ? "A DIFFERENCE IS CLAIMED" : "no difference is claimed");
  return {};
}

Status cost(judge::Judge& judge, const RivalFile& rival) {
  KW_TRY(const Task task, suites::find_task("Relu"));
  const auto seconds = [&](std::vector<judge::Guest*> guests) -> Result<double> {
    const auto begin = Clock::now();
    KW_TRY(const Verdict verdict, judged(judge, task, guests, 100));
    double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const Speedup& speedup : verdict.speedups) {
      if (speedup.called) spent -= speedup.called->time_ns * speedup.pairs * 1e-9;
    }
    return spent;
  };
  KW_TRY([[maybe_unused]] const double ready, seconds({}));
  KW_TRY(const double without, seconds({}));
  {
    // What serves the task best is remembered from here on.
    KW_TRY(Framework first, Framework::open(rival));
    KW_TRY([[maybe_unused]] const double tried, seconds({&first}));
  }
  KW_TRY(Framework framework, Framework::open(rival));
  KW_TRY(const double started, seconds({&framework}));
  KW_TRY(const double again, seconds({&framework}));
  fmt::print(
      "{}: a judging with it takes {:.2f} s more with a new worker, {:.2f} s more with the worker that is there\n",
      rival.name, started - without, again - without);
  return {};
}

int main_of(const std::vector<std::string>& words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto complain = [](const std::string& what) { return fmt::print(stderr, "{}\n", what), 2; };
  const std::string what = words.empty() ? "" : words[0];
  const auto work = what == "loop" ? loop : what == "same" ? same : what == "cost" ? cost : nullptr;
  if (work == nullptr) return complain("kw_rivals_bench loop | same | cost [RIVAL]...");
  const auto all = rivals::all_rivals();
  auto judge = judge::Judge::open();
  if (!all.ok() || !judge.ok()) return complain(all.ok() ? judge.error().message : all.error().message);
  for (const RivalFile& rival : *all) {
    const bool named = std::find(words.begin() + 1, words.end(), rival.name) != words.end();
    if (!rival.installed() || (words.size() > 1 && !named)) continue;
    if (const Status status = work(*judge, rival); !status.ok()) return complain(status.error().message);
  }
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }
