#include "targets/cpu/device.h"

#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "targets/cpu/about.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/call_memory.h"
#include "targets/cpu/core_turn.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/library.h"
#include "targets/cpu/locked_kernel.h"
#include "targets/cpu/machine_code.h"

namespace kw::cpu {
namespace {

namespace fs = std::filesystem;

// The core's own cache, where the system does not tell.
constexpr std::uint64_t kUsualCacheBytes = std::uint64_t{512} << 10;

}  // namespace

Result<std::unique_ptr<targets::Device>> CpuDevice::open(const std::string& name) {
  if (name != "cpu") return fail("{}: the target cpu has one device, which is called cpu", name);
  KW_TRY(std::unique_ptr<CpuDevice> device, open_cpu());
  return std::unique_ptr<targets::Device>(std::move(device));
}

Result<std::unique_ptr<CpuDevice>> CpuDevice::open_cpu() {
  KW_TRY(Workshop workshop, Workshop::open());
  return std::unique_ptr<CpuDevice>(new CpuDevice(std::move(workshop)));
}

Status fits_the_contract(const targets::Instance& instance) {
  for (const std::vector<TensorType>* types : {&instance.inputs, &instance.outputs}) {
    for (const TensorType& type : *types) {
      if (type.shape.rank() > KW_MAX_RANK) {
        return fail("a tensor has {} axes; kernels get {} at most", type.shape.rank(), KW_MAX_RANK);
      }
    }
  }
  const std::size_t tensors = instance.inputs.size() + instance.outputs.size();
  if (instance.outputs.size() > host::kMostOutputs || tensors > host::kMostTensors) {
    return fail("{} tensors; kernels get {} at most, {} of them outputs", tensors, host::kMostTensors,
                host::kMostOutputs);
  }
  if (targets::image_of(instance).size() > host::kMostImageBytes) {
    return fail("its attributes take more than the {} bytes that a call may have", host::kMostImageBytes);
  }
  return {};
}

Status CpuDevice::accepts(const targets::Instance& instance) const { return fits_the_contract(instance); }

Result<std::unique_ptr<const targets::Built>> CpuDevice::build_from(const Source& source, const Source& written,
                                                                    const Choice& choice) {
  KW_TRY(std::unique_ptr<Library> library, workshop_.build(source, choice, &written));
  if (library->ok()) {
    KW_TRY(const std::string code, library->code());
    if (std::string problem = check_library(code); !problem.empty()) {
      library->reason = {ReasonCode::bad_library, {{"text", std::move(problem)}}};
    }
  }
  return std::unique_ptr<const targets::Built>(std::move(library));
}

Result<std::unique_ptr<targets::Calls>> shared_calls() {
  KW_TRY(std::unique_ptr<CallMemory> calls, CallMemory::make());
  return std::unique_ptr<targets::Calls>(std::move(calls));
}

Result<std::unique_ptr<targets::Outputs>> shared_outputs(const targets::Calls& calls) {
  KW_TRY(std::unique_ptr<OwnOutputs> outputs, OwnOutputs::make(dynamic_cast<const CallMemory&>(calls)));
  return std::unique_ptr<targets::Outputs>(std::move(outputs));
}

Result<std::unique_ptr<targets::LoadedKernel>> CpuDevice::load(const targets::Built& built, const targets::Calls& calls,
                                                               const targets::Limits& limits) {
  const std::uint64_t memory_bytes = scratch_bytes(limits.memory_bytes) + kept_bytes(limits.constant_bytes);
  const auto& library = dynamic_cast<const Library&>(built);
  KW_TRY(Cell cell, Cell::open(workshop_.sandbox(), library.file, dynamic_cast<const CallMemory&>(calls).inputs(),
                               limits.threads, memory_bytes));
  return std::unique_ptr<targets::LoadedKernel>(
      new LockedKernel(std::move(cell), limits.threads, workshop_.sandbox().isolation().seccomp, library.flushes));
}

std::unique_ptr<targets::Turn> CpuDevice::take_turn(int threads) { return std::make_unique<CoreTurn>(threads); }

// Half of the core's own cache, so that the calls of a group find their tensors as warm as a single call, and a
// framework's, would.
std::uint64_t CpuDevice::group_bytes() const {
  static const std::uint64_t bytes = [] {
    std::uint64_t own = 0;
    for (const Cache& cache : read_cpu_facts().caches) {
      if (cache.level == 2 && cache.holds_data()) own = cache.size_bytes;
    }
    return (own > 0 ? own : kUsualCacheBytes) / 2;
  }();
  return bytes;
}

std::size_t CpuDevice::most_calls() const { return host::kMostCalls; }

std::optional<double> CpuDevice::least_time_ns(const Cost& cost, int threads) const {
  const auto least = least_time(cost, threads);
  return least.ok() ? std::optional(least->ns()) : std::nullopt;
}

bool CpuDevice::alive() { return workshop_.sandbox().alive(); }

std::vector<targets::IsolationPart> CpuDevice::isolation_parts() const {
  std::vector<targets::IsolationPart> parts;
  for (sandbox::Isolation::Part& part : workshop_.sandbox().isolation().parts()) {
    parts.push_back({std::move(part.name), part.there, std::move(part.needs)});
  }
  return parts;
}

Result<targets::CodeNotes> CpuDevice::look_into(const targets::Built& built,
                                                const targets::CodeQuestion& question) const {
  KW_TRY(const std::string content, built.code());
  return notes_on(content, {.model = {.core = question.core}, .samples = question.samples});
}

}  // namespace kw::cpu
