// What the compiler made of a kernel: the innermost loops of a call as machine code, and what slows them down.
//
// Read from the built library with objdump. Loops are found by control flow (control_flow.h); what only kw_prepare
// uses is left out, as nobody times it. llvm-mca says how many cycles a turn takes where it knows this core
// (cycle_model.h). What is not known is not told.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cpu {

struct Loop {
  std::string function;
  int depth = 1;       // how many loops it lies in, itself and those of callers included
  int first_line = 0;  // of the source; 0: not known
  int last_line = 0;
  bool straight = true;       // no branch inside: each instruction runs in each turn
  int instructions = 0;       // of one turn
  int vector_bits = 0;        // the widest vectors that it computes with; 0: none
  int moved_bits = 0;         // the widest vectors that it loads or stores
  int vector_arithmetic = 0;  // on floats and integers, comparisons and selections among it
  int scalar_arithmetic = 0;  // on single floats
  int fused = 0;              // multiply-adds, of both kinds
  int divisions = 0;          // and square roots, of both kinds
  int loads = 0;
  int stores = 0;
  int spills = 0;  // vectors that are loaded from or stored to the stack
  int gathers = 0;
  std::vector<std::string> calls;  // what it calls
  std::string code;                // its instructions, one a line
  std::optional<double> cycles;    // of a turn, by llvm-mca
  std::string busiest;             // "SKXPort5, 8.0 of 8.5 cycles"

  bool vectorised() const { return vector_arithmetic > 0 && scalar_arithmetic * 4 <= vector_arithmetic; }
};

struct MachineCode {
  std::vector<Loop> loops;  // innermost ones, the deepest first, those that do most in a turn before others
  std::string missing;      // which tool was not there, and what is not known for it
};

Result<MachineCode> machine_code_of(const std::filesystem::path& library);
// From objdump's text alone.
MachineCode loops_in(const std::string& disassembly);

// For a person or a model: a few lines a loop, the first loops.
std::string as_text(const MachineCode& code, std::size_t most_loops = 3);
// {loops: [{function, depth, first_line, last_line, instructions, vectorised, ..., code}], missing}
std::string as_json(const MachineCode& code);

}  // namespace kw::cpu
