// Devices behind a link, measured.
//
//   kw_device_bench right DEVICE FILE [--suites NAMES] [--tasks NAMES] [--lengths N,...] [--kernels plain|drafts]
//                   [--each N] [--seconds S] [--set NAME=VALUE]...
//     Judges, without timing, the plain kernels of the tasks, then every technique's first draft, and appends a line
//     for each to FILE. What stands there already is not judged again, so that it may be stopped, also by itself after
//     --seconds, and go on.
//     --suites: of mobilekernelbench unless said; `all` for every installed one. --tasks: as kw bench names them.
//     --lengths: named lengths of tasks are this at most, which makes an emulator many times as quick (16 there unless
//       said; 0: their own); several in turn. A task that does not allow that keeps its own. Hidden shapes are up to
//       four times as long. What a technique does for long rows alone needs longer ones.
//     --kernels: only these. --each: of every technique this many drafts at most for each length, of the cheapest
//     tasks.
//     --set: a tunable's value, where a kernel has it: thresholds that short lengths do not reach can be lowered.
//   kw_device_bench sum FILE
//     What such files amount to, and which techniques for CPUs are not in them.
//   kw_device_bench cycles [TASKS] [CORES]
//     The hot loop of each technique's draft beside the plain kernel's, built for aarch64: cycles for each
//     multiply-add, or for each float where there is none, by llvm-mca's models of the cores
//     (cortex-a76,cortex-a55,cortex-x1 unless named). No hardware is needed, and none is claimed for: how often loops
//     run, and memory, are not in a model.
//   kw_device_bench overhead DEVICE
//     What a candidate costs besides being judged: connecting, sending and starting its program, asking.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>

#include "base/json.h"
#include "judge/judge.h"
#include "ops/draw.h"
#include "runs/drafts.h"
#include "runs/judges.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw {
namespace {

using namespace std::chrono_literals;
using targets::Clock;

constexpr char kSuite[] = "mobilekernelbench";
constexpr std::int64_t kEmulatedLength = 16;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

int broken(const Error& error) {
  std::fprintf(stderr, "kw_device_bench: %s\n", error.message.c_str());
  return 2;
}

// What is judged: the words after `right DEVICE FILE`.
struct Wanted {
  std::string suites = kSuite, tasks, kernels;
  std::vector<std::int64_t> lengths;
  std::size_t each = 1'000'000;
  double seconds = 1e9;
  std::map<std::string, std::string> set;
};

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, separator);) parts.push_back(part);
  return parts;
}

Result<Wanted> wanted_by(std::span<const std::string> words, bool emulated) {
  Wanted wanted;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& flag = words[i];
    if (i + 1 == words.size()) return fail("{} needs a value", flag);
    const std::string& value = words[i + 1];
    if (flag == "--suites") {
      wanted.suites = value;
    } else if (flag == "--tasks") {
      wanted.tasks = value;
    } else if (flag == "--lengths") {
      for (const std::string& length : parts_of(value, ',')) wanted.lengths.push_back(std::atoll(length.c_str()));
    } else if (flag == "--kernels" && (value == "plain" || value == "drafts")) {
      wanted.kernels = value;
    } else if (flag == "--each") {
      wanted.each = static_cast<std::size_t>(std::max(std::atoll(value.c_str()), 1LL));
    } else if (flag == "--seconds") {
      wanted.seconds = std::atof(value.c_str());
    } else if (const std::size_t equals = value.find('='); flag == "--set" && equals != std::string::npos) {
      wanted.set[value.substr(0, equals)] = value.substr(equals + 1);
    } else {
      return fail("{} {} is not known; see the head of bench/device_bench.cpp", flag, value);
    }
  }
  if (wanted.lengths.empty()) wanted.lengths = {emulated ? kEmulatedLength : 0};
  return wanted;
}

std::string key_of(const std::string& suite, const std::string& task, std::int64_t length, const std::string& kernel) {
  return fmt::format("{}/{} at {}: {}", suite, task, length, kernel);
}

std::map<std::string, Json> lines_of(const std::string& file) {
  std::map<std::string, Json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    Json json = Json::parse_quietly(line);
    if (!json.is_object()) continue;
    lines[key_of(json.value("suite", std::string()), json.value("task", std::string()),
                 json.value("length", std::int64_t{0}), json.value("technique", std::string()))] = json;
  }
  return lines;
}

Status sum(std::span<const std::string> files) {
  std::map<std::string, std::pair<int, int>> kinds;  // right and all
  std::set<std::string> tasks, tried;
  for (const std::string& file : files) {
    for (const auto& [key, line] : lines_of(file)) {
      const bool plain = line.value("plain", false), right = line.value("accepted", false);
      auto& kind = kinds[plain ? "plain kernels" : "techniques' drafts"];
      ++kind.second;
      kind.first += right;
      tasks.insert(line.value("suite", std::string()) + "/" + line.value("task", std::string()));
      for (const std::string& one : parts_of(line.value("technique", std::string()), '+')) tried.insert(one);
      if (!right) std::printf("%s: %s\n", key.c_str(), line.value("reason", std::string()).substr(0, 300).c_str());
    }
  }
  for (const auto& [name, counts] : kinds)
    std::printf("%s right: %d of %d\n", name.c_str(), counts.first, counts.second);
  KW_TRY(const auto techniques, runs::techniques_for("cpu"));
  std::string missing;
  std::size_t count = 0;
  for (const compose::Technique& one : techniques) {
    if (tried.contains(one.name)) {
      ++count;
    } else {
      missing += " " + one.name;
    }
  }
  std::printf("techniques tried: %zu of %zu%s%s\ntasks: %zu\n", count, techniques.size(),
              missing.empty() ? "" : "; not", missing.c_str(), tasks.size());
  return {};
}

// 0: as they are.
std::vector<Task> with_lengths_up_to(std::int64_t most, std::vector<Task> tasks) {
  if (most <= 0) return tasks;
  for (Task& task : tasks) {
    Task smaller = task;
    for (auto& [name, length] : smaller.lengths) length = std::min(length, most);
    if (ops::resolve(smaller).ok()) task = std::move(smaller);
  }
  return tasks;
}

// Of one suite.
struct Group {
  std::string suite;
  std::vector<Task> tasks;
};
Result<std::vector<Group>> groups_for(const std::string& suites, const std::string& tasks) {
  KW_TRY(const std::vector<suites::Suite> installed, suites::installed_suites());
  const std::vector<std::string> names = parts_of(suites, ',');
  std::vector<Group> groups;
  Error last = fail("there is no suite {}", suites);
  for (const suites::Suite& suite : installed) {
    if (suites != "all" && std::ranges::find(names, suite.name) == names.end()) continue;
    auto named = suites::tasks_named(suite.tasks, tasks);
    if (!named.ok()) {
      last = named.error();
    } else if (!named->empty()) {
      groups.push_back({suite.name, std::move(*named)});
    }
  }
  if (groups.empty()) return last;
  return groups;
}

// In the suite that is meant unless another is named, else in whichever has them.
Result<std::vector<Task>> tasks_for(const std::string& wanted) {
  auto groups = groups_for(kSuite, wanted);
  if (!groups.ok()) {
    if (auto others = groups_for("all", wanted); others.ok()) groups = std::move(others);
  }
  if (!groups.ok()) return groups.error();
  return std::move(groups->front().tasks);
}

// What is not in the file yet, plain kernels before drafts.
struct Open {
  std::string suite;
  std::shared_ptr<const Task> task;
  std::int64_t length;
  search::Kernel kernel;
  double cost;
};
Result<std::vector<Open>> open_in(const std::string& device, const std::string& file, const Wanted& wanted) {
  const std::map<std::string, Json> done = lines_of(file);
  KW_TRY(const auto techniques, runs::techniques_for(device));
  KW_TRY(const std::vector<Group> groups, groups_for(wanted.suites, wanted.tasks));
  std::vector<Open> all;
  for (const std::int64_t length : wanted.lengths) {
    for (const Group& group : groups) {
      for (Task& one : with_lengths_up_to(length, group.tasks)) {
        KW_TRY(const ops::Graph graph, ops::resolve(one));
        const double cost = ops::cost_of(graph).flops + ops::cost_of(graph).bytes();
        KW_TRY(const std::vector<search::Kernel> kernels, runs::kernels_for(device, graph, techniques));
        const auto task = std::make_shared<const Task>(std::move(one));
        for (const search::Kernel& kernel : kernels) all.push_back({group.suite, task, length, kernel, cost});
      }
    }
  }
  std::ranges::stable_sort(all, {}, &Open::cost);
  std::map<std::pair<std::string, std::int64_t>, std::size_t> taken;
  std::vector<Open> open;
  for (Open& one : all) {
    const bool plain = one.kernel.last_resort;
    if (!wanted.kernels.empty() && wanted.kernels != (plain ? "plain" : "drafts")) continue;
    if (!plain && taken[{one.kernel.technique, one.length}]++ >= wanted.each) continue;
    if (!done.contains(key_of(one.suite, one.task->name, one.length, one.kernel.technique))) open.push_back(one);
  }
  std::ranges::stable_partition(open, [](const Open& one) { return one.kernel.last_resort; });
  return open;
}

// A few at a time on one connection: some are built while another runs.
Status judge_all(const std::string& device, const std::string& file, const Wanted& wanted) {
  constexpr std::size_t kAtATime = 8;
  const auto until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wanted.seconds));
  KW_TRY(const std::vector<Open> open, open_in(device, file, wanted));
  std::printf("%zu kernels to judge\n", open.size());
  std::fflush(stdout);
  std::ofstream out(file, std::ios::app);
  runs::Judges judges(device);
  for (std::size_t begin = 0; begin < open.size() && Clock::now() < until; begin += kAtATime) {
    const std::size_t end = std::min(begin + kAtATime, open.size());
    std::vector<judge::Case> cases;
    for (std::size_t i = begin; i < end; ++i) {
      const search::Kernel& kernel = open[i].kernel;
      judge::Case one{.device = device,
                      .task = open[i].task.get(),
                      .source = {kernel.file, kernel.source},
                      .plain = false,
                      .timed = false};
      for (const auto& [name, value] : wanted.set) {
        if (kernel.source.find("KW_TUNE(" + name + ",") != std::string::npos) one.settings[name] = value;
      }
      cases.push_back(std::move(one));
    }
    const auto answer = [&](std::size_t i, const Result<Verdict>& verdict) -> Status {
      const Open& one = open[begin + i];
      const bool accepted = verdict.ok() && verdict->accepted();
      const Json line{{"suite", one.suite},
                      {"task", one.task->name},
                      {"length", one.length},
                      {"technique", one.kernel.technique},
                      {"plain", one.kernel.last_resort},
                      {"accepted", accepted},
                      {"reason", verdict.ok() ? text_of(verdict->reason) : verdict.error().message}};
      out << line.dump() << "\n" << std::flush;
      if (!accepted) {
        std::printf("%s: %s\n", key_of(one.suite, one.task->name, one.length, one.kernel.technique).c_str(),
                    line.value("reason", std::string()).c_str());
        std::fflush(stdout);
      }
      return {};
    };
    KW_CHECK(runs::judge_many(judges, cases, answer, [](std::size_t, const char*) {}));
  }
  return {};
}

// Of the loop that makes most products in a turn, of those that a model could be asked of; where none makes any, of the
// first.
struct HotLoop {
  double cycles = 0;  // for each unit
  std::string unit;
  double work = 0;  // units of a turn
};
std::optional<HotLoop> hot_loop(const targets::CodeNotes& notes) {
  constexpr char kProduct[] = "multiply-add";
  const Json json = Json::parse_quietly(notes.json);
  if (!json.is_object()) return std::nullopt;
  std::optional<HotLoop> found;
  for (const Json& loop : json.at("loops")) {
    const double work = loop.at("work");
    if (!loop.at("cycles").is_number() || work <= 0) continue;
    const std::string unit = loop.at("unit").text();
    if (found && (unit != kProduct || (found->unit == kProduct && found->work >= work))) continue;
    found = HotLoop{loop.at("cycles").get<double>() / work, unit, work};
  }
  return found;
}

std::string cell_text(const std::optional<HotLoop>& loop, const std::optional<HotLoop>& plain, bool is_plain) {
  if (!loop) return "not modelled";
  std::string text = fmt::format("{:.3f}", loop->cycles);
  if (is_plain || !plain) return text;
  // Of a plain loop that does something else nothing can be said.
  return text + (plain->unit == loop->unit ? fmt::format(" ({:.1f}x)", plain->cycles / loop->cycles) : " (-)");
}

Status print_cycles(const std::string& wanted, const std::string& core_list) {
  constexpr char kDevice[] = "emulated:aarch64";
  const std::vector<std::string> cores = parts_of(core_list, ',');
  KW_TRY(const std::vector<Task> tasks, tasks_for(wanted));
  KW_TRY(const auto techniques, runs::techniques_for(kDevice));
  KW_TRY(const auto device, targets::open_device(kDevice));
  std::printf("%-44s %-22s", "cycles for each unit (and how many fewer than plain)", "unit");
  for (const std::string& core : cores) std::printf(" %16s", core.c_str());
  std::printf("\n");
  for (const Task& task : tasks) {
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    KW_TRY(std::vector<search::Kernel> kernels, runs::kernels_for(kDevice, graph, techniques));
    std::ranges::stable_partition(kernels, &search::Kernel::last_resort);  // the plain one first
    std::vector<std::optional<HotLoop>> plain(cores.size());
    for (const search::Kernel& kernel : kernels) {
      KW_TRY(const Tunables tunables, read_tunables(kernel.source));
      KW_TRY(const Choice choice, choose(tunables, {}, targets::build_options(kDevice)));
      KW_TRY(const auto built, device->build({kernel.file, kernel.source}, choice));
      if (!built->ok()) return fail("{} {}: {}", task.name, kernel.technique, text_of(built->reason));
      std::string row, unit = "-";
      for (std::size_t i = 0; i < cores.size(); ++i) {
        KW_TRY(const targets::CodeNotes notes, device->look_into(*built, {.core = cores[i]}));
        const std::optional<HotLoop> loop = hot_loop(notes);
        if (kernel.last_resort) plain[i] = loop;
        if (loop) unit = loop->unit;
        row += fmt::format(" {:>16}", cell_text(loop, plain[i], kernel.last_resort));
      }
      std::printf("%-44s %-22s%s\n", fmt::format("{} {}", task.name, kernel.technique).c_str(), unit.c_str(),
                  row.c_str());
      std::fflush(stdout);
    }
  }
  return {};
}

std::string relu(int variant) {
  return fmt::format(
      "#include <kernelwright.h>\nstatic volatile int variant = {};\nKW_KERNEL(call) {{\n  const auto x = "
      "call.input<float>(0);\n  auto y = call.output<float>(0);\n  for (int64_t i = 0; i < x.count(); ++i) y[i] = "
      "x[i] < 0 ? 0 : x[i];\n}}\n",
      variant);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

Status measure_overhead(const std::string& device_name) {
  KW_TRY([[maybe_unused]] const auto before, targets::open_device(device_name));  // the agent is there from now on
  std::vector<double> connecting;
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    KW_TRY([[maybe_unused]] const auto opened, targets::open_device(device_name));
    connecting.push_back(ms_since(begin));
  }
  KW_TRY(const auto device, targets::open_device(device_name));
  KW_TRY(Task task, suites::find_task("Relu"));
  for (auto& [name, value] : task.lengths) value = 8;
  KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, 1));
  const std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, ops::InputClass::typical, 3);
  std::vector<double> building, loading, asking;
  for (int i = 0; i < 12; ++i) {
    KW_TRY(const Tunables tunables, read_tunables(relu(i)));
    KW_TRY(const Choice choice, choose(tunables, {}, targets::build_options(device_name)));
    KW_TRY(const auto built, device->build({"relu.cpp", relu(i)}, choice));
    building.push_back(static_cast<double>(built->build_ns) / 1e6);
    Random random(7);
    const auto begin = Clock::now();
    KW_TRY(const auto calls, device->make_calls());
    const targets::Placement places[] = {targets::Placement::aligned};
    KW_CHECK(calls->lay_out(instance, places, random));
    KW_TRY(const auto kernel, device->load(*built, *calls, {.memory_bytes = instance.all_bytes()}));
    if (const Reason reason = kernel->finish_loading(begin + 10s); !reason.empty()) return fail("{}", text_of(reason));
    calls->write(0, 0, inputs[0]);
    KW_TRY(const Reason arranged, kernel->arrange(*calls, instance, begin + 10s));
    if (!arranged.empty()) return fail("{}", text_of(arranged));
    loading.push_back(ms_since(begin));
    const auto asked = Clock::now();
    for (int k = 0; k < 50; ++k) {
      if (const Reason reason = kernel->run(0, 1, Clock::now() + 10s); !reason.empty())
        return fail("{}", text_of(reason));
    }
    asking.push_back(ms_since(asked) / 50);
  }
  std::printf(
      "%s, medians: connecting %.0f ms; building a kernel %.0f ms; sending, starting and arranging it %.1f ms; "
      "a call with its answer %.2f ms\n",
      device_name.c_str(), median(connecting), median(building), median(loading), median(asking));
  std::printf("first candidate besides building and judging: %.0f ms; after that: %.1f ms\n",
              median(connecting) + median(loading), median(loading));
  return {};
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  kw::Status status = kw::fail(
      "kw_device_bench right DEVICE FILE [flags]; sum FILE...; cycles [TASKS] [CORES]; overhead DEVICE; more in the "
      "head "
      "of bench/device_bench.cpp");
  if (words.size() >= 2 && words[0] == "sum") status = kw::sum(std::span(words).subspan(1));
  if (!words.empty() && words.size() <= 3 && words[0] == "cycles") {
    status = kw::print_cycles(words.size() > 1 ? words[1] : "",
                              words.size() > 2 ? words[2] : "cortex-a76,cortex-a55,cortex-x1");
  }
  if (words.size() == 2 && words[0] == "overhead") status = kw::measure_overhead(words[1]);
  if (words.size() >= 3 && words[0] == "right") {
    const auto wanted = kw::wanted_by(std::span(words).subspan(3), words[1].starts_with("emulated"));
    status = wanted.ok() ? kw::judge_all(words[1], words[2], *wanted) : wanted.error();
  }
  return status.ok() ? 0 : kw::broken(status.error());
}
