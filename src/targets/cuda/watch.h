// Clock, heat and throttling of a GPU while kernels are timed on it, as NVML tells them (libnvidia-ml.so.1, which comes
// with the driver). They are watched and reported, never changed.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/verdict.h"

namespace kw::cuda {

// What a look at the GPU shows.
struct GpuState {
  double mhz = 0;  // of the multiprocessors
  double celsius = 0;
  unsigned long long reasons = 0;  // why the clock is held down: bits of NVML
};

// In words, those that say that work runs slower than it could: "power cap", "heat".
std::vector<std::string> slowdowns_of(unsigned long long reasons);

// What was seen so far, with one look more. `reasons`: of all looks.
void note(const GpuState& state, std::optional<Conditions>& seen, unsigned long long& reasons);

class GpuWatch {
 public:
  // `bus`: "0000:00:06.0". Null: NVML is not there, or does not know the GPU.
  static std::unique_ptr<GpuWatch> open(const std::string& bus);

  // Now, unless it looked a moment ago.
  void look();
  std::optional<Conditions> conditions() const { return seen_; }

 private:
  struct Library;
  GpuWatch(const Library& library, void* device) : library_(&library), device_(device) {}

  const Library* library_;
  void* device_;
  std::chrono::steady_clock::time_point last_ = {};
  std::optional<Conditions> seen_;
  unsigned long long reasons_ = 0;
};

}  // namespace kw::cuda
