// What the system says of its processor: model, cores, vector unit, caches, memory. Nothing here is measured.
//
// A system may hide any of it (no /sys in a container, no model name on ARM): what is not known is empty or 0, never
// made up, and never an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kw::cpu {

struct Cache {
  int level;         // 1, 2, ...
  std::string kind;  // "data", "instruction" or "unified"
  std::uint64_t size_bytes;
  int shared_by;  // logical cores, this one included

  bool holds_data() const { return kind != "instruction"; }
  // "L1", "L2"; "L1i" for instructions.
  std::string name() const { return "L" + std::to_string(level) + (holds_data() ? "" : "i"); }
};

struct VectorUnit {
  std::string extension;  // "avx512f", "avx2", "sse2", "neon", or "" where none is known
  int width_bits;
};

struct CpuFacts {
  std::string model;
  int logical_cores;  // online
  int usable_cores;   // that this process may run on
  VectorUnit vector;
  std::vector<Cache> caches;             // of core 0, the small ones first
  std::uint64_t memory_bytes;            // 0 where not known
  std::uint64_t memory_available_bytes;  // that could be used now without swapping, and within the container's limit
  std::string core = {};  // "family 26, model 2": which core it is, where the model's name does not say; may be empty
};

// `root` is where /proc and /sys are looked for; cores and the vector unit always are the running machine's.
CpuFacts read_cpu_facts(const std::filesystem::path& root = "/");

}  // namespace kw::cpu
