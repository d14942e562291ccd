// What examinations, long runs and races all ask of answers and of what ended a kernel.
#include <cmath>
#include <cstring>

#include "judge/examine.h"

namespace kw::judge {

using targets::Instance;

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  if (std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0) return true;
  if (!is_float(a.dtype())) return false;
  const std::size_t size = size_bytes(a.dtype());
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a.bytes().data() + at, b.bytes().data() + at, size) == 0) continue;
    if (!std::isnan(a.real(i)) || !std::isnan(b.real(i))) return false;
  }
  return true;
}

VerdictStage stage_of(const Reason& reason, VerdictStage stage) {
  switch (reason.code) {
    case ReasonCode::system_call:
    case ReasonCode::keeps_working:
    case ReasonCode::registers_changed:
      return VerdictStage::behaviour;
    case ReasonCode::misaligned_access:
      return VerdictStage::guard;
    case ReasonCode::touched_memory:
      return reason.params.contains("place") ? VerdictStage::guard : stage;
    default:
      return stage;
  }
}

std::vector<Tensor> outputs_of(targets::LoadedKernel& kernel, const Instance& instance, std::size_t call,
                               Reason* problem) {
  return targets::read_outputs(
      kernel.outputs(), instance, call, [&](std::size_t output) { return kernel.found_shape(call, output); }, problem);
}

Result<Instance> instance_for(const targets::Device& device, const Task& task, const Lengths& lengths, int threads) {
  KW_TRY(Instance instance, targets::make_instance(task, lengths, threads));
  if (const Status accepted = device.accepts(instance); !accepted.ok()) return at(task.name, accepted.error());
  return instance;
}

}  // namespace kw::judge
