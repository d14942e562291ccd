#include "lm_torch/placement.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace kw::lm {

Result<at::TensorOptions> placement(const std::string& device, const std::string& numbers) {
  at::TensorOptions options;
  if (numbers == "F32") {
    options = options.dtype(at::kFloat);
  } else if (numbers == "BF16") {
    options = options.dtype(at::kBFloat16);
  } else if (numbers == "F16") {
    options = options.dtype(at::kHalf);
  } else {
    return fail("numbers are F32, BF16 or F16, not '{}'", numbers);
  }
  if (device == "cpu") return options.device(at::kCPU);
  const std::string index = device.starts_with("cuda:") ? device.substr(5) : "";
  const bool known = device == "cuda" || (!index.empty() && index.size() < 4 &&
                                          std::ranges::all_of(index, [](char c) { return c >= '0' && c <= '9'; }));
  if (!known) return fail("a device is cpu, cuda or cuda:N, not '{}'", device);
  if (!at::hasCUDA()) {
    return fail(
        "device {}: there is no GPU, or this LibTorch was built without CUDA; without --device it runs on the CPU",
        device);
  }
  return options.device(at::Device(device));
}

}  // namespace kw::lm
