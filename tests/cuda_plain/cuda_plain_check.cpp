// Runs the plain CUDA kernels on the CPU and holds them against the references: the device code is compiled for the
// host with a shim in which threads come one after the other, and the plan says what is launched, as on a GPU.
//
//   kw_cuda_plain_check COMPILER [--seed N] [--count N] [OP | task:NAME | suite:NAME]...
//
// Without names: all operators. This tests the code's logic: indices, shapes, formulas, plans. What only a GPU shows,
// it does not: NVRTC's arithmetic, races, alignment, limits of a launch. The kernels are our own, so they run in this
// process.
#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/files.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "suites/catalog.h"
#include "targets/cpu/call_image.h"
#include "targets/cuda/plain.h"
#include "targets/cuda/plan.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Small enough for a thread after the other.
constexpr ops::Allowance kMost{.elements = 2e4, .flops = 4e6};
constexpr std::size_t kSourcesInOne = 24;  // compiled as one: the headers take longest
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kRubbish{0xa5};

struct Case {
  std::string name;  // of the operator or the task
  Task task;
  ops::InputClass input_class = ops::InputClass::typical;
  std::uint64_t seed = 0;
  std::size_t source = 0;  // which
};

struct Tally {
  int right = 0, wrong = 0, not_checked = 0, missing = 0;
  std::string example;
};

// Memory of a tensor with rubbish on both sides.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : all_(bytes + 2 * kGuardBytes, kRubbish) {}
  std::byte* data() { return all_.data() + kGuardBytes; }
  bool intact() const {
    const auto is_rubbish = [](std::byte one) { return one == kRubbish; };
    return std::all_of(all_.begin(), all_.begin() + kGuardBytes, is_rubbish) &&
           std::all_of(all_.end() - kGuardBytes, all_.end(), is_rubbish);
  }

 private:
  std::vector<std::byte> all_;
};

// The kernels of a source, and its plan.
class Built {
 public:
  Built(void* device, void* plan, std::size_t number) : device_(device), plan_(plan), number_(number) {}

  using Planned = int (*)(kw_call*);
  using Launched = void (*)(void**, std::int64_t, std::int64_t);
  Planned plan() const { return reinterpret_cast<Planned>(dlsym(plan_, fmt::format("planned_{}", number_).c_str())); }
  Launched kernel(const std::string& name) const {
    return reinterpret_cast<Launched>(dlsym(device_, fmt::format("launched_{}_{}", number_, name).c_str()));
  }

 private:
  void *device_, *plan_;
  std::size_t number_;
};

class Compiler {
 public:
  Compiler(std::string program, fs::path folder) : program_(std::move(program)), folder_(std::move(folder)) {
    data_ = *data_folder();
  }

  std::size_t number_of(const std::string& source) {
    const auto [found, is_new] = numbers_.try_emplace(source, sources_.size());
    if (is_new) sources_.push_back(source);
    return found->second;
  }

  // All sources that are known by now, several at once.
  bool build() {
    for (std::size_t first = built_.size(); first < sources_.size(); first += kSourcesInOne) {
      const std::size_t last = std::min(first + kSourcesInOne, sources_.size());
      std::string device =
          fmt::format("#include \"{}/tests/cuda_plain/host_shim.h\"\n#include <kernelwright_cuda.h>\n", KW_SOURCE_DIR);
      std::string plan =
          "#include <kernelwright_cuda.h>\n#undef KW_PLAN\n"
          "#define KW_PLAN(plan) static void plan_of_a_call([[maybe_unused]] kw::Plan& plan)\n";
      for (std::size_t i = first; i < last; ++i) {
        device += fmt::format("namespace k{} {{\n{}\n}}\n", i, as_host_code(sources_[i]));
        for (const std::string& kernel : kernels_of(sources_[i])) {
          device += fmt::format(
              "extern \"C\" void launched_{0}_{1}(void** a, int64_t grid, int64_t block) {{ "
              "shim_launch(k{0}::{1}, a, grid, block); }}\n",
              i, kernel);
        }
        plan += fmt::format(
            "namespace k{0} {{\n{1}\n}}\nextern \"C\" int planned_{0}(kw_call* call) {{ "
            "return kw::run_plan(call, k{0}::plan_of_a_call); }}\n",
            i, sources_[i]);
      }
      void* device_library = compile(fmt::format("device{}", first), device);
      void* plan_library = compile(fmt::format("plan{}", first), plan);
      if (device_library == nullptr || plan_library == nullptr) return false;
      for (std::size_t i = first; i < last; ++i) built_.emplace_back(device_library, plan_library, i);
    }
    return true;
  }

  const Built& built(std::size_t number) const { return built_[number]; }
  std::size_t count() const { return sources_.size(); }

 private:
  static constexpr char kKernel[] = "extern \"C\" __global__ void ";

  static std::string as_host_code(std::string text) {
    for (std::size_t at = 0; (at = text.find(kKernel, at)) != std::string::npos;) {
      text.replace(at, sizeof kKernel - 1, "static void ");
    }
    return text;
  }

  static std::set<std::string> kernels_of(const std::string& text) {
    std::set<std::string> names;
    for (std::size_t at = 0; (at = text.find(kKernel, at)) != std::string::npos;) {
      at += sizeof kKernel - 1;
      names.insert(text.substr(at, text.find('(', at) - at));
    }
    return names;
  }

  void* compile(const std::string& name, const std::string& text) {
    const std::string base = (folder_ / name).string();
    if (!write_file(base + ".cpp", text).ok()) return nullptr;
    const std::string command = fmt::format("{} -std=c++20 -O0 -g0 -w -fPIC -shared -I{} {}.cpp -o {}.so", program_,
                                            (data_ / "include").string(), base, base);
    if (std::system(command.c_str()) != 0) return nullptr;
    void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fmt::print(stderr, "{}\n", dlerror());
    return library;
  }

  std::string program_;
  fs::path folder_, data_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> sources_;
  std::vector<Built> built_;
};

// The plan of a call, as the process that runs plans makes it.
Result<cuda::Plan> plan_of(const Built& built, const targets::Instance& instance, const std::vector<Tensor>& inputs) {
  std::vector<std::string> constants;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = inputs[i].bytes();
    const bool seen = instance.constant[i] && bytes.size() <= cuda::kMostSeenConstantBytes;
    constants.emplace_back(seen ? std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) : "");
  }
  std::vector<std::byte> description = cuda::description_of(instance, constants);
  const TensorType in{DType::uint8, Shape{static_cast<std::int64_t>(description.size())}};
  const TensorType out{DType::uint8, Shape{cuda::kMostPlanBytes}};
  std::vector<std::byte> image = targets::call_image({.inputs = {in}, .outputs = {out}, .nodes = {Attributes()}});
  std::vector<std::byte> left(static_cast<std::size_t>(cuda::kMostPlanBytes)), scratch(description.size() + 4096);
  kw_call* call = targets::settle(image.data());
  const_cast<kw_tensor&>(call->inputs[0]).data = description.data();
  call->outputs[0].data = left.data();
  call->scratch = reinterpret_cast<unsigned char*>(scratch.data());
  call->scratch_bytes = static_cast<std::int64_t>(scratch.size());
  if (built.plan() == nullptr) return fail("has no plan");
  if (built.plan()(call) != KW_OK) return fail("its plan says: {}", call->message);
  return cuda::read_plan(left, instance, {.scratch_bytes = std::int64_t{1} << 30, .kept_bytes = 1 << 20});
}

// Runs the case; what is wrong, or nothing.
std::string check(const Compiler& compiler, const Case& one, std::string* not_checked) {
  const auto instance = targets::make_instance(one.task, one.task.lengths, 1);
  if (!instance.ok()) return instance.error().message;
  const ops::Graph& graph = instance->graph;
  const std::vector<Tensor> inputs = ops::draw_inputs(graph, one.input_class, one.seed);
  const auto expected = ops::evaluate(graph, inputs);
  if (!expected.ok()) {
    *not_checked = expected.error().message;
    return {};
  }
  const Built& built = compiler.built(one.source);
  const auto plan = plan_of(built, *instance, inputs);
  if (!plan.ok()) return plan.error().message;
  std::deque<Guarded> in, out;
  for (const Tensor& input : inputs) {
    std::memcpy(in.emplace_back(input.bytes().size()).data(), input.bytes().data(), input.bytes().size());
  }
  for (const TensorType& type : instance->outputs) out.emplace_back(type.bytes());
  Guarded scratch(static_cast<std::size_t>(plan->scratch_bytes));
  std::vector<std::array<std::int64_t, 9>> shapes(instance->outputs.size());
  for (const cuda::Launch& launch : plan->launches) {
    const auto kernel = built.kernel(launch.kernel);
    if (kernel == nullptr) return fmt::format("launches '{}', which there is not", launch.kernel);
    std::deque<void*> pointers;
    std::vector<void*> arguments;
    for (const cuda::Argument& argument : launch.arguments) {
      const auto at = static_cast<std::size_t>(argument.at);
      switch (argument.kind) {
        case cuda::ArgumentKind::input:
          arguments.push_back(&pointers.emplace_back(in[at].data()));
          break;
        case cuda::ArgumentKind::output:
          arguments.push_back(&pointers.emplace_back(out[at].data()));
          break;
        case cuda::ArgumentKind::scratch:
          arguments.push_back(&pointers.emplace_back(scratch.data() + at));
          break;
        case cuda::ArgumentKind::found_shape:
          arguments.push_back(&pointers.emplace_back(shapes[at].data()));
          break;
        case cuda::ArgumentKind::value:
          arguments.push_back(const_cast<char*>(argument.value.data()));
          break;
        default:
          return "has an argument that no plain kernel has";
      }
    }
    kernel(arguments.data(), launch.grid[0], launch.block[0]);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::memcmp(in[i].data(), inputs[i].bytes().data(), inputs[i].bytes().size()) != 0) return "writes to an input";
    if (!in[i].intact()) return "writes beside an input";
  }
  if (!scratch.intact()) return "writes beside its scratch memory";
  for (std::size_t i = 0; i < instance->outputs.size(); ++i) {
    const TensorType& type = instance->outputs[i];
    if (!out[i].intact()) return fmt::format("writes beside output {}", i);
    Shape shape = type.shape;
    if (type.from_values) {
      shape = Shape(std::vector<std::int64_t>(shapes[i].begin() + 1, shapes[i].begin() + 1 + shapes[i][0]));
      if (shape.count() > type.shape.count()) return fmt::format("found shape {} of output {}", shape.text(), i);
    }
    Tensor answer(type.dtype, shape);
    std::memcpy(answer.bytes().data(), out[i].data(), answer.bytes().size());
    const ops::Comparison comparison = ops::compare((*expected)[i], answer);
    if (comparison.right()) continue;
    std::string about;
    for (const TensorType& input : instance->inputs) about += input.text() + " ";
    for (const auto& [name, value] : graph.nodes[0].call.attributes) about += name + "=" + text_of(value) + " ";
    return fmt::format("output {} ({}): {}\n    inputs {}", i, ops::name_of(one.input_class),
                       comparison.text((*expected)[i]), about);
  }
  return {};
}

class Check {
 public:
  Check(std::string program, fs::path folder, std::uint64_t seed, int count)
      : compiler_(std::move(program), std::move(folder)), seed_(seed), count_(count) {}

  void add_operator(const ops::Op& op) {
    Random random(seed_);
    for (int i = 0; i < count_; ++i) {
      add(op.name, ops::task_of(op, op.sample(random)),
          ops::kInputClasses[static_cast<std::size_t>(i) % std::size(ops::kInputClasses)], random.bits());
    }
  }

  // In a shape near its own that is small enough, and in its smallest.
  void add_task(const Task& task) {
    Task small = task, tiny = task;
    small.lengths = ops::lengths_within(task, kMost);
    tiny.lengths = ops::tiny_lengths(task);
    add(task.name, std::move(small), ops::InputClass::typical, seed_);
    if (tiny.lengths != cases_.back().task.lengths) add(task.name, std::move(tiny), ops::InputClass::tails, seed_ + 1);
  }

  int run() {
    if (!compiler_.build()) return fmt::print(stderr, "a plain CUDA kernel does not compile for the host\n"), 1;
    for (const Case& one : cases_) {
      Tally& tally = tallies_[one.name];
      std::string not_checked;
      const std::string problem = check(compiler_, one, &not_checked);
      if (!not_checked.empty()) {
        ++tally.not_checked;
      } else if (problem.empty()) {
        ++tally.right;
      } else if (++tally.wrong == 1) {
        tally.example = problem;
      }
    }
    int right = 0, wrong = 0, missing = 0, names = 0, cases = 0;
    for (const auto& [name, tally] : tallies_) {
      if (tally.wrong > 0)
        fmt::print("{}: {} of {} wrong: {}\n", name, tally.wrong, tally.wrong + tally.right, tally.example);
      if (tally.right + tally.wrong == 0) fmt::print("{}: not checked: {}\n", name, tally.example);
      cases += tally.right;
      ++(tally.wrong > 0 ? wrong : tally.right > 0 ? right : missing);
      ++names;
    }
    fmt::print("{} names, {} sources: {} right on the CPU ({} cases), {} wrong, {} not checked\n", names,
               compiler_.count(), right, cases, wrong, missing);
    return wrong == 0 && right > 0 ? 0 : 1;
  }

 private:
  void add(const std::string& name, Task task, ops::InputClass input_class, std::uint64_t seed) {
    Case one{.name = name, .task = std::move(task), .input_class = input_class, .seed = seed};
    const auto graph = ops::resolve(one.task);
    const auto source = graph.ok() ? cuda::plain_kernel(*graph) : Result<std::string>(graph.error());
    if (!source.ok()) {
      Tally& tally = tallies_[name];
      ++tally.missing;
      tally.example = source.error().message;
      return;
    }
    one.source = compiler_.number_of(*source);
    cases_.push_back(std::move(one));
  }

  Compiler compiler_;
  std::uint64_t seed_;
  int count_;
  std::deque<Case> cases_;
  std::map<std::string, Tally> tallies_;
};

int run(const std::vector<std::string>& words) {
  std::uint64_t seed = 1;
  int count = 6;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = std::stoull(words[++i]);
    } else if (words[i] == "--count" && i + 1 < words.size()) {
      count = std::stoi(words[++i]);
    } else {
      names.push_back(words[i]);
    }
  }
  if (names.empty()) {
    for (const ops::Op& op : ops::all_ops()) names.push_back(op.name);
  }
  char pattern[] = "/tmp/kw_cuda_plain_XXXXXX";
  const fs::path folder = mkdtemp(pattern);
  Check check(words.empty() ? "g++" : words[0], folder, seed, count);
  for (const std::string& name : names) {
    if (name.starts_with("task:")) {
      const auto task = suites::find_task(name.substr(5));
      if (!task.ok()) return fmt::print(stderr, "{}\n", task.error().message), 2;
      check.add_task(*task);
    } else if (name.starts_with("suite:")) {
      const auto suite = suites::find_suite(name.substr(6));
      if (!suite.ok()) return fmt::print(stderr, "{}\n", suite.error().message), 2;
      for (const Task& task : suite->tasks) check.add_task(task);
    } else if (const ops::Op* op = ops::find_op(name)) {
      check.add_operator(*op);
    } else {
      return fmt::print(stderr, "no operator is called {}\n", name), 2;
    }
  }
  const int code = check.run();
  fs::remove_all(folder);
  return code;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::run({argv + 1, argv + argc}); }
