#include "targets/cpu/facts.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>

namespace kw::cpu {
namespace fs = std::filesystem;
namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The value of the first line "key : value"; later lines (of later cores) are not read.
std::string value_of(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || trimmed(std::string_view(line).substr(0, colon)) != key) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

std::string read_model(const fs::path& root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  if (std::string name = value_of(cpuinfo, "model name"); !name.empty()) return name;
  // ARM gives numbers only.
  const std::string part = value_of(cpuinfo, "CPU part");
  if (!part.empty()) return "implementer " + value_of(cpuinfo, "CPU implementer") + " part " + part;
  utsname system = {};
  return ::uname(&system) == 0 ? "unknown " + std::string(system.machine) : "unknown";
}

std::string read_core(const fs::path& root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  const std::string family = value_of(cpuinfo, "cpu family"), model = value_of(cpuinfo, "model");
  return family.empty() || model.empty() ? "" : "family " + family + ", model " + model;
}

VectorUnit read_vector_unit() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f")) return {.extension = "avx512f", .width_bits = 512};
  if (__builtin_cpu_supports("avx2")) return {.extension = "avx2", .width_bits = 256};
  if (__builtin_cpu_supports("sse2")) return {.extension = "sse2", .width_bits = 128};
#elif defined(__ARM_NEON)
  return {.extension = "neon", .width_bits = 128};
#endif
  return {.extension = "", .width_bits = 0};
}

// "48K" or "2M"; 0 where it is neither.
std::uint64_t parse_size(std::string_view text) {
  const std::uint64_t number = leading_number(text).value_or(0);
  if (number > (1u << 30)) return 0;
  switch (text.empty() ? ' ' : text.back()) {
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    default:
      return number;
  }
}

// "0-3,8": five cores.
int count_of_list(const std::string& list) {
  int count = 0;
  std::stringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    const auto dash = range.find('-');
    const auto first = leading_number(range);
    const auto last = dash == std::string::npos ? first : leading_number(std::string_view(range).substr(dash + 1));
    if (first && last && *last >= *first && *last < 1u << 20) count += static_cast<int>(*last - *first + 1);
  }
  return std::max(count, 1);
}

std::vector<Cache> caches_of_sysfs(const fs::path& root) {
  std::vector<Cache> caches;
  for (int index = 0; index < 16; ++index) {
    const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
    const auto level = leading_number(first_line(folder / "level"));
    const std::uint64_t size_bytes = parse_size(first_line(folder / "size"));
    if (!level || *level < 1 || *level > 9 || size_bytes == 0) continue;
    const std::string type = first_line(folder / "type");
    caches.push_back({.level = static_cast<int>(*level),
                      .kind = type == "Data"          ? "data"
                              : type == "Instruction" ? "instruction"
                                                      : "unified",
                      .size_bytes = size_bytes,
                      .shared_by = count_of_list(first_line(folder / "shared_cpu_list"))});
  }
  std::ranges::sort(caches, {}, [](const Cache& cache) { return std::tuple(cache.level, cache.kind); });
  return caches;
}

// The C library asks the processor itself; it does not know who shares a cache.
std::vector<Cache> caches_of_the_c_library() {
  std::vector<Cache> caches;
#ifdef _SC_LEVEL1_DCACHE_SIZE
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (int level = 1; level <= 3; ++level) {
    const long size_bytes = ::sysconf(names[level - 1]);
    if (size_bytes <= 0) continue;
    caches.push_back({.level = level,
                      .kind = level == 1 ? "data" : "unified",
                      .size_bytes = static_cast<std::uint64_t>(size_bytes),
                      .shared_by = 1});
  }
#endif
  return caches;
}

std::uint64_t memory_of(const fs::path& root, std::string_view key) {
  return leading_number(value_of(root / "proc/meminfo", key)).value_or(0) << 10;
}

// What the container's limit leaves, or all of `available`. The limit is "max" where there is none.
std::uint64_t within_the_container(const fs::path& root, std::uint64_t available) {
  const auto limit = leading_number(first_line(root / "sys/fs/cgroup/memory.max"));
  if (!limit) return available;
  const std::uint64_t used = leading_number(first_line(root / "sys/fs/cgroup/memory.current")).value_or(0);
  return std::min(available, *limit > used ? *limit - used : 0);
}

int count_usable_cores(int otherwise) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return otherwise;
  return CPU_COUNT(&allowed);
}

}  // namespace

CpuFacts read_cpu_facts(const fs::path& root) {
  const int online = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  std::vector<Cache> caches = caches_of_sysfs(root);
  if (caches.empty()) caches = caches_of_the_c_library();
  return {.model = read_model(root),
          .logical_cores = online,
          .usable_cores = count_usable_cores(online),
          .vector = read_vector_unit(),
          .caches = std::move(caches),
          .memory_bytes = memory_of(root, "MemTotal"),
          .memory_available_bytes = within_the_container(root, memory_of(root, "MemAvailable")),
          .core = read_core(root)};
}

}  // namespace kw::cpu
