// How many cycles a turn of a loop takes when nothing is waited for in memory, by llvm-mca. For this machine only where
// LLVM has a model of this very core: the model of another one misleads. For a core that was asked for by name it is
// said whose model LLVM takes for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cpu {

struct Cycles {
  double of_a_turn = 0;
  std::string busiest;  // "SKXPort5, 8.0 of 8.5 cycles"
};

// Which core is modelled, as LLVM calls it.
struct Model {
  std::string core = {};    // "cortex-a76"; empty: this machine's
  std::string triple = {};  // "aarch64-linux-gnu"; empty: this machine's
};

struct ModelledLoops {
  std::vector<std::optional<Cycles>> loops;  // none where it is not known
  // Of a core that was asked for: "cycles are of Cortex-A76 by llvm-mca 14, with its model of the A57". Else empty.
  std::string model = {};
};

// What LLVM calls this core, if its version knows how it schedules; empty: it does not. `cpuinfo` is /proc/cpuinfo.
std::string modelled_core(const std::string& cpuinfo, int llvm_version);

// Of each loop, as objdump prints instructions, one a line, from the label "turn" on. An Error says which tool or model
// is missing.
Result<ModelledLoops> cycles_of(std::span<const std::string> loops, const Model& model = {});

}  // namespace kw::cpu
