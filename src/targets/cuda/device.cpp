#include "targets/cuda/device.h"

#include <sys/file.h>

#include "base/files.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/host/control.h"
#include "targets/cuda/about.h"
#include "targets/cuda/driver.h"
#include "targets/cuda/emulated/device.h"
#include "targets/cuda/loaded.h"
#include "targets/cuda/roofs.h"
#include "targets/cuda/sanitizer.h"
#include "targets/cuda/watch.h"

namespace kw::cuda {
namespace {

using namespace std::chrono_literals;
using targets::Warmth;

// What is compiled for where there is no GPU to ask.
constexpr char kUsualArchitecture[] = "sm_90a";
constexpr std::uint64_t kUsualCacheBytes = std::uint64_t{32} << 20;

// One at a time on a GPU, also of several kw.
class GpuTurn final : public targets::Turn {
 public:
  GpuTurn(int number, const std::string& bus) : watch_(GpuWatch::open(bus)) {
    auto file = open_lock_file(cache_folder() / fmt::format("cuda-{}.turn", number));
    if (file.ok()) {
      file_ = std::move(*file);
      while (::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    }
  }

  void admit(targets::LoadedKernel&) override {}
  Result<Reason> arrange(targets::LoadedKernel& kernel, const targets::Calls& calls, const targets::Instance& instance,
                         Clock::time_point deadline) override {
    return kernel.arrange(calls, instance, deadline);
  }
  Reason make_ready(targets::LoadedKernel& kernel, std::size_t, std::optional<std::size_t> warm_call, Warmth,
                    double* warm_ns, Clock::time_point deadline) override {
    *warm_ns = 0;
    if (!warm_call) return {};
    const targets::Lap lap = of(kernel).time(*warm_call, 1, Warmth::warm, deadline);
    *warm_ns = lap.ns;
    return lap.reason;
  }
  void before_writing() override {}
  void settle(const targets::Calls&, targets::LoadedKernel& kernel, std::size_t count, Warmth warmth) override {
    warmth_ = warmth;
    late_ = of(kernel).write_inputs(count, Clock::now() + 30s);
  }
  targets::Lap time(targets::LoadedKernel& kernel, std::size_t count, Clock::time_point deadline) override {
    if (!late_.empty()) return {.reason = std::exchange(late_, {})};
    targets::Lap lap = of(kernel).time(0, count, warmth_, deadline);
    if (watch_ != nullptr && count > 0) watch_->look();
    return lap;
  }
  bool watches_clock() const override { return true; }
  int core() const override { return 0; }
  std::optional<Conditions> conditions() const override {
    return watch_ == nullptr ? std::nullopt : watch_->conditions();
  }

 private:
  static LoadedCuda& of(targets::LoadedKernel& kernel) { return dynamic_cast<LoadedCuda&>(kernel); }

  Descriptor file_;
  std::unique_ptr<GpuWatch> watch_;  // null: NVML is not there
  Warmth warmth_ = Warmth::warm;
  Reason late_;  // of writing inputs, said with the lap
};

// Of a kernel under tools, with starting them.
constexpr auto kMostToolTime = 240s;

}  // namespace

// Instructions of Hopper and later that are not promised to last need the letter.
std::string architecture_of(const Json& facts) {
  if (facts.empty()) return kUsualArchitecture;
  const int major = facts.at("major").get<int>(), minor = facts.at("minor").get<int>();
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

Result<std::unique_ptr<targets::Device>> CudaDevice::open(const std::string& name) {
  if (name == kEmulated) return EmulatedCuda::open();
  KW_TRY(const int number, gpu_number(name));
  Json facts = Json::object();
  if (why_no_gpu().empty()) {
    KW_TRY(const std::unique_ptr<WorkerProcess> first, WorkerProcess::start(number));
    KW_TRY(facts, first->facts(Clock::now() + 30s));
  }
  KW_TRY(Builder builder, Builder::open(architecture_of(facts)));
  return std::unique_ptr<targets::Device>(
      new CudaDevice(fmt::format("cuda:{}", number), number, std::move(facts), std::move(builder)));
}

Status CudaDevice::accepts(const targets::Instance& instance) const {
  for (const std::vector<TensorType>* types : {&instance.inputs, &instance.outputs}) {
    for (const TensorType& type : *types) {
      if (type.shape.rank() > KW_MAX_RANK) {
        return fail("a tensor has {} axes; kernels get {} at most", type.shape.rank(), KW_MAX_RANK);
      }
    }
  }
  if (instance.outputs.size() > host::kMostOutputs) {
    return fail("{} outputs; kernels get {} at most", instance.outputs.size(), host::kMostOutputs);
  }
  return {};
}

Result<std::unique_ptr<const targets::Built>> CudaDevice::build(const targets::Source& source, const Choice& choice) {
  KW_TRY(std::unique_ptr<CudaBuilt> built, builder_.build(source, choice));
  return std::unique_ptr<const targets::Built>(std::move(built));
}

Result<std::unique_ptr<targets::Calls>> CudaDevice::make_calls() {
  return std::unique_ptr<targets::Calls>(new CudaCalls());
}

Result<std::unique_ptr<targets::Outputs>> CudaDevice::make_outputs(const targets::Calls& calls) {
  return FrameworkOutputs::make(dynamic_cast<const CudaCalls&>(calls));
}

Result<std::unique_ptr<targets::LoadedKernel>> CudaDevice::load(const targets::Built& built, const targets::Calls&,
                                                                const targets::Limits&) {
  if (facts_.empty()) {
    return fail("{}; kernels for {} can be built here (--build-only), or judged without their speed (--on {})",
                why_no_gpu(), name_, kEmulated);
  }
  KW_TRY(std::unique_ptr<LoadedCuda> loaded,
         LoadedCuda::open(pool_, builder_.sandbox(), dynamic_cast<const CudaBuilt&>(built), referee_));
  return std::unique_ptr<targets::LoadedKernel>(std::move(loaded));
}

std::unique_ptr<targets::Turn> CudaDevice::take_turn(int) {
  return std::make_unique<GpuTurn>(number_, facts_.value("bus", std::string()));
}

// Half of the GPU's cache, so that all calls of a group find their tensors as warm as a single one would.
std::uint64_t CudaDevice::group_bytes() const {
  return (facts_.empty() ? kUsualCacheBytes : facts_.value("l2_bytes", kUsualCacheBytes)) / 2;
}

std::optional<double> CudaDevice::least_time_ns(const Cost& cost, int) const {
  const auto least = least_time(name_, cost);
  return least.ok() ? std::optional(least->ns()) : std::nullopt;
}

Result<std::vector<targets::ToolFindings>> CudaDevice::sanitize(const targets::Built& built,
                                                                std::span<const targets::SanitizedCall> calls) {
  KW_TRY(const std::string program, find_sanitizer());
  if (facts_.empty()) return fail("{}", why_no_gpu());
  const auto& kernel = dynamic_cast<const CudaBuilt&>(built);
  std::vector<targets::ToolFindings> all;
  for (const char* tool : kSanitizerTools) {
    KW_TRY(const Descriptor log, sandbox::memory_file(std::string()));
    const Clock::time_point deadline = Clock::now() + kMostToolTime;
    KW_TRY(auto worker, WorkerProcess::start(number_, sanitizer_words(program, tool), log.get()));
    KW_TRY(const auto loaded,
           LoadedCuda::open_under_tools(pool_, builder_.sandbox(), kernel, referee_, std::move(worker)));
    Reason stopped = loaded->finish_loading(deadline);
    for (const targets::SanitizedCall& call : calls) {
      if (!stopped.empty()) break;
      CudaCalls memory;
      Random random(1);
      const targets::Placement place[] = {targets::Placement::aligned};
      KW_CHECK(memory.lay_out(*call.instance, place, random));
      for (std::size_t i = 0; i < call.inputs.size(); ++i) memory.write(0, i, call.inputs[i]);
      KW_TRY(stopped, loaded->arrange(memory, *call.instance, deadline));
      if (stopped.empty()) stopped = loaded->run(0, 1, deadline);
    }
    loaded->finish(deadline);
    const auto text = sandbox::content_of(log, 16 << 20);
    targets::ToolFindings& found = all.emplace_back(findings_in(tool, text.ok() ? *text : ""));
    // A kernel that the tool has stopped is what it tells of.
    if (found.count == 0 && !stopped.empty()) found.problem = kw::text_of(stopped);
  }
  return all;
}

std::uint64_t CudaDevice::device_memory_bytes() const {
  return facts_.empty() ? 0 : facts_.value("memory_bytes", std::uint64_t{0});
}

Result<std::shared_ptr<const targets::DeviceReference>> CudaDevice::reference_for(const Task& task) {
  const auto memory = static_cast<std::int64_t>(device_memory_bytes());
  KW_TRY(auto reference, referee_.reference_for(task, {.threads_in_block = facts_.value("threads_in_block", 1024L),
                                                       .scratch_bytes = memory / 2,
                                                       .kept_bytes = memory / 4}));
  return std::shared_ptr<const targets::DeviceReference>(std::move(reference));
}

Status CudaDevice::lay_out(targets::Calls& calls, const targets::Instance& instance,
                           std::span<const targets::Placement> places, const ops::Parts& parts) {
  auto& ours = dynamic_cast<CudaCalls&>(calls);
  KW_TRY(std::string code, referee_.code());
  ours.draw_with(std::move(code));
  return ours.lay_out_parts(instance, places, parts);
}

void CudaDevice::write(targets::Calls& calls, std::size_t call, const ops::Parts& parts) {
  auto& ours = dynamic_cast<CudaCalls&>(calls);
  for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
    if (parts.recipes[i]) {
      ours.draw(call, i, *parts.recipes[i]);
    } else {
      ours.write(call, i, parts.tensors[i]);
    }
  }
}

Result<targets::Checked> CudaDevice::check(targets::LoadedKernel& kernel, const targets::DeviceReference& reference,
                                           std::size_t first, std::size_t count,
                                           std::span<const targets::OutputBound> bounds, Clock::time_point deadline) {
  return dynamic_cast<LoadedCuda&>(kernel).check(dynamic_cast<const CudaReference&>(reference), first, count, bounds,
                                                 deadline);
}

Result<targets::Checked> CudaDevice::check_framework(const targets::Outputs& theirs, targets::LoadedKernel& kernel,
                                                     const targets::DeviceReference& reference, std::size_t call,
                                                     std::span<const targets::OutputBound> bounds,
                                                     Clock::time_point deadline) {
  auto& loaded = dynamic_cast<LoadedCuda&>(kernel);
  if (Reason reason = loaded.put(call, dynamic_cast<const FrameworkOutputs&>(theirs), deadline); !reason.empty()) {
    return targets::Checked{.reason = std::move(reason), .calls = {}};
  }
  return check(kernel, reference, call, 1, bounds, deadline);
}

bool CudaDevice::alive() { return builder_.sandbox().alive(); }

}  // namespace kw::cuda
