#include "report/made_up_run.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "suites/catalog.h"
#include "suites/task_snapshot.h"

namespace kw::report {
namespace {

constexpr double kPeakGflops = 74.2;

std::string kernel_source(const std::string& task, int tile, int unroll, int generation) {
  std::string text = fmt::format(
      "// A kernel of {0}, generation {3}.\n#include <kernelwright.h>\n\n#include <algorithm>\n#include <cmath>\n\n"
      "KW_TUNE(TILE, {1}, 4, 8, 16, 32);  // elements a step\nKW_TUNE(UNROLL, {2}, 1, 2, 4);\n\nnamespace {{\n\n"
      "constexpr float kScale = 1.0f / {1};\n\n/* One block of the output:\n   vectors first, then what is left. */\n"
      "void block(const float* __restrict x, float* __restrict y, int64_t count) {{\n  int64_t i = 0;\n"
      "  for (; i + TILE <= count; i += TILE) {{\n    for (int k = 0; k < TILE; ++k) y[i + k] = std::max(x[i + k], "
      "0.0f) * "
      "kScale;\n  }}\n",
      task, tile, unroll, generation);
  for (int i = 0; i < generation % 7; ++i) {
    text += fmt::format("  // pass {}\n  if (count > 0x{:x}u) y[{}] += x[{}] * {}.5e-3f;\n", i, 64 << i, i, i, i);
  }
  return text +
         "  for (; i < count; ++i) y[i] = std::max(x[i], 0.0f) * kScale;\n}\n\n}  // namespace\n\nKW_KERNEL(call) {\n"
         "  const auto x = call.input<float>(0);\n  auto y = call.output<float>(0);\n  const char* name = \"block "
         "\\\"y\\\"\";\n"
         "  static_cast<void>(name);\n  block(x.data(), y.data(), x.count());\n}\n";
}

// Reasons as the judge words them.
Verdict rejection(const std::string& task, Random& random) {
  struct Kind {
    VerdictStage stage;
    const char* reason;
  };
  static constexpr Kind kKinds[] = {
      {VerdictStage::build, "error: use of undeclared identifier '_mm256_fmadd_sp'"},
      {VerdictStage::build, "error: no matching function for call to 'block'"},
      {VerdictStage::load, "it imports system(), which a kernel may not use"},
      {VerdictStage::verify, "wrong in {} of 131072 elements; the first is y[{}] = 0.25, not 0.5 (typical values)"},
      {VerdictStage::hidden,
       "wrong in {} of 713 elements; the first is y[{}] = 0, not 1.5 (typical values, N=23 D=31)"},
      {VerdictStage::guard, "touched memory that is not its own: {} bytes past the end of input 0 (x)"},
      {VerdictStage::precision, "its error is {} times what is allowed: it computes in half precision"},
      {VerdictStage::behaviour, "a second call with the same inputs gave other bits in {} elements"},
      {VerdictStage::time, "it did not end within {} s"},
  };
  const Kind& kind = kKinds[static_cast<std::size_t>(random.uniform(0, 8.999))];
  Verdict verdict{.task = task, .target = "cpu", .stage = kind.stage};
  const std::string text = fmt::format(fmt::runtime(kind.reason), static_cast<int>(random.uniform(1, 99)),
                                       static_cast<int>(random.uniform(1, 9999)));
  verdict.reason = {ReasonCode::other, {{"text", text}}};
  if (kind.stage == VerdictStage::build) {
    verdict.errors.push_back(
        {.file = "kernel.cpp",
         .line = 17,
         .message = text,
         .around = "   16 |   int64_t i = 0;\n>  17 |   y[i] = _mm256_fmadd_sp(x[i], x[i]);\n   18 | }"});
  }
  return verdict;
}

// As fast as `least_ns` and the tries so far allow; rivals have their own strength for each task.
Verdict acceptance(const std::string& task, double least_ns, double fraction, std::span<const double> rivals_ns,
                   const MadeUpRun& run, Random& random) {
  const double time_ns = least_ns / fraction;
  Verdict verdict{.task = task,
                  .target = "cpu",
                  .stage = VerdictStage::accepted,
                  .max_error = random.uniform(0.01, 0.9),
                  .time_ns = time_ns,
                  .caches = "warm",
                  .roof_fraction = fraction,
                  .noise = 0.02,
                  .isolation = "full"};
  for (std::size_t i = 0; i < rivals_ns.size(); ++i) {
    const double median = rivals_ns[i] / time_ns, width = random.uniform(0.005, 0.06);
    Speedup speedup{.rival = run.rivals[i],
                    .median = median,
                    .low = median * (1 - width),
                    .high = median * (1 + width),
                    .pairs = run.pairs,
                    .claimed = std::fabs(std::log(median)) > width + 0.02};
    for (int k = 0; k < run.pairs; ++k) {
      const double a_ns = time_ns * random.uniform(1, 1.1);
      speedup.times.push_back({a_ns, a_ns * median});
    }
    if (run.rivals[i] != "plain") {
      speedup.called = Called{.version = "1.0",
                              .median = median * 1.05,
                              .low = median,
                              .high = median * 1.1,
                              .time_ns = rivals_ns[i] * 1.05,
                              .overhead_ns = 900};
    }
    verdict.speedups.push_back(std::move(speedup));
  }
  return verdict;
}

// What a search knows of a candidate that it did not judge in full.
Verdict quick_check(const std::string& task) {
  return {.task = task, .target = "cpu", .stage = VerdictStage::quick_check, .reason = {ReasonCode::only_quick_check}};
}

double least_time_of(const store::TaskSnapshot& snapshot) {
  const auto task = suites::task_of_snapshot(snapshot.text);
  if (!task.ok()) return 1000;
  const auto graph = ops::resolve(*task);
  if (!graph.ok()) return 1000;
  const Cost cost = ops::cost_of(*graph);
  return std::max({cost.flops / kPeakGflops,
                   cost.bytes() / (cost.bytes() < 32768     ? 180.0
                                   : cost.bytes() < 1 << 20 ? 90.0
                                                            : 14.0),
                   50.0});
}

}  // namespace

Result<std::vector<store::TaskSnapshot>> snapshots_of_suite(const std::string& name) {
  KW_TRY(const suites::Suite suite, suites::find_suite(name));
  std::vector<store::TaskSnapshot> all;
  for (const Task& task : suite.tasks) all.push_back({task.name, task.suite, task.category, suites::snapshot_of(task)});
  return all;
}

store::Machine made_up_machine() {
  const auto level = [](const char* name, const char* size, double gbps) {
    const std::string figure = fmt::format(R"({{"best":{},"spread":0.01,"stable":true,"runs":[{}]}})", gbps, gbps);
    return fmt::format(
        R"({{"name":"{}","size_bytes":{},"working_set_bytes":1,"read_gbps":{},"write_gbps":{},"copy_gbps":{},"triad_gbps":{}}})",
        name, size, figure, figure, figure, figure);
  };
  const std::string facts = fmt::format(
      R"({{"cpu":{{"model":"A Processor","logical_cores":2,"vector":"avx2","caches":[{{"name":"L1","size_bytes":32768,"shared_by":1}},{{"name":"L2","size_bytes":1048576,"shared_by":1}}]}},"compilers":{{"g++":"12.2.0","clang++":"14.0.6"}},"kernel":"Linux 6.1","sandbox":"full","roofs":{{"measured_at":"2026-01-31T12:00:00Z","fma_gflops":{{"best":{}}},"levels":[{},{},{}]}}}})",
      kPeakGflops, level("L1", "32768", 180), level("L2", "1048576", 90), level("memory", "null", 14));
  return {.identity = "0123456789abcdef", .name = "A Processor", .facts = facts};
}

Result<std::int64_t> add_made_up_run(store::Store& store, std::span<const store::TaskSnapshot> tasks,
                                     const MadeUpRun& run) {
  Random random(run.seed);
  std::vector<store::NewItem> items;
  std::vector<Verdict> verdicts;
  struct Line {
    double least_ns = 0;
    bool fails = false;
    double fraction = 0.02;  // of the roof's speed, of the best so far
    std::vector<double> rivals_ns;
    std::optional<store::Candidate> best;
    int generation = 0;
  };
  std::vector<Line> lines;
  for (const store::TaskSnapshot& task : tasks) {
    Line& line = lines.emplace_back();
    line.least_ns = least_time_of(task);
    line.fails = random.uniform(0, 1) < run.failing;
    line.fraction = 0.06 * std::exp(0.5 * random.normal());
    for (std::size_t i = 0; i < run.rivals.size(); ++i) {
      line.rivals_ns.push_back(line.least_ns / (i == 0 ? 0.03 : 0.1) * std::exp(0.8 * random.normal()));
    }
  }
  const auto plan = [&](std::size_t t, store::Purpose purpose, const store::Candidate& candidate, Verdict verdict) {
    items.push_back(
        {.position = static_cast<std::int64_t>(items.size()) + 1,
         .purpose = purpose,
         .task = tasks[t],
         .candidate = candidate,
         .build = R"({"compiler":"clang++","flags":["-O3","-march=native"],"values":{"TILE":16,"UNROLL":2}})"});
    verdicts.push_back(std::move(verdict));
  };
  for (int round = 0; round < run.candidates; ++round) {
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      Line& line = lines[t];
      store::Candidate candidate{
          .file = fmt::format("kernel_{}_{}.cpp", t, round),
          .source = kernel_source(tasks[t].name, 4 << round % 4, 1 << round % 3, line.generation),
          .settings = fmt::format(R"({{"TILE":"{}"}})", 4 << round % 4),
          .author = run.author};
      if (line.best) candidate.parents = {store::hash_of(*line.best)};
      if (line.best) candidate.notes = fmt::format("Round {}: a wider tile, and one pass more.", round);
      const bool rejected = line.fails || random.uniform(0, 1) < run.rejected;
      const double fraction =
          std::min(run.most_of_roof, line.fraction * run.strength * std::exp(0.35 * random.normal()));
      plan(t, store::Purpose::judge, candidate,
           rejected           ? rejection(tasks[t].name, random)
           : run.quick_checks ? quick_check(tasks[t].name)
                              : acceptance(tasks[t].name, line.least_ns, fraction, line.rivals_ns, run, random));
      if (!rejected && (!line.best || fraction > line.fraction)) {
        line.fraction = fraction;
        line.best = candidate;
        ++line.generation;
      }
    }
  }
  if (run.measures_again && run.candidates > 1) {
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      if (lines[t].best)
        plan(t, store::Purpose::confirm, *lines[t].best,
             acceptance(tasks[t].name, lines[t].least_ns, lines[t].fraction * 0.97, lines[t].rivals_ns, run, random));
    }
  }
  KW_TRY(const std::int64_t machine, store.add_machine(made_up_machine()));
  KW_TRY(const std::int64_t id,
         store.begin_run({.command = "kw optimize " + (tasks.empty() ? std::string("nothing") : tasks[0].suite),
                          .suite = tasks.empty() ? "" : tasks[0].suite,
                          .author = run.author,
                          .strategy = "evolution",
                          .seed = static_cast<std::int64_t>(run.seed),
                          .rules = R"({"threads":1,"cold":false,"budget_s":2})"},
                         items));
  KW_TRY(const auto open, store.open_items(id));
  std::map<std::string, std::string> versions;
  for (const std::string& rival : run.rivals)
    versions[rival] = rival == "plain" ? "g++ 12.2.0 -O3, source 0123456789ab" : "1.0";
  for (std::size_t i = 0; i < open.size(); ++i) {
    KW_CHECK(store.record(open[i].id, verdicts[i], judge::verdict_as_json(verdicts[i]),
                          {.machine = machine,
                           .spent_s = random.uniform(0.2, 2.5),
                           .terms = "warm caches, 1 thread",
                           .versions = versions}));
  }
  KW_CHECK(store.set_state(id, store::RunState::done));
  return id;
}

}  // namespace kw::report
