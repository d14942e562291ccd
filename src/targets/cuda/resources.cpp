#include "targets/cuda/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "base/json.h"

namespace kw::cuda {
namespace {

// Of compute capability 9.0.
constexpr int kWarp = 32, kMostWarps = 64, kMostBlocks = 32;
constexpr int kRegisters = 65536, kRegistersAtOnce = 256;  // a warp gets them in pieces of this size
constexpr int kSharedBytes = 228 << 10, kSharedOfBlock = 227 << 10, kSharedReserved = 1 << 10, kSharedAtOnce = 128;

constexpr int kShownBlocks[] = {128, 256, 512};

int number_before(const std::string& line, const std::string& words) {
  std::smatch found;
  return std::regex_search(line, found, std::regex("(\\d+) " + words)) ? std::atoi(found[1].str().c_str()) : 0;
}

int rounded_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::vector<KernelResources> resources_in(const std::string& said) {
  static const std::regex entry(R"(Compiling entry function '(\w+)')"), used(R"(Used (\d+) registers)");
  std::map<std::string, KernelResources> kernels;
  KernelResources* now = nullptr;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, entry)) {
      now = &kernels[found[1]];
      now->kernel = found[1];
    } else if (now == nullptr) {
      continue;
    } else if (line.find("bytes stack frame") != std::string::npos) {
      now->stack_bytes = number_before(line, "bytes stack frame");
      now->spill_store_bytes = number_before(line, "bytes spill stores");
      now->spill_load_bytes = number_before(line, "bytes spill loads");
    } else if (std::regex_search(line, found, used)) {
      now->registers = std::atoi(found[1].str().c_str());
      now->static_shared_bytes = number_before(line, "bytes smem");
    }
  }
  std::vector<KernelResources> list;
  for (auto& [_, kernel] : kernels) list.push_back(std::move(kernel));
  return list;
}

int resident_warps(const KernelResources& kernel, int block_threads, int dynamic_shared_bytes) {
  const int warps = (block_threads + kWarp - 1) / kWarp;
  const int shared = kernel.static_shared_bytes + dynamic_shared_bytes;
  if (warps < 1 || warps > 32 || shared > kSharedOfBlock) return 0;
  const int of_warp = rounded_up(std::max(kernel.registers, 1) * kWarp, kRegistersAtOnce);
  // Warps of a block are spread over four parts of the multiprocessor, each with its own quarter of the registers.
  const int by_registers = kRegisters / 4 / of_warp * 4 / warps;
  const int by_shared = kSharedBytes / rounded_up(shared + kSharedReserved, kSharedAtOnce);
  return std::min({kMostWarps / warps, kMostBlocks, by_registers, by_shared}) * warps;
}

targets::CodeNotes notes_on(const std::vector<KernelResources>& kernels) {
  targets::CodeNotes notes;
  Json all = Json::array();
  if (kernels.empty()) notes.text = "the assembler named no kernel\n";
  for (const KernelResources& one : kernels) {
    notes.text += fmt::format("{}: {} registers, {} bytes of static shared memory", one.kernel, one.registers,
                              one.static_shared_bytes);
    if (one.spill_store_bytes + one.spill_load_bytes > 0) {
      notes.text += fmt::format(", SPILLS {} bytes out and {} in", one.spill_store_bytes, one.spill_load_bytes);
    } else if (one.stack_bytes > 0) {
      notes.text += fmt::format(", {} bytes of local memory", one.stack_bytes);
    } else {
      notes.text += ", no spills";
    }
    notes.text += "\n  of 64 warps a multiprocessor (sm_90) holds, without dynamic shared memory:";
    Json occupancy = Json::object();
    for (const int block : kShownBlocks) {
      const int warps = resident_warps(one, block);
      notes.text +=
          fmt::format(" {} in blocks of {}{}", warps, block, block == std::end(kShownBlocks)[-1] ? "\n" : ",");
      occupancy[std::to_string(block)] = warps;
    }
    all.push_back({{"kernel", one.kernel},
                   {"registers", one.registers},
                   {"stack_bytes", one.stack_bytes},
                   {"spill_store_bytes", one.spill_store_bytes},
                   {"spill_load_bytes", one.spill_load_bytes},
                   {"static_shared_bytes", one.static_shared_bytes},
                   {"resident_warps", occupancy}});
  }
  notes.json = Json({{"kernels", all}}).dump();
  return notes;
}

}  // namespace kw::cuda
