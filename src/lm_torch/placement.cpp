#include "lm_torch/placement.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

namespace kw::lm {
namespace {

// LibTorch's part for CUDA is a library of its own, which says what it can do when it is loaded. Nothing is linked with
// it, so that kw-lm starts where it or what it needs is missing. Why it could not be loaded; empty: it is there.
const std::string& complaint_of_loading_cuda() {
  static const std::string complaint = [] {
    if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return std::string();
    const char* const said = ::dlerror();
    return fmt::format(" ({})", said == nullptr ? "libtorch_cuda.so cannot be loaded" : said);
  }();
  return complaint;
}

}  // namespace

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
  const std::string& complaint = complaint_of_loading_cuda();  // LibTorch looks once, and must not before
  if (!at::hasCUDA()) {
    return fail("device {}: there is no GPU, or this LibTorch has no CUDA{}; without --device it runs on the CPU",
                device, complaint);
  }
  return options.device(at::Device(device));
}

}  // namespace kw::lm
