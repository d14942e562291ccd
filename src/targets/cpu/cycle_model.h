// How many cycles a turn of a loop takes when nothing is waited for in memory, by llvm-mca. Only where LLVM has a model
// of this very core: the model of another one misleads.
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

// What LLVM calls this core, if its version knows how it schedules; empty: it does not. `cpuinfo` is /proc/cpuinfo.
std::string modelled_core(const std::string& cpuinfo, int llvm_version);

// Of each loop, in AT&T syntax, one instruction a line, from the label "turn" on; none where it is not known. An Error
// says which tool or model is missing.
Result<std::vector<std::optional<Cycles>>> cycles_of(std::span<const std::string> loops);

}  // namespace kw::cpu
