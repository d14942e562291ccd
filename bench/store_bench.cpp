// Prints the record's figures.
//
//   kw_store_bench commit        what one committed verdict takes
//   kw_store_bench share [N]     what part of a batch's time recording takes: N (40) real candidates, judged and
//   recorded kw_store_bench large         100,000 verdicts: kw runs, kw best kw_store_bench kills [N]     N (200) kills
//   of real runs at random instants, and what was lost
//
// `kills` takes about two seconds a kill. In the folder for temporary files, which must lie on a disk to mean anything.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/paired_ratio.h"
#include "base/random.h"
#include "compose/plain.h"
#include "judge/batch.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "runs/case_record.h"
#include "runs/killed_run.h"
#include "runs/machine.h"
#include "store/by_hand.h"
#include "store/sha256.h"
#include "suites/catalog.h"
#include "suites/task_snapshot.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class WorkFolder {
 public:
  WorkFolder() : path_(fs::temp_directory_path() / fmt::format("kw_store_bench_{}", ::getpid())) {
    fs::create_directories(path_);
  }
  ~WorkFolder() { fs::remove_all(path_); }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Verdict typical_verdict(const std::string& task, Random& random, int pairs) {
  Verdict verdict = store::verdict_by_hand(1, 1, 0);
  verdict.task = task;
  verdict.isolation = "full";
  verdict.caches = "warm";
  verdict.time_ns = random.uniform(1e3, 1e6);
  Speedup& rival = verdict.speedups[0];
  rival.median = std::exp(random.normal());
  rival.low = rival.median * 0.99;
  rival.high = rival.median * 1.01;
  rival.pairs = pairs;
  for (int i = 0; i < pairs; ++i) {
    const double a_ns = *verdict.time_ns * random.uniform(1, 1.1);
    rival.times.push_back({a_ns, a_ns * rival.median * random.uniform(1, 1.02)});
  }
  return verdict;
}

// What the disk itself asks for: a page more, and the wait until it is there.
Result<double> sync_ms(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return fail("{}: cannot be written", file.string());
  const std::string page(4096, 'x');
  std::vector<double> times_ms;
  for (int i = 0; i < 300; ++i) {
    const auto begin = Clock::now();
    if (::write(fd, page.data(), page.size()) < 0 || ::fdatasync(fd) != 0) break;
    times_ms.push_back(ms_since(begin));
  }
  ::close(fd);
  return median_of(times_ms);
}

Status commit() {
  constexpr int kVerdicts = 2000;
  const WorkFolder folder;
  Random random(1);
  KW_TRY(store::Store store, store::Store::open(folder.path()));
  std::vector<store::NewItem> items;
  for (int i = 1; i <= kVerdicts; ++i) items.push_back(store::item_by_hand(i, fmt::format("// source {}", i)));
  const auto planning = Clock::now();
  KW_TRY(const std::int64_t run, store.begin_run({.command = "bench"}, items));
  fmt::print("a run of {} candidates, planned: {:.0f} ms\n", kVerdicts, ms_since(planning));
  KW_TRY(const std::int64_t machine, store.add_machine(store::machine_by_hand()));
  KW_TRY(const auto open, store.open_items(run));
  std::vector<double> times_ms;
  for (const store::Item& item : open) {
    const Verdict verdict = typical_verdict("Relu", random, 100);
    const std::string json = judge::verdict_as_json(verdict);
    const auto begin = Clock::now();
    KW_CHECK(store.record(item.id, verdict, json, store::around_by_hand(machine)));
    times_ms.push_back(ms_since(begin));
  }
  std::ranges::sort(times_ms);
  fmt::print("a committed verdict with 100 pairs of times: {:.2f} ms, median of {}; 99 % within {:.2f} ms\n",
             median_of(times_ms), kVerdicts, times_ms[kVerdicts * 99 / 100]);
  KW_TRY(const double alone_ms, sync_ms(folder.path() / "page"));
  fmt::print("of which the disk's own wait for a page: {:.2f} ms\n", alone_ms);
  fmt::print("its size on the disk: {:.1f} KiB\n",
             static_cast<double>(fs::file_size(store::Store::file_in(folder.path()))) / 1024 / kVerdicts);
  return {};
}

// Plain kernels of as many tasks, the first of the suite, judged as a batch: built, examined and timed.
Status share(int wanted) {
  const WorkFolder folder;
  KW_TRY(const suites::Suite suite, suites::find_suite("mobilekernelbench"));
  std::vector<judge::Case> cases;
  std::vector<store::NewItem> items;
  for (const Task& task : suite.tasks) {
    if (std::ssize(cases) == wanted) break;
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    KW_TRY(std::string source, compose::plain_kernel(graph));
    judge::Case one;
    one.task = &task;
    one.source = {"kernel.cpp", std::move(source)};
    one.budget_s = judge::kBatchBudget_s;
    items.push_back(runs::planned(std::ssize(items) + 1, one, "null"));
    cases.push_back(std::move(one));
  }
  KW_TRY(judge::Judge judge, judge::Judge::open());
  const auto begin = Clock::now();
  KW_TRY(store::Store store, store::Store::open(folder.path()));
  const store::Machine machine = runs::this_machine(targets::usual_device(), judge.device().isolation());
  KW_TRY(const std::int64_t machine_row, store.add_machine(machine));
  runs::RivalVersions versions(machine);
  KW_TRY(const std::int64_t run, store.begin_run({.command = "bench"}, items));
  KW_TRY(const auto open, store.open_items(run));
  double recording_ms = ms_since(begin);
  std::vector<double> times_ms;
  Status status;
  judge::judge_batch(judge, cases, [&](std::size_t i, const Result<Verdict>& verdict) {
    if (!verdict.ok() || !status.ok()) return;
    const auto recorded = Clock::now();
    status = store.record(open[i].id, *verdict, judge::verdict_as_json(*verdict),
                          {.machine = machine_row,
                           .terms = runs::terms_of(cases[i]),
                           .key = store::sha256(judge::key_of(cases[i])),
                           .versions = versions.of(cases[i])});
    times_ms.push_back(ms_since(recorded));
    recording_ms += times_ms.back();
  });
  KW_CHECK(status);
  const double all_ms = ms_since(begin);
  fmt::print("{} verdicts in {:.1f} s, of which the record took {:.0f} ms: {:.2f} %; one verdict {:.2f} ms (median)\n",
             times_ms.size(), all_ms / 1e3, recording_ms, 100 * recording_ms / all_ms, median_of(times_ms));
  return {};
}

// The median of 11 runs of the program, in milliseconds.
Result<double> time_of(const std::string& words) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "kw";
  std::vector<double> times_ms;
  for (int i = 0; i < 11; ++i) {
    const auto begin = Clock::now();
    const int status = std::system(fmt::format("{} {} > /dev/null", program.string(), words).c_str());
    times_ms.push_back(ms_since(begin));
    if (status != 0) return fail("kw {} failed", words);
  }
  return median_of(times_ms);
}

Status large() {
  constexpr int kRuns = 20, kEach = 5000;
  const WorkFolder folder;
  Random random(2);
  KW_TRY(store::Store store, store::Store::open(folder.path()));
  // Only to fill it in a minute.
  KW_CHECK(store.database().execute("PRAGMA synchronous = OFF"));
  KW_TRY(const suites::Suite suite, suites::find_suite("mobilekernelbench"));
  std::vector<store::TaskSnapshot> tasks;
  for (const Task& task : suite.tasks) {
    tasks.push_back({task.name, task.suite, task.category, suites::snapshot_of(task)});
  }
  store::Machine machine = store::machine_by_hand();
  machine.identity = runs::machine_identity();
  KW_TRY(const std::int64_t machine_row, store.add_machine(machine));
  for (int r = 0; r < kRuns; ++r) {
    std::vector<store::NewItem> items;
    for (int i = 1; i <= kEach; ++i) {
      items.push_back(store::item_by_hand(i, fmt::format("// source {} {}", r, i)));
      items.back().task = tasks[static_cast<std::size_t>(i) % tasks.size()];
    }
    KW_TRY(const std::int64_t run, store.begin_run({.command = "bench", .suite = suite.name}, items));
    KW_TRY(const auto open, store.open_items(run));
    for (const store::Item& item : open) {
      const Verdict verdict = typical_verdict(item.what.task->name, random, 16);
      KW_CHECK(store.record(item.id, verdict, judge::verdict_as_json(verdict), store::around_by_hand(machine_row)));
    }
  }
  fmt::print("{} verdicts: {:.0f} MiB\n", kRuns * kEach,
             static_cast<double>(fs::file_size(store::Store::file_in(folder.path()))) / (1 << 20));
  for (const char* words : {"runs", "best Relu", "best Relu --source", "report r1 --text"}) {
    KW_TRY(const double time_ms, time_of(fmt::format("{} --store {}", words, folder.path().string())));
    fmt::print("kw {}: {:.0f} ms\n", words, time_ms);
  }
  return {};
}

Status kills(int wanted) {
  const WorkFolder folder;
  ::setenv("XDG_CACHE_HOME", (folder.path() / "cache").c_str(), 1);
  runs::KilledRunCounts counts;
  int runs = 0;
  while (counts.kills < wanted) {
    ++runs;
    runs::KilledRun(folder.path() / fmt::format("run{}", runs), 6, 4,
                    static_cast<std::uint64_t>(::time(nullptr) + runs))
        .shoot(wanted - counts.kills, counts);
    fmt::print("  {} runs, {} kills: {} lost, {} doubled, {} not resumable\n", runs, counts.kills, counts.lost,
               counts.doubled, counts.not_resumable);
  }
  fmt::print(
      "{} kills at random instants ({} of the program, {} of the warden, {} of compilers and candidates' processes) in "
      "{} runs of {} candidates: {} verdicts lost, {} doubled, {} runs that do not resume; {} right candidates "
      "rejected "
      "because their own process or compiler was shot\n",
      counts.kills, counts.by_target[runs::Target::program], counts.by_target[runs::Target::warden],
      counts.by_target[runs::Target::child], runs, counts.items, counts.lost, counts.doubled, counts.not_resumable,
      counts.misjudged.size());
  for (const std::string& reason : counts.misjudged) fmt::print("  {}\n", reason);
  return {};
}

int main_of(const std::vector<std::string>& words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Status status = fail("kw_store_bench commit | share [N] | large | kills [N]");
  if (words == std::vector<std::string>{"commit"}) status = commit();
  if (words == std::vector<std::string>{"large"}) status = large();
  if (!words.empty() && words[0] == "share") status = share(words.size() > 1 ? std::atoi(words[1].c_str()) : 40);
  if (!words.empty() && words[0] == "kills") status = kills(words.size() > 1 ? std::atoi(words[1].c_str()) : 200);
  if (!status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 2;
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }
