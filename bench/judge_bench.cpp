// Prints the judge's figures.
//
//   kw_judge_bench speed    one kernel, a batch of a hundred, one judged before, a sandbox from start to end
//   kw_judge_bench noise    identical kernels, and one that is three percent slower
//   kw_judge_bench suite    every task's plain kernel, and the same with one wrong element
//   kw_judge_bench against PROGRAM [SECONDS]
//                           the same kernels judged by this build's kw and by another one, in turn: how much longer a
//                           full judging takes, and how many of a batch a second
//
// On a machine with nothing else to do; each takes a few minutes.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "base/random.h"
#include "compose/plain.h"
#include "judge/batch.h"
#include "judge/judge.h"
#include "ops/graph.h"
#include "suites/catalog.h"

namespace kw {
namespace {

Result<std::string> plain_source(const Task& task) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  return compose::plain_kernel(graph);
}

// A typical kernel of the 64k-element task Relu; no two numbers give the same source.
std::string typical_kernel(int number) {
  return fmt::format(R"(// number {0}
#include <kernelwright.h>

KW_TUNE(UNROLL, {1}, 1, 2, 4, 8);

KW_KERNEL(call) {{
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  int64_t i = 0;
  for (; i + UNROLL <= x.count(); i += UNROLL) {{
    for (int k = 0; k < UNROLL; ++k) y[i + k] = x[i + k] < 0 ? 0 : x[i + k];
  }}
  for (; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}}
)",
                     number, 1 << number % 4);
}

// `extra` hundredths of the elements are computed twice. Most of an element's time is a chain of operations without
// branches: elements computed again would be cheaper where the processor has learned their branches.
std::string slowed_kernel(int extra) {
  return fmt::format(R"(#include <kernelwright.h>
static inline float slow_erf(float x) {{
  float chain = x;
  for (int k = 0; k < 64; ++k) chain = chain * 0.999f + 0.001f;
  asm volatile("" : : "x"(chain) : "memory");
  return std::erf(x);
}}
KW_KERNEL(call) {{
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = slow_erf(x[i]);
  for (int64_t i = 0; i < x.count() * {} / 100; ++i) y[i] = slow_erf(x[i]);
}}
)",
                     extra);
}

Status speed() {
  KW_TRY(const Task task, suites::find_task("Relu"));
  KW_TRY(judge::Judge judge, judge::Judge::open());
  judge::Case one;
  one.task = &task;
  one.pairs = 100;
  one.source = {"warm.cpp", typical_kernel(-4)};
  KW_TRY(const Verdict warm, judge.judge(one));
  if (!warm.accepted()) return fail("the typical kernel was rejected: {}", text_of(warm.reason));

  std::vector<double> times, builds, inspections;
  for (int i = 0; i < 9; ++i) {
    one.source = {"kernel.cpp", typical_kernel(1000 + i)};
    const auto begin = Clock::now();
    KW_TRY(judge::Inspected inspected, judge.inspect(one));
    builds.push_back(static_cast<double>(inspected.built->build_ns) / 1e9);
    inspections.push_back(seconds_since(begin));
    KW_TRY(const Verdict verdict, judge.time(one, std::move(inspected)));
    times.push_back(seconds_since(begin));
    if (!verdict.accepted()) fmt::print("rejected: {}\n", text_of(verdict.reason));
  }
  fmt::print(
      "one kernel (Relu, 65536 elements; build, examination, 100 pairs): {:.2f} s, median of {}; the build takes "
      "{:.2f} s, the examination {:.2f} s\n",
      median_of(times), times.size(), median_of(builds), median_of(inspections) - median_of(builds));

  for (const char* flags : {"-O3", "-O2"}) {
    std::vector<judge::Case> cases;
    for (int i = 0; i < 100; ++i) {
      judge::Case each;
      each.task = &task;
      each.source = {"kernel.cpp", typical_kernel(i)};
      each.settings = {{"flags", flags}};
      each.budget_s = judge::kBatchBudget_s;
      cases.push_back(std::move(each));
    }
    KW_TRY(const Verdict first, judge.judge(cases[0]));  // the precompiled header and the plain kernel for these flags
    int accepted = 0;
    const auto begin = Clock::now();
    judge::judge_batch(judge, cases, [&](std::size_t, const Result<Verdict>& verdict) {
      accepted += verdict.ok() && verdict->accepted();
      if (verdict.ok() && !verdict->accepted()) fmt::print("  rejected: {}\n", text_of(verdict->reason));
    });
    const double spent = seconds_since(begin);
    fmt::print("a batch of 100 with {}: {:.1f} s, {:.2f} a second, {} accepted\n", flags, spent, 100 / spent, accepted);
  }

  std::vector<double> starts;
  KW_TRY(const auto calls, judge.device().make_calls());
  KW_TRY(const auto built,
         judge.device().build({"kernel.cpp", typical_kernel(1)}, {.values = {}, .compiler = "g++", .flags = {"-O3"}}));
  for (int i = 0; i < 200; ++i) {
    const auto begin = Clock::now();
    {
      KW_TRY(const auto kernel, judge.device().load(*built, *calls, {.threads = 1}));
      const Reason reason = kernel->finish_loading(Clock::now() + std::chrono::seconds(5));
      if (!reason.empty()) return fail("{}", text_of(reason));
    }
    starts.push_back(1000 * seconds_since(begin));
  }
  fmt::print("a sandbox with a kernel, from start to reap: {:.2f} ms, median of {}\n", median_of(starts),
             starts.size());
  return {};
}

Status kept() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("kw_bench_{}.cpp", ::getpid())).string();
  KW_CHECK(write_file(file, typical_kernel(2000)));
  const std::string command = fmt::format("{} eval Relu {} --json > /dev/null", program.string(), file);
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    const auto begin = Clock::now();
    if (std::system(command.c_str()) != 0) return fail("{} failed", command);
    if (i > 0) times.push_back(1000 * seconds_since(begin));
  }
  std::filesystem::remove(file);
  fmt::print("kw eval of a kernel that was judged before: {:.1f} ms, median of {}\n", median_of(times), times.size());
  return {};
}

Status noise() {
  KW_TRY(judge::Judge judge, judge::Judge::open());
  KW_TRY(const Task task, suites::find_task("Erf"));
  const auto judged = [&](int extra, int pairs) -> Result<Verdict> {
    judge::Case one;
    one.task = &task;
    one.source = {"candidate.cpp", slowed_kernel(extra)};
    one.against = {{"rival.cpp", slowed_kernel(0)}};
    one.pairs = pairs;
    return judge.judge(one);
  };
  double largest = 0;
  int claims = 0;
  for (int i = 0; i < 20; ++i) {
    KW_TRY(const Verdict verdict, judged(0, 500));
    if (!verdict.accepted()) return fail("rejected: {}", text_of(verdict.reason));
    const Speedup& rival = verdict.speedups.back();
    largest = std::max(largest, std::fabs(rival.median - 1));
    claims += rival.claimed;
    fmt::print("  identical {:2}: {:.4f} [{:.4f}, {:.4f}], noise {:.4f}{}\n", i + 1, rival.median, rival.low,
               rival.high, *verdict.noise, rival.claimed ? "  CLAIMED" : "");
  }
  fmt::print("20 identical pairs at 500 pairs of timing: {} claims of a difference; largest deviation {:.2f} %\n",
             claims, 100 * largest);
  int told = 0;
  for (int i = 0; i < 10; ++i) {
    KW_TRY(const Verdict verdict, judged(3, 500));
    if (!verdict.accepted()) return fail("rejected: {}", text_of(verdict.reason));
    const Speedup& rival = verdict.speedups.back();
    told += rival.claimed && rival.median < 1;
    fmt::print("  slowed {:2}: {:.4f} [{:.4f}, {:.4f}], noise {:.4f}\n", i + 1, rival.median, rival.low, rival.high,
               *verdict.noise);
  }
  fmt::print("a kernel slowed by 3 %: told apart in {} of 10 runs\n", told);
  return {};
}

// The plain kernel with one element of its first output changed when it has run.
std::string spoiled(const std::string& source) {
  return "#include <kernelwright.h>\n#define kw_run kw_right\n" + source + R"(
#undef kw_run
KW_EXPORT int kw_run(kw_call* call) {
  const int status = kw_right(call);
  kw_tensor* output = &call->outputs[0];
  int64_t count = 1;
  for (int i = 0; i < output->rank; ++i) count *= output->shape[i];
  const int64_t at = count * 5 / 7;
  if (count == 0) return status;
  if (output->dtype == KW_FLOAT32) {
    float* element = (float*)output->data + at;
    *element = std::isfinite(*element) ? *element * 1.01f + 0.01f : 0;
  } else if (output->dtype == KW_INT64) {
    ((int64_t*)output->data)[at] += 1;
  } else if (output->dtype == KW_INT32) {
    ((int32_t*)output->data)[at] += 1;
  } else {
    ((unsigned char*)output->data)[at] ^= 1;
  }
  return status;
}
)";
}

Status suite() {
  KW_TRY(judge::Judge judge, judge::Judge::open());
  KW_TRY(const suites::Suite all, suites::find_suite("mobilekernelbench"));
  for (const bool wrong : {false, true}) {
    std::vector<judge::Case> cases;
    for (const Task& task : all.tasks) {
      const auto source = plain_source(task);
      if (!source.ok()) {
        fmt::print("  {}\n", source.error().message);
        continue;
      }
      judge::Case one;
      one.task = &task;
      one.source = {"plain.cpp", wrong ? spoiled(*source) : *source};
      one.settings = {{"flags", "-O2"}};
      one.timed = !wrong;
      one.budget_s = 0.1;
      cases.push_back(std::move(one));
    }
    std::size_t good = 0;
    const auto begin = Clock::now();
    judge::judge_batch(judge, cases, [&](std::size_t index, const Result<Verdict>& verdict) {
      if (!verdict.ok()) {
        fmt::print("  {}: {}\n", cases[index].task->name, verdict.error().message);
      } else if (verdict->accepted() == !wrong) {
        ++good;
      } else {
        fmt::print("  {}: {} {}\n", cases[index].task->name, name_of(verdict->stage), text_of(verdict->reason));
      }
    });
    fmt::print("{}: {} of {} {} ({:.0f} s)\n",
               wrong ? "plain kernels with one wrong element" : "plain kernels of kw init", good, all.tasks.size(),
               wrong ? "rejected" : "accepted", seconds_since(begin));
  }
  return {};
}

struct Spent {
  double wall_s = 0;
  double cpu_s = 0;  // with all that was started
  bool accepted = false;
};

// A command's time; its output is thrown away.
Spent spent_by(const std::string& command) {
  const auto cpu_s = [] {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  };
  const double before_s = cpu_s();
  const auto begin = Clock::now();
  const int status = std::system((command + " > /dev/null 2> /dev/null").c_str());
  return {seconds_since(begin), cpu_s() - before_s, status == 0};
}

// Other work on the machine slows both alike, in turn; CPU time says it besides.
Status against(const std::string& other, double seconds) {
  const std::string own = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw").string();
  const std::string programs[] = {other, own};
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("kw_bench_{}", ::getpid());
  std::filesystem::create_directories(folder);
  KW_TRY(suites::Suite all, suites::find_suite("mobilekernelbench"));
  Random random(1);
  random.shuffle(std::span(all.tasks));
  const auto begin = Clock::now();
  std::vector<double> walls, cpus;
  int number = 0, kinds = 0;
  for (const Task& task : all.tasks) {
    const auto source = plain_source(task);
    if (!source.ok()) continue;
    if (seconds_since(begin) > seconds) break;
    Spent spent[2];
    // The first kernel of each makes the precompiled header.
    for (int round = kinds == 0 ? -1 : 0; round < 2; ++round) {
      for (int which : {round % 2 == 0, round % 2 != 0}) {
        const std::string file = (folder / fmt::format("kernel{}.cpp", ++number)).string();
        KW_CHECK(write_file(file, fmt::format("// {}\n{}", number, *source)));
        const Spent one = spent_by(
            fmt::format("{} eval {} {} --no-store --rival none --set flags=-O2", programs[which], task.name, file));
        if (!one.accepted) fmt::print("  {} was not accepted by {}\n", task.name, programs[which]);
        if (round < 0) continue;
        spent[which].wall_s += one.wall_s / 2;
        spent[which].cpu_s += one.cpu_s / 2;
      }
    }
    ++kinds;
    walls.push_back(spent[1].wall_s / spent[0].wall_s);
    cpus.push_back(spent[1].cpu_s / spent[0].cpu_s);
    fmt::print("  {:50} {:6.2f} s, before {:6.2f} s: {:.2f} times; CPU {:.2f} times\n", task.name, spent[1].wall_s,
               spent[0].wall_s, walls.back(), cpus.back());
  }
  fmt::print("full judging of {} plain kernels: {:.2f} times as long in the median, CPU {:.2f} times\n", walls.size(),
             median_of(walls), median_of(cpus));
  for (int which : {0, 1}) {
    std::string lines;
    for (int i = 0; i < 100; ++i) {
      lines += Json{{"task", "Relu"}, {"source", typical_kernel(++number + 5000)}}.dump() + "\n";
    }
    const std::string file = (folder / fmt::format("batch{}.jsonl", which)).string();
    KW_CHECK(write_file(file, lines));
    const Spent one = spent_by(fmt::format("{} eval --batch {} --no-store --rival none", programs[which], file));
    fmt::print("a batch of 100 by {}: {:.1f} s, {:.2f} a second, CPU {:.1f} s{}\n", programs[which], one.wall_s,
               100 / one.wall_s, one.cpu_s, one.accepted ? "" : "; not all were accepted");
  }
  std::filesystem::remove_all(folder);
  return {};
}

int main_of(const std::vector<std::string>& words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = words.empty() ? "" : words[0];
  Status status;
  if (what == "speed") {
    status = speed();
    if (status.ok()) status = kept();
  } else if (what == "noise") {
    status = noise();
  } else if (what == "suite") {
    status = suite();
  } else if (what == "against" && words.size() > 1) {
    status = against(words[1], words.size() > 2 ? std::atof(words[2].c_str()) : 180);
  } else {
    status = fail("kw_judge_bench speed | noise | suite | against PROGRAM [SECONDS]");
  }
  if (!status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 2;
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }
