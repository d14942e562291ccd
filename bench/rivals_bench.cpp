// Prints the rivals' figures.
//
//   kw_rivals_bench loop [RIVAL]... [TASK]...
//       each through the judge and in a plain loop of its own, on twenty tasks of all sizes or on these, the two in
//       alternation on one core
//   kw_rivals_bench same [RIVAL]...
//       each against itself, 500 pairs
//   kw_rivals_bench cost [RIVAL]...
//       what adding it to a judging costs beyond its timed calls
//
// Of the rivals that are installed. On a machine with nothing else to do.
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/files.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "compose/plain.h"
#include "judge/judge.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "rivals/framework.h"
#include "suites/catalog.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using rivals::Framework;
using rivals::RivalFile;
namespace fs = std::filesystem;

constexpr int kLoopPairs = 60;

// From a microsecond to tens of milliseconds, and every kind of work.
const std::vector<std::string> kTasks = {"Relu",      "PRelu",  "Softmax", "Add",     "Min",
                                         "ReduceL1",  "ArgMax", "Concat",  "Slice",   "Gather",
                                         "MatMul",    "Gemm",   "Conv",    "MaxPool", "AveragePool",
                                         "LayerNorm", "CumSum", "Erf",     "Reshape", "Dense_Convolution_2D"};

Result<Verdict> judged(judge::Judge& judge, const Task& task, std::vector<judge::FrameworkRival*> frameworks,
                       int pairs) {
  judge::Case one;
  one.task = &task;
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const std::string source, compose::plain_kernel(graph));
  one.source = {"plain.cpp", source};
  one.frameworks = std::move(frameworks);
  one.pairs = pairs;
  return judge.judge(one);
}

// The framework alone, in a process of its own: bench/plain_loop.py. It takes part in a race as a framework, so that
// its turns alternate with the others' on the same core: whatever disturbs the machine disturbs both. The outputs that
// a framework owes the race come from the framework itself, outside of the time.
class PlainLoop final : public judge::FrameworkRival {
 public:
  static Result<std::unique_ptr<PlainLoop>> start(const RivalFile& rival, const targets::Instance& instance) {
    KW_TRY(Framework framework, Framework::open(rival));
    if (const auto outcome = framework.enter(instance, 1)) return fail("{}", outcome->text);
    std::unique_ptr<PlainLoop> loop(new PlainLoop(std::move(framework)));
    KW_CHECK(loop->spawn(rival, instance));
    // The first call is the one that allocates.
    for (int i = 0; i < 3; ++i) {
      KW_TRY(loop->time_ns_, loop->ask(3));
    }
    return loop;
  }
  PlainLoop(const PlainLoop&) = delete;
  PlainLoop& operator=(const PlainLoop&) = delete;
  ~PlainLoop() override {
    if (to_ != nullptr) std::fclose(to_);
    if (from_ != nullptr) std::fclose(from_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  std::string name() const override { return framework_.name() + " in a loop"; }
  std::string version() const override { return framework_.version(); }
  judge::FrameworkStatus enter(const targets::Instance& instance, int threads) override {
    return framework_.enter(instance, threads);
  }
  const std::vector<Tensor>& weights() const override { return framework_.weights(); }
  double overhead_ns() const override { return framework_.overhead_ns(); }
  judge::FrameworkStatus arrange(const targets::SharedCalls& calls, const targets::Instance& instance,
                                 Clock::time_point deadline) override {
    return framework_.arrange(calls, instance, deadline);
  }
  judge::FrameworkStatus run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                             Clock::time_point deadline) override {
    double ignored_ns = 0;
    if (auto outcome = framework_.run(first, count, warm, &ignored_ns, deadline)) return outcome;
    const auto one_ns = ask(std::clamp(static_cast<int>(kTurnNs / time_ns_), 7, 1001));
    if (!one_ns.ok())
      return judge::FrameworkFailure{.kind = judge::FrameworkFailure::Kind::crashed, .text = one_ns.error().message};
    *time_ns += *one_ns * count;
    return std::nullopt;
  }
  std::vector<Shape> shapes(std::size_t call) const override { return framework_.shapes(call); }
  void pin(int core) const override {
    framework_.pin(core);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<unsigned>(core), &cores);
    std::error_code error;
    for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid_), error)) {
      ::sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof cores, &cores);
    }
  }

 private:
  // What a turn of the loop takes, roughly.
  static constexpr double kTurnNs = 10e6;
  // Of inputs that its calls have together, and how many calls at most.
  static constexpr std::int64_t kLoopBytes = 64 << 10;
  static constexpr std::int64_t kMostCalls = 16;

  explicit PlainLoop(Framework framework) : framework_(std::move(framework)) {}

  Status spawn(const RivalFile& rival, const targets::Instance& instance) {
    char made[] = "/tmp/kw_plain_loop_XXXXXX";
    if (::mkdtemp(made) == nullptr) return fail("no folder in /tmp: {}", std::strerror(errno));
    folder_ = made;
    const fs::path about = folder_ / "about.json";
    KW_CHECK(write_file(about, describe(instance)));
    KW_TRY(const fs::path worker, rivals::worker_program());
    const std::string loop = (fs::path(KW_SOURCE_DIR) / "bench" / "plain_loop.py").string();
    const std::string python = rival.python().string(), file = rival.file.string(), shared = worker.parent_path();
    const char* const words[] = {python.c_str(), "-B",          loop.c_str(), file.c_str(),
                                 shared.c_str(), about.c_str(), nullptr};
    int to[2] = {}, from[2] = {};
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) return fail("no pipe");
    pid_ = ::fork();
    if (pid_ < 0) return fail("no process: {}", std::strerror(errno));
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::setenv("OMP_NUM_THREADS", "1", 1);
      ::execv(words[0], const_cast<char* const*>(words));
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = ::fdopen(to[1], "w");
    from_ = ::fdopen(from[0], "r");
    return {};
  }

  // The model and the setting as kw uses them, and inputs with the weights that are in the model.
  std::string describe(const targets::Instance& instance) const {
    Json about = {{"model", framework_.model_file().string()},
                  {"folder", framework_.model_file().parent_path().string()},
                  {"setting", framework_.trial().setting},
                  {"inputs", Json::array()},
                  {"outputs", Json::array()}};
    std::int64_t input_bytes = 1;
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      if (!instance.constant[i]) input_bytes += instance.inputs[i].bytes();
    }
    const std::int64_t calls = std::clamp<std::int64_t>(kLoopBytes / input_bytes, 1, kMostCalls);
    std::vector<std::vector<Tensor>> drawn;
    for (std::int64_t call = 0; call < calls; ++call) {
      drawn.push_back(ops::draw_inputs(instance.graph, ops::InputClass::typical, 5 + static_cast<std::uint64_t>(call)));
    }
    about["calls"] = calls;
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      if (instance.constant[i]) continue;
      Json files = Json::array();
      for (std::size_t call = 0; call < drawn.size(); ++call) {
        files.push_back((folder_ / fmt::format("{}-{}.bin", i, call)).string());
        const auto bytes = drawn[call][i].bytes();
        [[maybe_unused]] const Status written =
            write_file(files.back().get<std::string>(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      }
      about["inputs"].push_back({{"name", instance.graph.inputs[i].name},
                                 {"dtype", std::string(name_of(drawn[0][i].dtype()))},
                                 {"shape", drawn[0][i].shape().lengths()},
                                 {"files", files}});
    }
    for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
      const auto slot = static_cast<std::size_t>(instance.graph.outputs[i]);
      about["outputs"].push_back({{"name", instance.graph.names[slot]},
                                  {"dtype", std::string(name_of(instance.outputs[i].dtype))},
                                  {"shape", instance.outputs[i].shape.lengths()}});
    }
    return about.dump();
  }

  // The median of `calls` calls.
  Result<double> ask(int calls) {
    char line[64] = {};
    if (std::fprintf(to_, "%d\n", calls) < 0 || std::fflush(to_) != 0 ||
        std::fgets(line, sizeof line, from_) == nullptr) {
      return fail("the plain loop has ended");
    }
    return std::strtod(line, nullptr);
  }

  Framework framework_;
  fs::path folder_;
  pid_t pid_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  double time_ns_ = 1;
};

Status loop(judge::Judge& judge, const RivalFile& rival, const std::vector<std::string>& tasks) {
  KW_TRY(Framework framework, Framework::open(rival));
  std::vector<double> ratios;
  for (const std::string& name : tasks.empty() ? kTasks : tasks) {
    KW_TRY(const Task task, suites::find_task(name));
    KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, 1));
    const auto alone = PlainLoop::start(rival, instance);
    if (!alone.ok()) {
      fmt::print("  {} {}: {}\n", rival.name, name, alone.error().message);
      continue;
    }
    KW_TRY(const Verdict verdict, judged(judge, task, {&framework, alone->get()}, kLoopPairs));
    std::vector<const Speedup*> frameworks;
    for (const Speedup& speedup : verdict.speedups) {
      if (speedup.called) frameworks.push_back(&speedup);
    }
    if (frameworks.size() != 2) {
      fmt::print("  {} {}: {}\n", rival.name, name,
                 verdict.left_out.empty() ? text_of(verdict.reason) : verdict.left_out[0].why);
      continue;
    }
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < frameworks[0]->times.size(); ++i) {
      pairs.push_back({frameworks[1]->times[i].b_ns, frameworks[0]->times[i].b_ns});
    }
    const Ratio ratio = ratio_of_pairs(pairs, 1);
    ratios.push_back(ratio.median);
    fmt::print("  {} {:<22} alone {:9.2f} us, through kw {:9.2f} us, {:+.1f} % [{:+.1f}, {:+.1f}]\n", rival.name, name,
               frameworks[1]->called->time_ns / 1000, frameworks[0]->called->time_ns / 1000, 100 * (ratio.median - 1),
               100 * (ratio.low - 1), 100 * (ratio.high - 1));
  }
  if (ratios.empty()) return fail("{}: no task could be timed", rival.name);
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
  std::vector<const Speedup*> frameworks;
  for (const Speedup& speedup : verdict.speedups) {
    if (speedup.called) frameworks.push_back(&speedup);
  }
  if (frameworks.size() != 2) return fail("{}: not both could be timed", rival.name);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < frameworks[0]->times.size(); ++i) {
    pairs.push_back({frameworks[0]->times[i].b_ns, frameworks[1]->times[i].b_ns});
  }
  const Ratio ratio = ratio_of_pairs(pairs, 1);
  fmt::print("{} against itself (Softmax, {} pairs): {:.4f} [{:.4f}, {:.4f}], noise {:.4f}: {}\n", rival.name,
             pairs.size(), ratio.median, ratio.low, ratio.high, *verdict.noise,
             ratio.differs_by_more_than(*verdict.noise) ? "A DIFFERENCE IS CLAIMED" : "no difference is claimed");
  return {};
}

Status cost(judge::Judge& judge, const RivalFile& rival) {
  KW_TRY(const Task task, suites::find_task("Relu"));
  const auto seconds = [&](Framework* framework) -> Result<double> {
    const auto begin = Clock::now();
    std::vector<judge::FrameworkRival*> frameworks;
    if (framework != nullptr) {
      framework->start();
      frameworks.push_back(framework);
    }
    KW_TRY(const Verdict verdict, judged(judge, task, frameworks, 100));
    double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const Speedup& speedup : verdict.speedups) {
      if (speedup.called) spent -= speedup.called->time_ns * speedup.pairs * 1e-9;
    }
    return spent;
  };
  KW_TRY([[maybe_unused]] const double ready, seconds(nullptr));
  KW_TRY(const double without, seconds(nullptr));
  {
    // What serves the task best is remembered from here on.
    KW_TRY(Framework first, Framework::open(rival));
    KW_TRY([[maybe_unused]] const double tried, seconds(&first));
  }
  KW_TRY(Framework framework, Framework::open(rival));
  KW_TRY(const double started, seconds(&framework));
  KW_TRY(const double again, seconds(&framework));
  fmt::print(
      "{}: a judging with it takes {:.2f} s more with a new worker, {:.2f} s more with the worker that is there\n",
      rival.name, started - without, again - without);
  return {};
}

int main_of(const std::vector<std::string>& words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto complain = [](const std::string& what) { return fmt::print(stderr, "{}\n", what), 2; };
  const std::string what = words.empty() ? "" : words[0];
  const auto all = rivals::all_rivals();
  auto judge = judge::Judge::open();
  if (!all.ok() || !judge.ok()) return complain(all.ok() ? judge.error().message : all.error().message);
  std::vector<RivalFile> named;
  std::vector<std::string> tasks;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto rival = std::ranges::find(*all, words[i], &RivalFile::name);
    if (rival != all->end()) named.push_back(*rival);
    if (rival == all->end()) tasks.push_back(words[i]);
  }
  if ((what != "loop" && what != "same" && what != "cost") || (what != "loop" && !tasks.empty())) {
    return complain("kw_rivals_bench loop [RIVAL]... [TASK]... | same [RIVAL]... | cost [RIVAL]...");
  }
  for (const RivalFile& rival : named.empty() ? *all : named) {
    if (!rival.installed()) continue;
    const Status status = what == "loop"   ? loop(*judge, rival, tasks)
                          : what == "same" ? same(*judge, rival)
                                           : cost(*judge, rival);
    if (!status.ok()) return complain(status.error().message);
  }
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }
