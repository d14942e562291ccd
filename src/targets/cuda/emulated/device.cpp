#include "targets/cuda/emulated/device.h"

#include "compose/parts.h"
#include "targets/cuda/emulated/source.h"

namespace kw::cuda {

Result<std::unique_ptr<targets::Device>> EmulatedCuda::open() {
  KW_TRY(std::unique_ptr<cpu::CpuDevice> cpu, cpu::CpuDevice::open_cpu());
  return std::unique_ptr<targets::Device>(new EmulatedCuda(std::move(cpu)));
}

Result<std::unique_ptr<const targets::Built>> EmulatedCuda::build(const targets::Source& source, const Choice& choice) {
  KW_TRY(const std::string whole, compose::with_parts_inlined(source.text, cpu::safe_name(source.name)));
  KW_TRY(std::string text, emulated_source(whole));
  // The compiler and flags that a CUDA kernel chooses are NVRTC's.
  Choice host = choice;
  host.compiler = "g++";
  host.flags = {"-O2"};
  return cpu_->build_from({source.name, std::move(text)}, source, host);
}

}  // namespace kw::cuda
