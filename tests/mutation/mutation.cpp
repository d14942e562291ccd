// Is the judge itself any good? Small wrong kernels are made from right ones, and it has to reject them.
//
//   kw_mutation [--each N] [--seed N] [--least PERCENT] [--more N] [TASK]...
//
// A mutant that the judge accepts is examined twenty times more (--more), on other shapes, mostly small ones, and
// values: one that is wrong in any of them was missed; one that never is differs in nothing that shows, and counts as
// equivalent. Both are listed. Exits 1 when less than PERCENT (99) of those that are not equivalent were rejected.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "compose/plain.h"
#include "judge/judge.h"
#include "mutate.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "suites/catalog.h"
#include "targets/cpu/library.h"

namespace kw {
namespace {

// Each of another kind: activations, arithmetic, reductions, layouts, indices, windows, matrices, norms, recurrences.
constexpr const char* kTasks[] = {"Relu",
                                  "ELU",
                                  "LogSoftmax_axis_1",
                                  "Softmax",
                                  "PRelu",
                                  "Add",
                                  "Mod",
                                  "Min",
                                  "Where_broadcast",
                                  "Equal",
                                  "HardSigmoid",
                                  "Softplus_2d",
                                  "ReduceSum_multiple_axes",
                                  "ReduceL1",
                                  "ReduceMin_empty_axes",
                                  "ArgMax",
                                  "ReduceLogSumExp",
                                  "CumSum",
                                  "TopK",
                                  "Concat",
                                  "Slice",
                                  "Tile",
                                  "StridedSlice",
                                  "Trilu_lower",
                                  "Gather",
                                  "GatherElements",
                                  "OneHot",
                                  "DepthToSpace",
                                  "ScatterElements",
                                  "MatMul",
                                  "Gemm",
                                  "Conv",
                                  "ConvTranspose_dilations",
                                  "MaxPool",
                                  "AveragePool",
                                  "BatchNormalization",
                                  "LayerNorm",
                                  "LSTM",
                                  "ROIAlign",
                                  "GridSample"};

struct Counts {
  int made = 0, rejected = 0, not_compiled = 0, equivalent = 0, missed = 0;
  void add(const Counts& other) {
    made += other.made, rejected += other.rejected, not_compiled += other.not_compiled;
    equivalent += other.equivalent, missed += other.missed;
  }
  double percent() const { return rejected + missed == 0 ? 100 : 100.0 * rejected / (rejected + missed); }
};

// So many further examinations on the task's own shape; the others begin with a small one.
constexpr int kFullExams = 2;

// The task with the smallest of some hidden shapes for its own.
Task small_one(const Task& task) {
  Task small = task;
  double least = 1e300;
  for (const Lengths& lengths : ops::hidden_lengths(task, judge::secret(), 12)) {
    double product = 1;
    for (const auto& [name, length] : lengths) product *= static_cast<double>(length);
    if (product < least && product > 1) least = product, small.lengths = lengths;
  }
  return small;
}

// Whether any of many further examinations finds something.
Result<bool> is_wrong_somewhere(judge::Judge& judge, const Task& task, const judge::Built& built, int exams) {
  for (int i = 0; i < exams; ++i) {
    const Task small = small_one(task);
    KW_TRY(const judge::Examined examined, judge::examine({.task = i < kFullExams ? &task : &small,
                                                           .device = &judge.device(),
                                                           .built = &built,
                                                           .seed = judge::secret()}));
    if (examined.finding) return true;
  }
  return false;
}

Result<Counts> try_task(judge::Judge& judge, const Task& task, std::size_t each, std::uint64_t seed, int more_exams) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const std::string source, compose::plain_kernel(graph));
  Random random(seed);
  const std::vector<mutation::Mutant> mutants = mutation::some_mutants(source, each, random);
  Counts counts;
  std::mutex lock;
  std::atomic<std::size_t> next = 0;
  std::string problem;
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < mutants.size();) {
      judge::Case one;
      one.task = &task;
      one.source = {"mutant.cpp", mutants[i].source};
      one.settings = {{"flags", "-O1"}};
      one.timed = false;
      auto inspected = judge.inspect(one);
      bool wrong = false;
      if (inspected.ok() && inspected->verdict.accepted()) {
        const auto more = is_wrong_somewhere(judge, task, *inspected->built, more_exams);
        wrong = more.ok() && *more;
      }
      const std::lock_guard guard(lock);
      if (!inspected.ok()) {
        problem = inspected.error().message;
        return;
      }
      const Verdict& verdict = inspected->verdict;
      ++counts.made;
      if (verdict.stage == VerdictStage::build) {
        ++counts.not_compiled;
      } else if (!verdict.accepted()) {
        ++counts.rejected;
      } else {
        ++(wrong ? counts.missed : counts.equivalent);
        fmt::print("  {} {} line {}: {}\n    -{}\n    +{}\n", wrong ? "MISSED" : "equivalent?", task.name,
                   mutants[i].line, mutants[i].kind, mutants[i].before, mutants[i].after);
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1u); ++i) workers.emplace_back(work);
  }
  if (!problem.empty()) return fail("{}: {}", task.name, problem);
  return counts;
}

int main_of(const std::vector<std::string>& words) {
  std::size_t each = 60;
  std::uint64_t seed = 1;
  double least = 99;
  int more_exams = 20;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool more = i + 1 < words.size();
    if (words[i] == "--each" && more) {
      each = std::stoul(words[++i]);
    } else if (words[i] == "--seed" && more) {
      seed = std::stoull(words[++i]);
    } else if (words[i] == "--least" && more) {
      least = std::stod(words[++i]);
    } else if (words[i] == "--more" && more) {
      more_exams = std::stoi(words[++i]);
    } else {
      names.push_back(words[i]);
    }
  }
  if (names.empty()) names.assign(std::begin(kTasks), std::end(kTasks));
  auto judge = judge::Judge::open();
  if (!judge.ok()) return fmt::print(stderr, "{}\n", judge.error().message), 2;
  const auto begin = std::chrono::steady_clock::now();
  Counts all;
  for (const std::string& name : names) {
    const auto task = suites::find_task(name);
    const auto counts = task.ok() ? try_task(*judge, *task, each, seed, more_exams) : Result<Counts>(task.error());
    if (!counts.ok()) return fmt::print(stderr, "{}\n", counts.error().message), 2;
    fmt::print("{:<22} {:4} mutants, {:4} do not compile, {:4} rejected, {:3} equivalent, {:3} missed\n", name,
               counts->made, counts->not_compiled, counts->rejected, counts->equivalent, counts->missed);
    std::fflush(stdout);
    all.add(*counts);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  fmt::print("{} tasks, {} mutants ({} do not compile, {} equivalent): {} rejected, {} missed: {:.2f} % ({:.0f} s)\n",
             names.size(), all.made, all.not_compiled, all.equivalent, all.rejected, all.missed, all.percent(),
             spent.count());
  return all.percent() >= least ? 0 : 1;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }
