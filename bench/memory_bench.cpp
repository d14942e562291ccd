// How close kernels come to the bandwidth of memory, on the tasks that move more than the caches hold:
//
//   kw_memory_bench [TASK]... [NAME=VALUE]...    all such tasks of the suite, or these; with tunables set
//
// A kernel's first candidate is timed against moves of the same tensors that compute nothing: all that it reads is
// read, all that it writes is written, past the caches or through them, in one place or in several at once. The fastest
// of them is the bandwidth. Kernel and moves take turns on the same memory, in this process, and the median of the
// rounds' ratios counts: what neighbours on the machine take away, they take from both.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "base/paired_ratio.h"
#include "base/random.h"
#include "compose/techniques.h"
#include "judge/judge.h"
#include "memory_moves.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "report/limits.h"
#include "suites/catalog.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/cell.h"
#include "targets/cpu/workshop.h"

namespace kw {
namespace {

constexpr int kRounds = 33;
constexpr std::size_t kLine = 64;

// Zeroed memory in pages of the kind that the judge gives to kernels.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(bytes + kLine),
        data_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  Memory(Memory&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  ~Memory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

// ---- The kernel.

struct Close {
  void operator()(void* library) const { ::dlclose(library); }
};
struct Kernel {
  std::string technique;
  std::unique_ptr<void, Close> library;
  int (*run)(kw_call*) = nullptr;
  int (*prepare)(kw_call*) = nullptr;  // null where it has none
};

Result<Kernel> build(cpu::Workshop& workshop, const ops::Graph& graph, const Settings& settings) {
  KW_TRY(const auto techniques, compose::read_techniques("cpu"));
  KW_TRY(const auto drafts, compose::drafts_of(graph, techniques));
  const compose::Draft& draft = drafts.front();
  Settings of_draft;
  for (const auto& [name, value] : settings) {
    const bool is_open = std::ranges::find(draft.tunables.list, name, &Tunable::name) != draft.tunables.list.end();
    if (is_open) of_draft[name] = value;
  }
  KW_TRY(const Choice choice, choose(draft.tunables, of_draft, targets::build_options("cpu")));
  KW_TRY(const auto built, workshop.build({draft.technique + ".cpp", draft.source}, choice));
  if (!built->ok()) return fail("{} does not build: {}", draft.technique, text_of(built->reason));
  Kernel kernel{.technique = draft.technique};
  kernel.library.reset(::dlopen(fmt::format("/proc/self/fd/{}", built->file.get()).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (kernel.library == nullptr) return fail("{}", ::dlerror());
  kernel.run = reinterpret_cast<int (*)(kw_call*)>(::dlsym(kernel.library.get(), "kw_run"));
  kernel.prepare = reinterpret_cast<int (*)(kw_call*)>(::dlsym(kernel.library.get(), "kw_prepare"));
  return kernel;
}

// ---- One task.

struct Figures {
  std::string technique, mover;
  double gbps = 0, share = 0;  // of the fastest mover, and the kernel's
};

double time_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

Result<Figures> measure(cpu::Workshop& workshop, const Task& task, const Settings& settings) {
  KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, 1));
  KW_TRY(const Kernel kernel, build(workshop, instance.graph, settings));
  std::vector<std::byte> image = targets::image_of(instance);
  kw_call* call = targets::settle(image.data());

  std::vector<Memory> all;
  Tensors in, out;
  const auto take = [&](Tensors& side, std::size_t bytes) {
    all.emplace_back(bytes);
    side.data.push_back(all.back().data());
    side.bytes.push_back(bytes / kLine * kLine);
    return all.back().data();
  };
  const std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, ops::InputClass::typical, 1);
  const auto input = [&](std::size_t i) -> void*& { return const_cast<kw_tensor&>(call->inputs[i]).data; };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = inputs[i].bytes();
    std::byte* to = take(in, bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    input(i) = instance.graph.inputs[i].role == Role::input ? nullptr : to;
  }
  const Memory kept(cpu::kept_bytes(instance.constant_bytes()));
  call->kept = reinterpret_cast<unsigned char*>(kept.data());
  call->kept_bytes = static_cast<std::int64_t>(cpu::kept_bytes(instance.constant_bytes()));
  if (kernel.prepare != nullptr) {
    if (kernel.prepare(call) != KW_OK) return fail("{}: {}", task.name, call->message);
    if (call->kept_used > 0) call->prepared = call->kept;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) input(i) = in.data[i];
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    call->outputs[i].data = take(out, static_cast<std::size_t>(instance.outputs[i].bytes()));
  }
  const Memory scratch(cpu::scratch_bytes(instance.all_bytes()));
  call->scratch = reinterpret_cast<unsigned char*>(scratch.data());
  call->scratch_bytes = static_cast<std::int64_t>(cpu::scratch_bytes(instance.all_bytes()));

  const auto all_movers = movers();
  const std::size_t many = all_movers.size();
  std::vector<std::vector<double>> shares(many), times(many);  // by round
  std::vector<std::size_t> order(many + 1);
  std::iota(order.begin(), order.end(), 0);
  Random random(1);
  for (int round = 0; round < kRounds; ++round) {
    double kernel_ns = 0;
    int status = KW_OK;
    random.shuffle(std::span(order));  // each finds the caches as the one before left them
    for (const std::size_t i : order) {
      if (i == many) {
        kernel_ns = time_of([&] { status = kernel.run(call); });
      } else {
        times[i].push_back(time_of([&] { all_movers[i].move(in, out); }));
      }
    }
    if (status != KW_OK) return fail("{}: {}", task.name, call->message);
    for (std::size_t i = 0; i < many; ++i) shares[i].push_back(times[i].back() / kernel_ns);
  }
  Figures figures{.technique = kernel.technique, .share = std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < many; ++i) {
    const double share = median_of(shares[i]);
    if (share >= figures.share) continue;
    figures.share = share;
    figures.mover = all_movers[i].name;
    figures.gbps = ops::cost_of(instance.graph).bytes() / median_of(times[i]);
  }
  return figures;
}

Status run(const std::vector<std::string>& words) {
  Settings settings;
  std::vector<Task> tasks;
  for (const std::string& word : words) {
    if (const auto at = word.find('='); at != std::string::npos) {
      settings[word.substr(0, at)] = word.substr(at + 1);
    } else {
      KW_TRY(tasks.emplace_back(), suites::find_task(word));
    }
  }
  if (tasks.empty()) {
    KW_TRY(const suites::Suite suite, suites::find_suite("mobilekernelbench"));
    for (const Task& task : suite.tasks) {
      KW_TRY(const ops::Graph graph, ops::resolve(task));
      if (report::limit_of(task, ops::cost_of(graph)) == report::Limit::memory) tasks.push_back(task);
    }
  }
  KW_TRY(cpu::Workshop workshop, cpu::Workshop::open());
  fmt::print("{:<34} {:<24} {:>7} {:<20} {:>9}\n", "task", "kernel", "GB/s", "moved in", "reached");
  std::vector<double> shares;
  for (const Task& task : tasks) {
    KW_TRY(const Figures figures, measure(workshop, task, settings));
    fmt::print("{:<34} {:<24} {:>7.1f} {:<20} {:>7.1f} %\n", task.name, figures.technique, figures.gbps, figures.mover,
               100 * figures.share);
    std::fflush(stdout);
    shares.push_back(figures.share);
  }
  fmt::print("median of {}: {:.1f} % of the bandwidth beside it\n", shares.size(), 100 * median_of(shares));
  return {};
}

}  // namespace
}  // namespace kw

int main(int count, char** words) {
  const kw::Status status = kw::run({words + 1, words + count});
  if (!status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 2;
  return 0;
}
