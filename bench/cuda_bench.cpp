// Figures of the CUDA target.
//
//   kw_cuda_bench build [TASK PART]    builds the plain CUDA kernel of every task, equal ones once, for the device's
//                                      architecture or, with no GPU, for sm_90a: which there are, and how long it takes
//   kw_cuda_bench build-each           the same of as few tasks as have every operator: a test of the suite. Ends
//                                      with 77 where there is no NVRTC
//   kw_cuda_bench drafts [TASK PART]   the same of the kernel that a search begins with, and which of them spill
//                                      registers
//   kw_cuda_bench plain [TASK PART]    judges them without timing: which are right on a GPU. Tasks of a GPU's size are
//                                      made smaller, since references are the CPU's
//   kw_cuda_bench judged-drafts [TASK PART]   the same of the kernels that a search begins with
//   kw_cuda_bench emulated [TASK PART] the same on small shapes on an emulated GPU, which every machine has
//   kw_cuda_bench emulated-drafts [TASK PART]   the same of the kernels that a search begins with
//   kw_cuda_bench wide [TASK PART]     judges the references in float64 that are used for shapes too large for the
//                                      CPU's
//   kw_cuda_bench emulated-wide [TASK PART]   the same on an emulated GPU
//   kw_cuda_bench torch [TASK PART]    runs PyTorch's translation of every task on the GPU, eagerly, and holds its
//                                      answers against the references: which are right, wrong, or not translated
//   kw_cuda_bench torch_compile [TASK PART]   the same through torch.compile
//   kw_cuda_bench noise                a kernel against its copy, small and large: what the clock claims where nothing
//                                      differs
//   kw_cuda_bench large [TASK PART]    tasks that the host cannot afford, at full size: the first draft (or, where it
//                                      does not build, the plain kernel), judged and timed against its copy
//   kw_cuda_bench beside-torch [TASK PART]   the first draft of each task beside PyTorch, eager and compiled, at full
//                                      size: in how many tasks it is faster, and how many times
//   kw_cuda_bench speed                seconds a candidate with 100 pairs, alone
//
// TASK PART: only tasks whose name holds it (L1_ for level 1 of kernelbench); L1_@bfloat16 takes them in that
// precision. Prints the failures and one line of figures. --log FILE after that: each result is written there at once,
// and tasks that it already has are not done again; with --within SECONDS no task is begun after that time. So a run
// goes on where a lent machine's time ended.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <thread>

#include "judge/affordable.h"
#include "judge/judge.h"
#include "judge/large.h"
#include "judge/plain_source.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "rivals/on_gpu.h"
#include "runs/drafts.h"
#include "suites/catalog.h"
#include "targets/cuda/builder.h"
#include "targets/cuda/wide.h"

namespace kw {
namespace {

constexpr int kSkipped = 77;  // what ctest takes for it

using Clock = std::chrono::steady_clock;

double since_s(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

const char* device = "cuda:0";  // or the emulated GPU, in the mode of that name

std::string log_file;                                     // --log; empty: none
double most_s = std::numeric_limits<double>::infinity();  // --within

std::vector<Task> tasks_with(const std::string& wanted) {
  const std::size_t at = std::min(wanted.find('@'), wanted.size());
  const std::string part = wanted.substr(0, at), precision = wanted.substr(at);
  std::vector<Task> found;
  const auto suites = suites::installed_suites();
  if (!suites.ok()) return found;
  for (const suites::Suite& suite : *suites) {
    for (const Task& task : suite.tasks) {
      if (task.name.find(part) == std::string::npos) continue;
      if (precision.empty()) {
        found.push_back(task);
      } else if (auto other = suites::find_task(task.name + precision); other.ok()) {
        found.push_back(*std::move(other));
      }
    }
  }
  return found;
}

// Results of an earlier sitting, by task.
std::map<std::string, std::string> logged_results() {
  std::map<std::string, std::string> results;
  std::ifstream lines(log_file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(' ');
    if (at != std::string::npos) results[line.substr(0, at)] = line.substr(at + 1);
  }
  return results;
}

std::vector<std::string> all_results;  // of the last for_all, those of an earlier sitting among them

// f(task) for all tasks from several threads; what it returns is counted, by its first word, and printed where it says
// more than that. It stays one line.
int for_all(const std::vector<Task>& tasks, unsigned threads, const std::function<std::string(const Task&)>& f) {
  std::atomic<std::size_t> next = 0;
  std::map<std::string, int> counts;
  std::mutex lock;
  const std::map<std::string, std::string> earlier = logged_results();
  std::ofstream log(log_file, std::ios::app);
  const auto begin = Clock::now();
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      const auto known = earlier.find(tasks[i].name);
      const bool is_late = known == earlier.end() && since_s(begin) > most_s;
      std::string result = known != earlier.end() ? known->second : is_late ? "left" : f(tasks[i]);
      std::ranges::replace(result, '\n', ' ');
      const std::lock_guard guard(lock);
      ++counts[result.substr(0, result.find(' '))];
      if (known == earlier.end() && !is_late) log << tasks[i].name << " " << result << std::endl;
      if (result.find(' ') != std::string::npos) fmt::print("{:<40} {}\n", tasks[i].name, result);
      std::fflush(stdout);
      all_results.push_back(std::move(result));
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work);
  workers.clear();
  fmt::print("{} tasks in {:.1f} s:", tasks.size(), since_s(begin));
  for (const auto& [name, count] : counts) fmt::print(" {} {}", name, count);
  fmt::print("\n");
  const bool any_wrong = counts.contains("failed") || counts.contains("wrong") || counts.contains("error");
  return !any_wrong && !counts.contains("left") && (counts.contains("right") || counts.contains("built")) ? 0 : 1;
}

// The first task that has an operator which none before it has, and so on: each operator is in one of them.
std::vector<Task> tasks_with_each_operator(const std::vector<Task>& tasks) {
  std::vector<Task> found;
  std::set<std::string> seen;
  for (const Task& task : tasks) {
    const std::size_t before = seen.size();
    for (const Node& node : task.nodes) seen.insert(node.op);
    if (seen.size() > before) found.push_back(task);
  }
  return found;
}

// The innermost part of a long message.
std::string short_of(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text.substr(0, 300);
}

bool of_techniques = false;  // the kernel that a search begins with, not the plain one
bool of_references = false;  // the reference in float64, of the task in float64

Result<targets::Source> source_of(const ops::Graph& graph) {
  if (of_references) {
    KW_TRY(std::string text, cuda::wide_kernel(graph));
    return targets::Source{"reference.cu", std::move(text)};
  }
  if (!of_techniques) return judge::plain_source(device, graph);
  KW_TRY(const auto techniques, runs::techniques_for(device));
  KW_TRY(const auto drafts, runs::drafts_for(device, graph, techniques));
  return targets::Source{"draft.cu", drafts.front().source};
}

std::string built(judge::Judge& judge, const Task& task) {
  static std::mutex lock;
  static std::set<std::string> begun;
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return "error " + short_of(graph.error().message);
  const auto source = source_of(*graph);
  if (!source.ok()) return "missing " + short_of(source.error().message);
  {
    // The first line has the task's name.
    const std::lock_guard guard(lock);
    if (!begun.insert(source->text.substr(source->text.find('\n'))).second) return "again";
  }
  const auto tunables = read_tunables(source->text);
  const auto choice = choose(*tunables, {}, targets::build_options(device));
  if (!choice.ok()) return "error " + short_of(choice.error().message);
  const auto code = judge.device().build(*source, *choice);
  if (!code.ok()) return "error " + short_of(code.error().message);
  if (!(*code)->ok()) return "failed " + short_of(text_of((*code)->reason));
  const auto notes = judge.device().look_into(**code, {});
  const bool spills = notes.ok() && notes->text.find("SPILLS") != std::string::npos;
  return spills ? "spilled " + short_of(notes->text) : "built";
}

// One call of a framework on drawn inputs, held against the reference.
std::string run_by(judge::FrameworkRival& framework, targets::Device& gpu, const Task& published) {
  const Task task = judge::made_affordable(published, {.memory_bytes = 2e9, .reference_s = 0.3});
  const auto instance = targets::make_instance(task, task.lengths, 1);
  if (!instance.ok()) return "error " + short_of(instance.error().message);
  const auto said = [](const judge::FrameworkFailure& failure) {
    return (failure.kind == judge::FrameworkFailure::Kind::refused ? "refused " : "crashed ") + short_of(failure.text);
  };
  if (const auto outcome = framework.enter(*instance, 1)) return said(*outcome);
  auto calls = gpu.make_calls();
  Random random(1);
  const std::vector<targets::Placement> places(2, targets::Placement::aligned);
  if (!calls.ok() || !(*calls)->lay_out(*instance, places, random).ok()) return "error no memory";
  auto outputs = gpu.make_outputs(**calls);
  if (!outputs.ok()) return "error " + short_of(outputs.error().message);
  std::vector<Tensor> inputs;
  for (std::size_t call = 0; call < 2; ++call) {
    std::vector<Tensor> drawn = ops::draw_inputs(instance->graph, ops::InputClass::typical, 7 + call);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (!instance->constant[i] || call == 0) (*calls)->write(call, i, drawn[i]);
    }
    if (call == 0) inputs = std::move(drawn);
  }
  const auto deadline = Clock::now() + std::chrono::seconds(120);
  if (const auto outcome = framework.arrange(*(*calls)->shared_with(**outputs), *instance, deadline))
    return said(*outcome);
  double called_ns = 0;
  if (const auto outcome = framework.run(0, 1, 1, &called_ns, deadline)) return said(*outcome);
  if (const auto outcome = framework.fetch(0)) return said(*outcome);
  const auto expected = ops::evaluate(instance->graph, inputs);
  if (!expected.ok()) return "error " + short_of(expected.error().message);
  const auto got = judge::outputs_of(framework, **outputs, *instance, 0);
  if (!got.ok()) return "wrong " + short_of(got.error().message);
  for (std::size_t i = 0; i < got->size(); ++i) {
    const ops::Comparison comparison = ops::compare((*expected)[i], (*got)[i]);
    if (!comparison.right()) return fmt::format("wrong output {}: {}", i, short_of(comparison.text((*expected)[i])));
  }
  return fmt::format("right {:.1f} us, {:.1f} us as called", framework.own_ns().value_or(0) / 1000, called_ns / 1000);
}

int torch(targets::Device& gpu, const std::string& name, const std::vector<Task>& tasks) {
  auto all = rivals::gpu_rivals("");
  if (!all.ok()) return 2;
  const auto found = std::ranges::find(*all, name, &rivals::RivalFile::name);
  if (found == all->end()) return 2;
  rivals::OnGpu framework(*found, 0);
  return for_all(tasks, 1, [&](const Task& task) { return run_by(framework, gpu, task); });
}

judge::Case case_of(const Task& task, targets::Source source) {
  judge::Case one{.device = device, .task = &task, .source = std::move(source)};
  one.plain = false;
  return one;
}

std::string judged(judge::Judge& judge, const Task& published) {
  const Task task = judge::made_affordable(published, {.memory_bytes = 4e9, .reference_s = 0.5});
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return "error " + short_of(graph.error().message);
  auto source = source_of(*graph);
  if (!source.ok()) return "missing";
  judge::Case one = case_of(task, std::move(*source));
  one.timed = false;
  if (of_references && task.name.ends_with("_wide") && std::string(device) != "cuda:0")
    one.settings = {{"BLOCK", "32"}};
  const auto inspected = judge.inspect(one);
  if (!inspected.ok()) return "error " + short_of(inspected.error().message);
  const Verdict& verdict = inspected->verdict;
  return verdict.accepted() ? "right"
                            : fmt::format("wrong {}: {}", name_of(verdict.stage), short_of(text_of(verdict.reason)));
}

int noise(judge::Judge& judge) {
  int claims = 0;
  for (const char* name : {"Relu", "Softmax", "MatMul", "Add"}) {
    const auto task = suites::find_task(name);
    if (!task.ok()) continue;
    const auto source = judge::plain_source(device, *ops::resolve(*task));
    if (!source.ok()) continue;
    judge::Case one = case_of(*task, *source);
    one.against = {*source};
    one.pairs = 300;
    const auto begin = Clock::now();
    const auto verdict = judge.judge(one);
    if (!verdict.ok() || !verdict->accepted() || verdict->speedups.empty()) {
      fmt::print("{}: {}\n", name, verdict.ok() ? text_of(verdict->reason) : verdict.error().message);
      continue;
    }
    const Speedup& against = verdict->speedups[0];
    claims += against.claimed;
    fmt::print("{:<12} {:>9.2f} us, {:>3} pairs, ratio {:.4f} [{:.4f}, {:.4f}], twin {:.2f} %, {} ({:.2f} s)\n", name,
               verdict->time_ns.value_or(0) / 1000, against.pairs, against.median, against.low, against.high,
               100 * verdict->noise.value_or(0), against.claimed ? "CLAIMED" : "no claim", since_s(begin));
  }
  return claims == 0 ? 0 : 1;
}

int speed(judge::Judge& judge) {
  for (const char* name : {"Relu", "Softmax", "MatMul"}) {
    const auto task = suites::find_task(name);
    if (!task.ok()) continue;
    const auto source = judge::plain_source(device, *ops::resolve(*task));
    if (!source.ok()) continue;
    for (int i = 0; i < 3; ++i) {
      judge::Case one = case_of(*task, {"kernel.cu", source->text + fmt::format("// {}\n", i)});
      one.against = {*source};
      one.pairs = 100;
      const auto begin = Clock::now();
      const auto inspected = judge.inspect(one);
      if (!inspected.ok()) return 1;
      const double inspected_s = since_s(begin);
      const double built_s = static_cast<double>(inspected->built->build_ns) / 1e9;
      const auto verdict = judge.time(one, *inspected);
      fmt::print("{:<12} candidate {}: {:.2f} s ({:.2f} built, {:.2f} examined, {:.2f} timed){}\n", name, i,
                 since_s(begin), built_s, inspected_s - built_s, since_s(begin) - inspected_s,
                 verdict.ok() && verdict->accepted() ? "" : " NOT ACCEPTED");
    }
  }
  return 0;
}

// Right or wrong, with how long a call and the whole took.
std::string judged_at_full_size(judge::Judge& judge, const Task& task) {
  if (judge::check_affordable(task, judge::kQuickOnHost).ok()) return "affordable";
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return "error " + short_of(graph.error().message);
  auto source = source_of(*graph);
  if (!source.ok()) return "missing";
  judge::Case one = case_of(task, std::move(*source));
  one.budget_s = 1;
  const auto begin = Clock::now();
  const auto inspected = judge.inspect(one);
  const double inspected_s = since_s(begin);
  if (!inspected.ok()) return fmt::format("error {:.2f} s: {}", inspected_s, short_of(inspected.error().message));
  const auto verdict = judge.time(one, *inspected);
  const std::string took = fmt::format("{:.2f} s and {:.2f} s", inspected_s, since_s(begin) - inspected_s);
  if (!verdict.ok()) return fmt::format("error {}: {}", took, short_of(verdict.error().message));
  if (!verdict->accepted()) {
    return fmt::format("wrong {}: {}: {}", took, name_of(verdict->stage), short_of(text_of(verdict->reason)));
  }
  return fmt::format("right {}, {:.3f} ms, largest error {:.3f} of what is allowed, {} timed calls verified", took,
                     verdict->time_ns.value_or(0) / 1e6, verdict->max_error, verdict->coverage.timed_calls_verified);
}

// The first draft of each task beside PyTorch, at full size: in how many tasks it is faster, and by how much.
int beside_torch(judge::Judge& judge, const std::vector<Task>& tasks) {
  const auto all = rivals::gpu_rivals("");
  if (!all.ok()) return 2;
  std::vector<std::unique_ptr<rivals::OnGpu>> frameworks;
  for (const rivals::RivalFile& rival : *all) frameworks.push_back(std::make_unique<rivals::OnGpu>(rival, 0));
  const int code = for_all(tasks, 1, [&](const Task& task) -> std::string {
    const auto graph = ops::resolve(task);
    if (!graph.ok()) return "error " + short_of(graph.error().message);
    auto source = source_of(*graph);
    if (!source.ok()) return "missing";
    judge::Case one = case_of(task, std::move(*source));
    one.budget_s = 0.5;
    for (const auto& framework : frameworks) one.frameworks.push_back(framework.get());
    const auto verdict = judge.judge(one);
    if (!verdict.ok()) return "error " + short_of(verdict.error().message);
    if (!verdict->accepted()) return "wrong " + short_of(text_of(verdict->reason));
    std::string text = fmt::format("right {:.4f} ms cold", verdict->time_ns.value_or(0) / 1e6);
    if (verdict->roof_fraction) text += fmt::format(", {:.0f} % of the roof", 100 * *verdict->roof_fraction);
    for (const Speedup& speedup : verdict->speedups) {
      text += fmt::format(", {} {:.3f} (warm {:.3f}, as called {:.3f})", speedup.rival, speedup.median,
                          speedup.warm ? speedup.warm->median : 0, speedup.called ? speedup.called->median : 0);
    }
    for (const LeftOut& left : verdict->left_out) text += fmt::format(", no {}: {}", left.rival, short_of(left.why));
    return text;
  });
  std::map<std::string, std::vector<double>> ratios;
  static const std::regex rival(R"(, (\w+) ([0-9.]+) \(warm)");
  for (const std::string& result : all_results) {
    for (std::sregex_iterator at(result.begin(), result.end(), rival), end; at != end; ++at) {
      ratios[(*at)[1]].push_back(std::atof((*at)[2].str().c_str()));
    }
  }
  for (const auto& [name, list] : ratios) {
    double logs = 0;
    for (const double ratio : list) logs += std::log(ratio);
    fmt::print("{}: faster in {} of {} tasks, {:.3f} times in the geometric mean\n", name,
               std::ranges::count_if(list, [](double ratio) { return ratio > 1; }), list.size(),
               std::exp(logs / static_cast<double>(list.size())));
  }
  return code;
}

int run(std::vector<std::string> words) {
  for (std::size_t i = 0; i + 1 < words.size();) {
    if (words[i] != "--log" && words[i] != "--within") {
      ++i;
      continue;
    }
    if (words[i] == "--log") {
      log_file = words[i + 1];
    } else {
      most_s = std::atof(words[i + 1].c_str());
    }
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i), words.begin() + static_cast<std::ptrdiff_t>(i) + 2);
  }
  const std::string mode = words.empty() ? "" : words[0];
  if (mode.starts_with("emulated")) device = "cuda:emulated";
  of_techniques = mode.ends_with("drafts") || mode == "large" || mode == "beside-torch";
  of_references = mode.ends_with("wide");
  auto judge = judge::Judge::open(device);
  if (!judge.ok()) {
    fmt::print(stderr, "{}\n", judge.error().message);
    return 2;
  }
  std::vector<Task> tasks = tasks_with(words.size() > 1 ? words[1] : "");
  if (of_references) {
    std::vector<Task> wide;
    for (const Task& task : tasks) {
      if (auto one = cuda::wide_task(task); one.ok()) wide.push_back(std::move(*one));
    }
    tasks = std::move(wide);
  }
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  if (mode == "build-each") {
    if (const auto toolkit = cuda::find_toolkit(); !toolkit.ok()) {
      fmt::print("skipped: {}\n", toolkit.error().message);
      return kSkipped;
    }
    tasks = tasks_with_each_operator(tasks);
  }
  if (mode.starts_with("build") || mode == "drafts")
    return for_all(tasks, cores, [&](const Task& task) { return built(*judge, task); });
  if (mode == "plain" || mode == "judged-drafts" || mode == "wide") {
    return for_all(tasks, std::max(cores / 2, 1U), [&](const Task& task) { return judged(*judge, task); });
  }
  if (mode.starts_with("emulated")) {
    for (Task& task : tasks) {
      for (auto& [_, length] : task.lengths) length = std::min<std::int64_t>(length, 16);
    }
    return for_all(tasks, cores, [&](const Task& task) { return judged(*judge, task); });
  }
  if (mode == "large") {
    return for_all(tasks, 1, [&](const Task& task) { return judged_at_full_size(*judge, task); });
  }
  if (mode.starts_with("torch")) return torch(judge->device(), mode, tasks);
  if (mode == "beside-torch") return beside_torch(*judge, tasks);
  if (mode == "noise") return noise(*judge);
  if (mode == "speed") return speed(*judge);
  fmt::print(stderr,
             "kw_cuda_bench build|build-each|drafts|plain|judged-drafts|wide|emulated|emulated-drafts|emulated-wide|"
             "torch|torch_compile|large|beside-torch|noise|speed [TASK PART] [--log FILE] [--within SECONDS]\n");
  return 2;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::run({argv + 1, argv + argc}); }
