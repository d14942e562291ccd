// What a device says of itself, as lines of a name and a value. Files that are not there, or that may not be read, are
// left out.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace kw::remote {

// The first line of a small file; empty: none.
inline std::string line_of(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[4096];
  const ssize_t size = ::read(fd, text, sizeof text);
  ::close(fd);
  std::string line(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  return line.substr(0, line.find_first_of(std::string("\n\0", 2)));
}

inline std::string core_file(int core, const char* name) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/" + name;
}

inline std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<unsigned>(core), &set)) cores.push_back(core);
  }
  return cores.empty() ? std::vector<int>{0} : cores;
}

// How strong a core is, by the scheduler's account or its highest frequency: only to be compared.
inline long strength_of(int core) {
  if (const std::string text = line_of(core_file(core, "cpu_capacity")); !text.empty()) return std::atol(text.c_str());
  return std::atol(line_of(core_file(core, "cpufreq/cpuinfo_max_freq")).c_str());
}

// The last one of the strongest: interrupts like the first.
inline int strongest_core() {
  const std::vector<int> cores = usable_cores();
  int best = cores.front();
  for (const int core : cores) {
    if (strength_of(core) >= strength_of(best)) best = core;
  }
  return best;
}

inline std::string facts_text(const std::string& folder, bool filters) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += name + " " + value + "\n";
  };
  utsname system{};
  ::uname(&system);
  add("machine", system.machine);
  add("system", std::string(system.sysname) + " " + system.release);
  add("page_bytes", std::to_string(::sysconf(_SC_PAGESIZE)));
  add("hwcap", std::to_string(::getauxval(AT_HWCAP)));
  add("hwcap2", std::to_string(::getauxval(AT_HWCAP2)));
  add("model", line_of("/sys/firmware/devicetree/base/model"));
#if defined(__x86_64__)
  add("level", __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
               : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
               : __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2"
                                                     : "x86-64");
#endif
  struct sysinfo memory {};
  if (::sysinfo(&memory) == 0) add("memory_bytes", std::to_string(std::uint64_t{memory.totalram} * memory.mem_unit));
  for (const int core : usable_cores()) {
    const std::string midr = line_of(core_file(core, "regs/identification/midr_el1"));
    const std::string most = line_of(core_file(core, "cpufreq/cpuinfo_max_freq"));
    add("core", std::to_string(core) + " " + (midr.empty() ? "-" : midr) + " " + (most.empty() ? "-" : most) + " " +
                    std::to_string(strength_of(core)));
  }
  add("best_core", std::to_string(strongest_core()));
  for (int index = 0; index < 8; ++index) {
    const std::string cache = "cache/index" + std::to_string(index) + "/";
    const std::string size = line_of(core_file(strongest_core(), (cache + "size").c_str()));
    if (size.empty()) continue;
    add("cache", line_of(core_file(strongest_core(), (cache + "level").c_str())) + " " +
                     line_of(core_file(strongest_core(), (cache + "type").c_str())) + " " + size);
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0) {
    add("free_bytes", std::to_string(std::uint64_t{disk.f_bavail} * disk.f_frsize));
  }
  add("filters", filters ? "yes" : "no");
  add("folder", folder);
  return text;
}

// Files with the temperatures of processors; of a device that names none so, of whatever it names, the first few.
inline std::vector<std::string> thermal_zones() {
  constexpr std::size_t kMostZones = 8;
  std::vector<std::string> processors, others;
  if (DIR* zones = ::opendir("/sys/class/thermal"); zones != nullptr) {
    while (const dirent* entry = ::readdir(zones)) {
      if (std::string(entry->d_name).find("thermal_zone") != 0) continue;
      const std::string zone = std::string("/sys/class/thermal/") + entry->d_name;
      if (line_of(zone + "/temp").empty()) continue;
      (line_of(zone + "/type").find("cpu") != std::string::npos ? processors : others).push_back(zone);
    }
    ::closedir(zones);
  }
  std::vector<std::string>& chosen = processors.empty() ? others : processors;
  chosen.resize(std::min(chosen.size(), kMostZones));
  return chosen;
}

// The least time of the same chain of instructions, tried for some milliseconds, in which a core that slept gets fast.
inline double pace_ns() {
  constexpr std::uint64_t kTryNs = 3'000'000;
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  };
  const std::uint64_t begin = now();
  std::uint64_t least = ~std::uint64_t{0}, value = begin;
  for (std::uint64_t at = begin; at - begin < kTryNs;) {
    for (int i = 0; i < 10'000; ++i) {
      value = value * 6364136223846793005u + 1442695040888963407u;
      asm volatile("" : "+r"(value));
    }
    const std::uint64_t end = now();
    least = std::min(least, end - at);
    at = end;
  }
  return static_cast<double>(least);
}

// Of the core that this runs on: "pace_ns NS", "frequency KILOHERTZ", "temperature ZONE THOUSANDTHS".
inline std::string weather_text(int core) {
  static const std::vector<std::string> zones = thermal_zones();
  std::string text = "pace_ns " + std::to_string(pace_ns()) + "\n";
  const std::string now = line_of(core_file(core, "cpufreq/scaling_cur_freq"));
  if (!now.empty()) text += "frequency " + now + "\n";
  for (const std::string& zone : zones) {
    const std::string degrees = line_of(zone + "/temp");
    if (!degrees.empty()) text += "temperature " + zone.substr(zone.rfind('/') + 1) + " " + degrees + "\n";
  }
  return text;
}

}  // namespace kw::remote
