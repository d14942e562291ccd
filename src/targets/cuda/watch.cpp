#include "targets/cuda/watch.h"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

namespace kw::cuda {
namespace {

using namespace std::chrono_literals;

// A look takes some ten microseconds.
constexpr auto kBetweenLooks = 10ms;
constexpr unsigned kMultiprocessorClock = 1, kCoreTemperature = 0;  // of NVML

}  // namespace

struct GpuWatch::Library {
  int (*init)() = nullptr;
  int (*by_bus)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;

  // Null where it is not on this machine. Loaded once.
  static const Library* find() {
    static const std::optional<Library> loaded = []() -> std::optional<Library> {
      void* file = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
      if (file == nullptr) return std::nullopt;
      Library all;
      const auto function = [&](auto& to, const char* name) {
        to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(file, name));
        return to != nullptr;
      };
      const bool whole =
          function(all.init, "nvmlInit_v2") && function(all.by_bus, "nvmlDeviceGetHandleByPciBusId_v2") &&
          function(all.clock, "nvmlDeviceGetClockInfo") && function(all.temperature, "nvmlDeviceGetTemperature") &&
          function(all.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
      if (!whole || all.init() != 0) return std::nullopt;
      return all;
    }();
    return loaded ? &*loaded : nullptr;
  }
};

std::vector<std::string> slowdowns_of(unsigned long long reasons) {
  // Idle clocks and those that somebody has set are no slowdowns: they show as MHz.
  static constexpr std::pair<unsigned long long, const char*> kNames[] = {
      {0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x20, "heat"}, {0x40, "heat"}, {0x80, "power brake"}};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0 && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  return names;
}

void note(const GpuState& state, std::optional<Conditions>& seen, unsigned long long& reasons) {
  if (!seen) {
    seen = Conditions{
        .mhz_least = state.mhz, .mhz_most = state.mhz, .celsius_first = state.celsius, .celsius_most = state.celsius};
  }
  seen->mhz_least = std::min(*seen->mhz_least, state.mhz);
  seen->mhz_most = std::max(*seen->mhz_most, state.mhz);
  seen->celsius_most = std::max(*seen->celsius_most, state.celsius);
  if (*seen->mhz_least > 0) seen->slowest = *seen->mhz_most / *seen->mhz_least;
  reasons |= state.reasons;
  seen->slowed_by = slowdowns_of(reasons);
}

std::unique_ptr<GpuWatch> GpuWatch::open(const std::string& bus) {
  const Library* library = bus.empty() ? nullptr : Library::find();
  void* device = nullptr;
  if (library == nullptr || library->by_bus(bus.c_str(), &device) != 0) return nullptr;
  return std::unique_ptr<GpuWatch>(new GpuWatch(*library, device));
}

void GpuWatch::look() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kBetweenLooks) return;
  last_ = now;
  unsigned mhz = 0, celsius = 0;
  GpuState state;
  if (library_->clock(device_, kMultiprocessorClock, &mhz) != 0) return;
  if (library_->temperature(device_, kCoreTemperature, &celsius) != 0) return;
  if (library_->reasons(device_, &state.reasons) != 0) return;
  state.mhz = mhz;
  state.celsius = celsius;
  note(state, seen_, reasons_);
}

}  // namespace kw::cuda
