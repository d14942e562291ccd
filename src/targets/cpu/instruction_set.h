// What one instruction is, read from the text that objdump prints of it: where control goes after it, and what it does
// to floats, vectors and memory. All that is particular to a kind of processor is here; loops (control_flow.h) and what
// slows them down (machine_code.h) are found the same way for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kw::cpu {

enum class InstructionSet { x86, aarch64, riscv64 };

// By the line "file format" of a disassembly; text without one is taken for x86. None: of another processor.
std::optional<InstructionSet> instruction_set_of(const std::string& disassembly);

// Where control goes: on, to a function and back, maybe to `target`, surely there, or nowhere that is known.
enum class Flow { on, call, branch, jump, end };

struct Instruction {
  std::uint64_t address = 0;
  std::string name;
  std::string operands;
  Flow flow = Flow::on;
  std::uint64_t target = 0;  // of a jump or a call; 0: not known
  std::uint64_t refers = 0;  // to an address, as taking a function's does
  int line = 0;              // of the source; 0: not known, or in a header
};

// From the part of a line after the address. Empty name: no instruction.
Instruction read_instruction(InstructionSet set, std::string words);

struct Effect {
  bool loads = false;
  bool stores = false;
  bool on_stack = false;  // what it loads or stores lies there
  int moved_bits = 0;     // the vector that it loads or stores; 0: none
  int moved_bytes = 0;    // of floats and vectors that it loads or stores
  int vector_bits = 0;    // the vectors that it computes with; 0: none
  bool computes = false;  // on floats or vectors: comparisons, maxima, selections and integers in vectors among them
  int products = 0;       // that it multiplies and adds up in one
  bool divides = false;   // or takes square roots
  bool gathers = false;
  std::string calls;  // the function's name

  bool computes_on_vectors() const { return computes && vector_bits > 0; }
};
Effect effect_of(InstructionSet set, const Instruction& one);

// As llvm-mca reads it, without addresses and names of functions; jumps go to the label "turn". Empty: it is left out.
std::string assembly_of(const Instruction& one);

}  // namespace kw::cpu
