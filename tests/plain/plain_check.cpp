// Holds our own kernels against the operator's reference, on random cases of the operator: the plain ones
// (kernels/plain), or those of a technique (kernels/TARGET/NAME) wherever it applies.
//
//   kw_plain_check COMPILER [--seed N] [--count N] [--set NAME=VALUE]... [--technique NAME | --cuda NAME]
//                  [--threads N,N...] [OP | task:NAME | tasks:PART]...
//
// --cuda: a technique for GPUs, on the emulated one; of a task all techniques are taken, and its lengths are shortened.
// --cuda drafts tasks:L2_: the first draft of each task whose name holds that, in shapes that an emulated GPU computes
// in a moment. Without names, or for the name `serves`: all operators, or all that the technique serves. A case is a
// random use of the operator, on inputs of every class. With a technique, every second case has its inputs beyond the
// first as weights, which the kernel may prepare.
// --threads 1,2,3: each case once more with so many threads lent: every bit as with the first number. Then kernels
// think that small work is worth sharing (the least amounts of parts/threads.h are next to nothing). The kernels are
// our own, so they run in this process. Those of the suites go through the judge elsewhere.
#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "compose/plain.h"
#include "compose/reached.h"
#include "compose/techniques.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "ops/retyped.h"
#include "suites/catalog.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/host/pool.h"
#include "targets/cuda/composed.h"
#include "targets/cuda/emulated/source.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// What an emulated GPU computes in a moment.
constexpr ops::Allowance kMostEmulated{.elements = 3e4, .flops = 4e6};

class Compiler {
 public:
  // `settings`: flags for the compiler.
  Compiler(std::string program, fs::path folder, std::string settings)
      : program_(std::move(program)), folder_(std::move(folder)), settings_(std::move(settings)) {
    const fs::path data = *data_folder();
    for (const char* header : {"kernelwright.h", "kernelwright_cuda.h"}) {
      fs::copy_file(data / "include" / header, folder_ / header, fs::copy_options::overwrite_existing);
    }
    command(fmt::format("-x c++-header {0}/kernelwright.h -o {0}/kernelwright.h.gch", folder_.string()));
  }

  struct Kernel {
    int (*run)(kw_call*) = nullptr;
    int (*prepare)(kw_call*) = nullptr;  // null where it has none
  };
  // Null, and the compiler's words on stderr, where it does not compile.
  Kernel build(const std::string& source) {
    if (const auto found = built_.find(source); found != built_.end()) return found->second;
    const std::string base = (folder_ / fmt::format("k{}", built_.size())).string();
    Kernel kernel;
    // As it would be taken away: so every operator and technique shows that nothing is missing then.
    const bool emulated = source.find("kw::emulated") != std::string::npos;
    if (write_file(base + ".cpp", emulated ? source : compose::with_own_names_only(source)).ok() &&
        command(fmt::format("{1} -shared {0}.cpp -o {0}.so", base, emulated ? "-w" : "")) == 0) {
      void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) fmt::print(stderr, "{}\n", dlerror());
      if (library != nullptr) {
        kernel.run = reinterpret_cast<int (*)(kw_call*)>(dlsym(library, "kw_run"));
        kernel.prepare = reinterpret_cast<int (*)(kw_call*)>(dlsym(library, "kw_prepare"));
      }
    }
    return built_[source] = kernel;
  }
  std::size_t count() const { return built_.size(); }

 private:
  int command(const std::string& rest) {
    return std::system(fmt::format("{} -std=c++20 -O1 -g0 -march=native -fPIC -Wall -Wextra {} -Werror -I{} "
                                   "-include kernelwright.h {} {}",
                                   program_, program_.find("clang") == std::string::npos ? "" : kUnusedAreUsual,
                                   folder_.string(), settings_, rest)
                           .c_str());
  }

  // clang speaks of inline functions of a source that nobody calls; a part has more than one kernel needs.
  static constexpr char kUnusedAreUsual[] = "-Wno-unused-function";

  std::string program_;
  fs::path folder_;
  std::string settings_;
  std::map<std::string, Kernel> built_;
};

bool of_drafts = false;  // for GPUs

Result<std::string> emulated_draft(const ops::Graph& graph) {
  KW_TRY(const auto all, compose::read_techniques("cuda"));
  KW_TRY(const auto drafts, compose::drafts_of(graph, all, compose::Parts::inlined, cuda::composed_kernel));
  return cuda::emulated_source(drafts.front().source);
}

// The kernel to check; empty where the technique applies to no node.
Result<std::string> source_of(const ops::Graph& graph, const compose::Technique* technique) {
  if (of_drafts) return emulated_draft(graph);
  if (technique == nullptr) return compose::plain_kernel(graph);
  const bool is_cuda = technique->file.extension() == ".cuh";
  // Of several nodes what a search begins with; on GPUs with all techniques that there are.
  if (graph.nodes.size() > 1 && !is_cuda) {
    KW_TRY(const auto drafts, compose::drafts_of(graph, {*technique}));
    return drafts.front().technique == compose::kPlain ? std::string() : drafts.front().source;
  }
  std::vector<const compose::Technique*> choice;
  for (const ops::GraphNode& node : graph.nodes) {
    KW_TRY(const bool fits, compose::applies(*technique, graph, node));
    choice.push_back(fits ? technique : nullptr);
  }
  if (std::ranges::all_of(choice, [](const auto* one) { return one == nullptr; })) return std::string();
  if (!is_cuda) {
    KW_TRY(compose::Draft draft, compose::draft_with(graph, choice));
    return std::move(draft.source);
  }
  // Of several nodes all techniques that there are, as a search begins with them.
  if (graph.nodes.size() > 1) return emulated_draft(graph);
  KW_TRY(const compose::Draft draft,
         compose::draft_with(graph, choice, compose::Parts::inlined, cuda::composed_kernel));
  return cuda::emulated_source(draft.source);
}

// Runs the kernel on drawn inputs; what is wrong, or nothing.
int times_shared = 0;  // that a kernel gave work to threads

// Threads to lend, as a caller of kernels does it: one call after the other.
std::vector<int> lent = {1};
host::Pool& pool_of(int threads) {
  static std::map<int, host::Pool> pools;
  host::Pool& pool = pools[threads];
  if (!pool.start(threads, std::size_t{2} << 20)) fmt::print(stderr, "no {} threads could be started\n", threads);
  return pool;
}
void lend(kw_call& call, int threads) {
  call.threads = threads;
  call.parallel = nullptr;
  if (threads == 1) return;
  call.crew = &pool_of(threads);
  call.parallel = [](const kw_call* of, std::int32_t count, host::Pool::Piece work, void* data) {
    ++times_shared;
    static_cast<host::Pool*>(of->crew)->run(count, work, data);
  };
}

std::string check_once(Compiler& compiler, const compose::Technique* technique, const Task& task,
                       const Lengths* lengths, ops::InputClass input_class, std::uint64_t seed,
                       std::string* not_checked) {
  auto graph = lengths != nullptr ? ops::resolve(task, *lengths) : ops::resolve(task);
  if (!graph.ok()) return graph.error().message;
  if (of_drafts && ops::cost_of(*graph).flops > kMostEmulated.flops) {
    *not_checked = "too much for an emulated GPU";
    return {};
  }
  const auto source = source_of(*graph, technique);
  if (!source.ok()) return source.error().message;
  if (source->empty()) {
    *not_checked = "the technique does not apply";
    return {};
  }
  const std::vector<Tensor> inputs = ops::draw_inputs(*graph, input_class, seed);
  const auto expected = ops::evaluate(*graph, inputs);
  if (!expected.ok()) {
    *not_checked = expected.error().message;
    return {};
  }
  const Compiler::Kernel kernel = compiler.build(*source);
  if (kernel.run == nullptr) return "does not compile:\n" + *source;

  targets::CallShape shape{.opset = task.opset};
  for (const ops::GraphInput& input : graph->inputs) shape.inputs.push_back(input.type);
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) shape.outputs.push_back(graph->output_type(i));
  for (const ops::GraphNode& node : graph->nodes) shape.nodes.push_back(node.call.attributes);
  std::vector<std::byte> image = targets::call_image(shape);
  kw_call* call = targets::settle(image.data());
  const auto show_inputs = [&](bool constants_only) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool shown = !constants_only || graph->inputs[i].role != Role::input;
      const_cast<kw_tensor&>(call->inputs[i]).data = shown ? const_cast<std::byte*>(inputs[i].bytes().data()) : nullptr;
    }
  };
  static std::vector<unsigned char> scratch(std::size_t{1} << 28, 0xa5);  // what a call leaves is rubbish for the next
  call->scratch = scratch.data();
  call->scratch_bytes = static_cast<std::int64_t>(scratch.size());
  if (kernel.prepare != nullptr) {
    static std::vector<unsigned char> kept(std::size_t{1} << 27, 0xa5);
    static std::size_t dirty = 0;  // bytes, from the first
    std::fill_n(kept.begin(), dirty, 0xa5);
    show_inputs(true);
    call->kept = kept.data() + 64 - reinterpret_cast<std::uintptr_t>(kept.data()) % 64;
    call->kept_bytes = static_cast<std::int64_t>(kept.size() - 64);
    const int prepared = kernel.prepare(call);
    dirty = std::min(kept.size(), static_cast<std::size_t>(call->kept_used) + 64);
    if (prepared != KW_OK) return fmt::format("says when it prepares: {}", call->message);
    call->prepared = call->kept_used > 0 ? call->kept : nullptr;
    call->scratch_used = 0;
  }
  show_inputs(false);
  std::vector<Tensor> outputs;
  for (const int threads : lent) {
    std::vector<Tensor> before = std::move(outputs);
    outputs.clear();
    for (const TensorType& type : shape.outputs) outputs.emplace_back(type);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::ranges::fill(outputs[i].bytes(), std::byte{0xa5});
      call->outputs[i].data = outputs[i].bytes().data();
    }
    call->scratch_used = 0;
    lend(*call, threads);
    if (kernel.run(call) != KW_OK) return fmt::format("says: {}", call->message);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!std::ranges::equal(before[i].bytes(), outputs[i].bytes())) {
        return fmt::format("output {}: other bits with {} threads than with fewer", i, threads);
      }
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const kw_tensor& written = call->outputs[i];
    const Shape got_shape(std::vector<std::int64_t>(written.shape, written.shape + written.rank));
    if (shape.outputs[i].from_values && got_shape.count() <= outputs[i].count()) {
      Tensor cut(shape.outputs[i].dtype, got_shape);
      std::copy_n(outputs[i].bytes().begin(), cut.bytes().size(), cut.bytes().begin());
      outputs[i] = std::move(cut);
    } else if (got_shape != outputs[i].shape()) {
      return fmt::format("output {} got shape {} instead of {}", i, got_shape.text(), outputs[i].shape().text());
    }
    const ops::Comparison comparison = ops::compare((*expected)[i], outputs[i]);
    if (!comparison.right()) {
      std::string about;
      for (const TensorType& type : shape.inputs) about += type.text() + " ";
      for (const auto& [name, value] : graph->nodes[0].call.attributes) about += name + "=" + text_of(value) + " ";
      return fmt::format("output {} ({}): {}\n    inputs {}", i, name_of(input_class), comparison.text((*expected)[i]),
                         about);
    }
  }
  return {};
}

struct Tally {
  int right = 0;
  int wrong = 0;
  int not_checked = 0;
  std::string example;
};

void count(Tally& tally, const std::string& problem, const std::string& not_checked) {
  if (!not_checked.empty()) {
    ++tally.not_checked;
  } else if (problem.empty()) {
    ++tally.right;
  } else if (++tally.wrong == 1) {
    tally.example = problem;
  }
}

constexpr int kMostDraws = 8;  // for one that is served

// Operators are drawn in the usual types and precision: a technique for others gets them in its own.
Task as_served(const compose::Technique& technique, Task task, int number) {
  const std::vector<DType>& types = technique.types;
  const bool is_unusual = !types.empty() && std::ranges::all_of(types, [](DType one) {
    return one == DType::float16 || one == DType::bfloat16;
  });
  if (is_unusual) task = ops::retyped(std::move(task), types[static_cast<std::size_t>(number) % types.size()]);
  if (technique.when.find("tf32 == 1") != std::string::npos) task.precision = Precision::tf32;
  return task;
}

Tally check_op(Compiler& compiler, const compose::Technique* technique, const ops::Op& op, std::uint64_t seed,
               int cases) {
  Tally tally;
  Random random(seed);
  int served = 0;  // uses to which the technique applies, and of which there is a reference
  for (int i = 0; served < cases && i < kMostDraws * cases && tally.wrong < 3; ++i) {
    const ops::Sample sample = op.sample(random);
    Task task = ops::task_of(op, sample);
    if (technique != nullptr) task = as_served(*technique, std::move(task), i / 2);
    if (technique != nullptr && i % 2 == 1) {
      for (std::size_t k = 1; k < task.values.size(); ++k) {
        if (task.values[k].role == Role::input) task.values[k].role = Role::weight;
      }
    }
    // Compiling is what takes long: each kernel is run on inputs of every class.
    const int before = tally.right + tally.wrong;
    for (const ops::InputClass input_class : ops::kInputClasses) {
      std::string not_checked;
      const std::string problem =
          check_once(compiler, technique, task, nullptr, input_class, random.bits(), &not_checked);
      count(tally, problem, not_checked);
      if (!problem.empty()) break;
    }
    served += tally.right + tally.wrong > before;
  }
  return tally;
}

Tally check_task(Compiler& compiler, const compose::Technique* technique, const Task& task, std::uint64_t seed) {
  Tally tally;
  std::vector<Lengths> shapes = ops::hidden_lengths(task, seed, 6);
  shapes.insert(shapes.begin(), task.lengths);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::string not_checked;
    const std::string problem =
        check_once(compiler, technique, task, &shapes[i], ops::kInputClasses[i % std::size(ops::kInputClasses)],
                   seed + i, &not_checked);
    count(tally, problem, not_checked);
  }
  return tally;
}

int main_of(std::vector<std::string> words) {
  const std::string program = words.empty() ? "g++" : words[0];
  std::uint64_t seed = 1;
  int cases = 20;
  std::vector<std::string> names;
  std::string settings;
  std::optional<compose::Technique> technique;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--seed" && i + 1 < words.size())
      seed = std::stoull(words[++i]);
    else if (words[i] == "--count" && i + 1 < words.size())
      cases = std::stoi(words[++i]);
    else if (words[i] == "--set" && i + 1 < words.size()) {
      const std::string& set = words[++i];
      settings += fmt::format(" -DKW_SET_{}=~,{}", set.substr(0, set.find('=')), set.substr(set.find('=') + 1));
    } else if (words[i] == "--threads" && i + 1 < words.size()) {
      lent.clear();
      std::istringstream numbers(words[++i]);
      for (std::string one; std::getline(numbers, one, ',');) lent.push_back(std::stoi(one));
      settings += " -DKW_LEAST_SHARED=128 -DKW_LEAST_SHARED_PRODUCTS=128 -DKW_LONG_ROW=512 -DKW_SET_FUSED_BLOCK=~,64";
    } else if ((words[i] == "--technique" || words[i] == "--cuda") && i + 1 < words.size()) {
      const bool cuda = words[i] == "--cuda";
      if (cuda && words[i + 1] == "drafts") {
        of_drafts = true;
        ++i;
        continue;
      }
      auto read = compose::read_technique(*data_folder() / "kernels" / (cuda ? "cuda" : "cpu") /
                                          (words[i + 1] + (cuda ? ".cuh" : ".h")));
      ++i;
      if (!read.ok()) return fmt::print(stderr, "{}\n", read.error().message), 2;
      technique = *read;
    } else
      names.push_back(words[i]);
  }
  if (names.empty() && technique) names = technique->serves;
  if (const auto all = std::ranges::find(names, "serves"); technique && all != names.end()) {
    names.erase(all);
    names.insert(names.begin(), technique->serves.begin(), technique->serves.end());
  }
  for (std::size_t i = 0; i < names.size();) {
    if (!names[i].starts_with("tasks:")) {
      ++i;
      continue;
    }
    const std::string part = names[i].substr(6);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(i));
    const auto suites = suites::installed_suites();
    if (!suites.ok()) return fmt::print(stderr, "{}\n", suites.error().message), 2;
    for (const suites::Suite& suite : *suites) {
      for (const Task& task : suite.tasks) {
        if (task.name.find(part) == std::string::npos) continue;
        names.insert(names.begin() + static_cast<std::ptrdiff_t>(i++), "task:" + task.name);
      }
    }
  }
  const compose::Technique* way = technique ? &*technique : nullptr;
  if (names.empty()) {
    for (const ops::Op& op : ops::all_ops()) names.push_back(op.name);
  }
  char pattern[] = "/tmp/kw_plain_XXXXXX";
  const fs::path folder = mkdtemp(pattern);
  Compiler compiler(program, folder, settings);
  int failed = 0, missing = 0, right = 0;
  for (const std::string& name : names) {
    Tally tally;
    if (name.starts_with("task:")) {
      auto task = suites::find_task(name.substr(5));
      if (!task.ok()) return fmt::print(stderr, "{}\n", task.error().message), 2;
      if (of_drafts || (technique && technique->file.extension() == ".cuh"))
        task->lengths = ops::lengths_within(*task, kMostEmulated);
      tally = check_task(compiler, way, *task, seed);
    } else {
      const ops::Op* op = ops::find_op(name);
      if (op == nullptr) return fmt::print(stderr, "{}: no such operator\n", name), 2;
      if (!compose::is_there(name)) {
        ++missing;
        continue;
      }
      tally = check_op(compiler, way, *op, seed, cases);
    }
    right += tally.right;
    if (tally.wrong == 0 && tally.right > 0) continue;
    ++failed;
    fmt::print("{}: {} right, {} wrong, {} without a reference\n  {}\n", name, tally.right, tally.wrong,
               tally.not_checked, tally.example);
    std::fflush(stdout);
  }
  fmt::print("{} names: {} failed, {} without a plain kernel; {} cases right, {} sources compiled", names.size(),
             failed, missing, right, compiler.count());
  if (lent.size() > 1) fmt::print("; work was shared {} times", times_shared);
  fmt::print("\n");
  if (lent.size() > 1 && times_shared == 0) ++failed;
  fs::remove_all(folder);
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::main_of({argv + 1, argv + argc}); }
