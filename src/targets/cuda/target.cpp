// NVIDIA GPUs, by CUDA's driver.
#include "targets/target.h"

#include "base/files.h"
#include "targets/cuda/about.h"
#include "targets/cuda/builder.h"
#include "targets/cuda/composed.h"
#include "targets/cuda/device.h"
#include "targets/cuda/driver.h"
#include "targets/cuda/emulated/device.h"
#include "targets/cuda/plain.h"
#include "targets/cuda/roofs.h"

namespace kw::targets {
namespace {

// The driver's own account of itself and of its GPUs.
std::string identity(const std::string& name) {
  std::string text = name + "\n";
  if (const auto version = read_file("/proc/driver/nvidia/version", 4096); version.ok()) text += *version;
  if (const auto toolkit = cuda::find_toolkit(); toolkit.ok()) text += state_of(toolkit->library);
  if (const auto data = data_folder(); data.ok()) {
    // What kernels include.
    text += state_of((*data / "include" / "kernelwright_cuda.h").string()) + states_in(*data / "kernels/cuda/parts");
    if (name == cuda::kEmulated) text += states_in(*data / "kernels/cuda/emulated");
  }
  return text + state_of("/usr/bin/g++");
}

}  // namespace

Target cuda() {
  return {
      .name = "cuda",
      .languages = {".cu"},
      .open = kw::cuda::CudaDevice::open,
      .identity = identity,
      .usual_device = "cuda:0",
      .names = "cuda:0, cuda:emulated",
      .missing = [](const std::string& device) { return device == kw::cuda::kEmulated ? "" : kw::cuda::why_no_gpu(); },
      .facts = kw::cuda::device_facts,
      .known_roofs = kw::cuda::known_roofs,
      .measure_roofs = kw::cuda::measure_roofs,
      .least_time = [](const std::string& device, const Cost& cost, int) { return kw::cuda::least_time(device, cost); },
      .tools = kw::cuda::tools,
      .build_options = kw::cuda::build_options,
      .plain_kernel = kw::cuda::plain_kernel,
      .techniques = "cuda",
      .compose = kw::cuda::composed_kernel,
      .gpu = [](const std::string& device) -> std::optional<int> {
        const auto number = kw::cuda::gpu_number(device);
        return number.ok() ? std::optional(*number) : std::nullopt;
      }};
}

}  // namespace kw::targets
