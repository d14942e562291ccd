// How many candidates a strategy measures until it has a kernel within 5 % of the best that there is:
//
//   kw_search_bench [STRATEGY]...          the strategies on the recorded spaces of bench/spaces
//   kw_search_bench record FOLDER TASK...  measures every point of the tasks' spaces: hours on 2 cores
//   kw_search_bench settle FOLDER TASK...  measures the fastest of recorded spaces again
//
// A recorded space is what a search chooses from (kernels, their tunables, compilers, flags) and the time of every
// point of it, measured as a search measures in a quick check. The fastest were measured again, ten times as long: else
// the best known would be the luckiest. Strategies then search it as they would search the task, but for the waiting.
// `random` is points by chance alone, without the default that every search begins with.
//
// "auto, with memory" has seen the other tasks of the record that were measured on the same machine before, as a store
// would remember them from searches of kRemembered candidates each.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "compose/techniques.h"
#include "search/engine.h"
#include "search/memory.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::search {
namespace {
namespace fs = std::filesystem;

constexpr char kSpaces[] = KW_SOURCE_DIR "/bench/spaces";
constexpr double kNear = 1.05;
constexpr int kSeeds = 21;
constexpr std::size_t kAtOnce = 4;  // as a search proposes on 2 cores
constexpr int kRemembered = 40;
constexpr std::size_t kMostPoints = 20'000;  // of one kernel
// Spaces of more points are measured without the choice of flags.
constexpr std::uint64_t kMostWithFlags = 600;
constexpr char kFlags[] = "-O3";
// Of timing, for each that is measured again; how many of the fastest must have been; and how many at most are.
constexpr double kSettling_s = 0.4;
constexpr std::size_t kFastest = 6;
constexpr std::size_t kMostSettled = 40;

// What a source leaves open, as a source of its own.
std::string declarations_of(const Tunables& tunables) {
  std::string text;
  for (const Tunable& one : tunables.list) {
    text += fmt::format("KW_TUNE({}, {}, {});\n", one.name, one.fallback, fmt::join(one.values, ", "));
  }
  for (const Requirement& one : tunables.requirements) text += fmt::format("KW_REQUIRE({});\n", one.text);
  const auto list = [&](const char* macro, const std::vector<std::string>& words) {
    if (words.empty()) return;
    text += fmt::format("{}(", macro);
    for (std::size_t i = 0; i < words.size(); ++i) text += fmt::format("{}\"{}\"", i > 0 ? ", " : "", words[i]);
    text += ");\n";
  };
  list("KW_COMPILER", tunables.compilers);
  list("KW_FLAGS", tunables.flags);
  return text;
}

std::vector<Point> points_of(const Space& space) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < space.kernels().size(); ++i) {
    for (Point& point : space.all(i, kMostPoints)) points.push_back(std::move(point));
  }
  return points;
}

// Proposes a list, one after the other.
class InOrder : public Strategy {
 public:
  explicit InOrder(std::vector<Point> points) : points_(std::move(points)) {}
  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> some;
    for (; some.size() < most && next_ < points_.size(); ++next_) some.push_back(points_[next_]);
    return some;
  }
  void observe(const Observation&) override {}

 private:
  std::vector<Point> points_;
  std::size_t next_ = 0;
};

BuildOptions options_with(const std::vector<std::string>& compilers) {
  BuildOptions options = targets::build_options(targets::usual_device());
  options.here = compilers;
  return options;
}

Result<Space> space_of(const Task& task, const std::vector<compose::Technique>& techniques,
                       const std::vector<std::string>& compilers) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(std::vector<compose::Draft> drafts, compose::drafts_of(graph, techniques));
  std::vector<Kernel> kernels;
  for (compose::Draft& one : drafts) {
    const bool is_plain = one.technique == compose::kPlain;
    kernels.push_back(
        {one.technique, one.technique + ".cpp", std::move(one.source), std::move(one.tunables), is_plain});
  }
  KW_TRY(Space space, Space::of(kernels, options_with(compilers)));
  if (space.count() > kMostWithFlags) {
    for (Kernel& one : kernels) one.tunables.flags = {kFlags};
    KW_TRY(space, Space::of(std::move(kernels), options_with(compilers)));
  }
  return space;
}

using Times = std::map<Point, double>;  // of those that were right

// Measures the fastest again until the first of them all were.
Status settle(judge::Judge& judge, const Task& task, const Space& space, Times& times) {
  KW_TRY(const judge::QuickCheck quick_check, judge::make_quick_check(task));
  const auto case_at = [&](const Point& point) {
    judge::Case one = case_of(task, space, point);
    one.quick_check = &quick_check;
    one.plain = false;
    one.budget_s = kSettling_s;
    return one;
  };
  KW_TRY(const judge::Inspected standing, judge.inspect(case_at(space.first(0))));
  std::set<Point> settled;
  while (settled.size() < kMostSettled) {
    std::vector<std::pair<double, Point>> order;
    for (const auto& [point, time] : times) order.emplace_back(time, point);
    std::ranges::sort(order);
    order.resize(std::min(order.size(), kFastest));
    const auto next = std::ranges::find_if(order, [&](const auto& one) { return !settled.contains(one.second); });
    if (next == order.end()) break;
    judge::Case one = case_at(next->second);
    one.reference = standing.built;
    KW_TRY(const Verdict verdict, judge.judge(one));
    settled.insert(next->second);
    if (verdict.accepted() && !verdict.speedups.empty()) times[next->second] = 1 / verdict.speedups[0].median;
  }
  fmt::print("{}: {} measured again\n", task.name, settled.size());
  return {};
}

Status write_space(const fs::path& file, const std::string& task, const Space& space,
                   const std::vector<std::string>& compilers, const Times& times) {
  Json json = {{"task", task}, {"machine", targets::facts_of(targets::usual_device()).name}, {"compilers", compilers}};
  for (std::size_t i = 0; i < space.kernels().size(); ++i) {
    Json list = Json::array();
    for (const Point& point : space.all(i, kMostPoints)) {
      const auto time = times.find(point);
      list.push_back(time != times.end() ? Json(std::round(time->second * 1e4) / 1e4) : Json());
    }
    json["kernels"].push_back({{"technique", space.kernels()[i].technique},
                               {"open", declarations_of(space.kernels()[i].tunables)},
                               {"times", std::move(list)}});
  }
  return write_file(file, json.dump() + "\n");
}

Status record(const fs::path& file, const std::string& name, const std::vector<compose::Technique>& techniques) {
  KW_TRY(const Task task, suites::find_task(name, {}));
  const std::vector<std::string> compilers = targets::build_options(targets::usual_device()).here;
  KW_TRY(const Space space, space_of(task, techniques, compilers));
  const std::vector<Point> points = points_of(space);
  Times times;
  InOrder strategy(points);
  KW_TRY(judge::Judge judge, judge::Judge::open());
  SearchJob plan{.task = &task, .space = &space, .strategy = &strategy};
  plan.known = [&](const Point& point) -> std::optional<Observation> {
    // The default was measured first of all.
    const auto found = times.find(point);
    return found != times.end() ? std::optional(Observation{point, found->second}) : std::nullopt;
  };
  plan.tried = [&](const Trial& trial) {
    if (trial.time) times[trial.point] = *trial.time;
    return Status();
  };
  KW_TRY([[maybe_unused]] const Found found, search(judge, plan));
  KW_CHECK(settle(judge, task, space, times));
  KW_CHECK(write_space(file, name, space, compilers, times));
  fmt::print("{}: {} points, {} right\n", name, points.size(), times.size());
  return {};
}

struct RecordedSpace {
  Task task;
  std::string machine;
  Space space;
  Times times;
  double best = 0;
};

Result<RecordedSpace> read_space(const fs::path& file) {
  KW_TRY(const std::string text, read_file(file));
  try {
    const Json json = Json::parse(text);
    RecordedSpace one;
    KW_TRY(one.task, suites::find_task(json.at("task"), {}));
    one.machine = json.at("machine");
    std::vector<Kernel> kernels;
    for (const Json& kernel : json.at("kernels")) {
      KW_TRY(Tunables tunables, read_tunables(kernel.at("open").get<std::string>()));
      const std::string technique = kernel.at("technique");
      kernels.push_back({technique, technique, kernel.at("open"), std::move(tunables), technique == compose::kPlain});
    }
    KW_TRY(one.space, Space::of(std::move(kernels), options_with(json.at("compilers"))));
    one.best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < one.space.kernels().size(); ++i) {
      const std::vector<Point> points = one.space.all(i, kMostPoints);
      const Json& times = json.at("kernels")[i].at("times");
      if (times.size() != points.size()) return fail("{}: not the times of its space", file.string());
      for (std::size_t k = 0; k < points.size(); ++k) {
        if (times[k].is_null()) continue;
        one.times[points[k]] = times[k];
        one.best = std::min(one.best, times[k].get<double>());
      }
    }
    return one;
  } catch (const JsonError& error) {
    return fail("{}: {}", file.string(), error.what());
  }
}

struct Walk {
  int until_near = 0;  // measured until the first one near the best
  std::vector<Observation> seen;
};

// `begins_with_default`: as every search does (search/engine.h). `most` 0: until near.
Walk walk(const RecordedSpace& recorded, Strategy& strategy, bool begins_with_default, int most) {
  Walk walk;
  const auto observe = [&](const Point& point) {
    const auto time = recorded.times.find(point);
    const Observation one{point, time != recorded.times.end() ? std::optional(time->second) : std::nullopt};
    strategy.observe(one);
    walk.seen.push_back(one);
    if (walk.until_near == 0 && one.time && *one.time <= kNear * recorded.best) {
      walk.until_near = static_cast<int>(walk.seen.size());
    }
  };
  if (begins_with_default) observe(recorded.space.first(0));
  const auto all = points_of(recorded.space).size();
  while (most > 0 ? std::ssize(walk.seen) < most : walk.until_near == 0) {
    const std::vector<Point> points = strategy.propose(kAtOnce);
    if (points.empty()) break;
    for (const Point& point : points) observe(point);
  }
  // One that stops before it is near has not found it: as if it had then tried all.
  if (walk.until_near == 0) walk.until_near = static_cast<int>(all);
  return walk;
}

struct Memory {
  std::vector<PastResult> lessons;
  std::vector<Leaning> leanings;
};

Result<Memory> memory_of_others(const std::vector<RecordedSpace>& all, const RecordedSpace& here,
                                const StrategyKind& kind, std::uint64_t seed) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("kw_search_bench_{}", ::getpid());
  fs::remove_all(folder);
  KW_TRY(const store::Store store, store::Store::open(folder));
  KW_CHECK(store.database().execute("PRAGMA synchronous = OFF"));
  for (const RecordedSpace& other : all) {
    if (other.task.name == here.task.name || other.machine != here.machine) continue;
    KW_TRY(const ops::Graph graph, ops::resolve(other.task));
    const auto strategy = kind.make({.space = &other.space, .seed = seed});
    const Walk done = walk(other, *strategy, true, kRemembered);
    KW_CHECK(remember(store, other.machine, graph, other.space, done.seen));
  }
  KW_TRY(const ops::Graph graph, ops::resolve(here.task));
  Memory memory;
  KW_TRY(memory.lessons, recall(store, here.machine, graph, here.space));
  KW_TRY(memory.leanings, recall_leanings(store, here.machine, graph));
  fs::remove_all(folder);
  return memory;
}

// The kernels of today must still leave open what those of the record did.
Status settle_again(const fs::path& file, const std::vector<compose::Technique>& techniques) {
  KW_TRY(RecordedSpace recorded, read_space(file));
  const std::vector<std::string> compilers = targets::build_options(targets::usual_device()).here;
  KW_TRY(const Space space, space_of(recorded.task, techniques, compilers));
  if (points_of(space) != points_of(recorded.space)) return fail("{}: its space is another one now", file.string());
  KW_TRY(judge::Judge judge, judge::Judge::open());
  KW_CHECK(settle(judge, recorded.task, space, recorded.times));
  return write_space(file, recorded.task.name, space, compilers, recorded.times);
}

Status compare(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<RecordedSpace> spaces;
  for (const fs::path& file : files) {
    KW_TRY(RecordedSpace one, read_space(file));
    spaces.push_back(std::move(one));
  }
  if (spaces.empty()) return fail("{}: no recorded spaces in it", folder.string());

  struct Competitor {
    std::string label, strategy;
    bool remembers = false;
  };
  std::vector<Competitor> competitors;
  competitors.push_back({"random", "random"});
  for (const std::string& name : names) competitors.push_back({name, name});
  competitors.push_back({"auto, with memory", "auto", true});

  fmt::print("measured until within {:.0f} % of the best known, median of {} seeds\n\n{:<42} {:>7}", 100 * (kNear - 1),
             kSeeds, "task", "points");
  for (const Competitor& one : competitors) fmt::print(" {:>9}", one.remembers ? "remembers" : one.label);
  fmt::print("\n");
  std::map<std::string, std::vector<double>> fewer;  // than random, by label
  for (const RecordedSpace& recorded : spaces) {
    fmt::print("{:<42} {:>7}", recorded.task.name, points_of(recorded.space).size());
    double by_chance = 0;
    for (const Competitor& one : competitors) {
      KW_TRY(const StrategyKind kind, find_strategy(one.strategy));
      std::vector<double> counts;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Brief brief{.space = &recorded.space, .seed = seed};
        if (one.remembers) {
          KW_TRY(Memory memory, memory_of_others(spaces, recorded, kind, seed));
          brief.lessons = std::move(memory.lessons);
          brief.leanings = std::move(memory.leanings);
        }
        const auto strategy = kind.make(brief);
        counts.push_back(walk(recorded, *strategy, one.strategy != "random", 0).until_near);
      }
      const double median = median_of(counts);
      if (one.strategy == "random") by_chance = median;
      fewer[one.label].push_back(by_chance / median);
      fmt::print(" {:>9.0f}", median);
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
  fmt::print("\ntimes fewer than random, median over {} tasks:\n", spaces.size());
  for (const Competitor& one : competitors) fmt::print("  {:<20} {:.1f}\n", one.label, median_of(fewer[one.label]));
  std::map<std::string, int> machines;
  for (const RecordedSpace& one : spaces) ++machines[one.machine];
  for (const auto& [machine, count] : machines) fmt::print("{} spaces were measured on {}\n", count, machine);
  return {};
}

Status run(const std::vector<std::string>& words) {
  if (words.empty()) return compare(kSpaces, {"local", "evolve", "tree", "surrogate", "auto"});
  if (words[0] != "record" && words[0] != "settle") return compare(kSpaces, words);
  if (words.size() < 3) return fail("kw_search_bench [STRATEGY]..., or: record|settle FOLDER TASK...");
  KW_TRY(const auto techniques, compose::read_techniques("cpu"));
  fs::create_directories(words[1]);
  for (std::size_t i = 2; i < words.size(); ++i) {
    const fs::path file = fs::path(words[1]) / (words[i] + ".json");
    KW_CHECK(words[0] == "record" ? record(file, words[i], techniques) : settle_again(file, techniques));
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace kw::search

int main(int count, char** words) {
  const kw::Status status = kw::search::run({words + 1, words + count});
  if (!status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 2;
  return 0;
}
