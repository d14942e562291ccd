// What the compiler made of a kernel: the innermost loops of a call as machine code, and what slows them down.
//
// Read from what was built with objdump, of this machine's processor or of a device's (instruction_set.h). Loops are
// found by control flow (control_flow.h); what only kw_prepare uses is left out, as it is not timed. Where samples of
// running calls are given, loops are ranked by their share of the time; else by how deep they lie. llvm-mca says how
// many cycles a turn takes where it knows the core (cycle_model.h). What is not known is not told.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "targets/about.h"
#include "targets/cpu/cycle_model.h"

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
  int products = 0;           // that they make, all their lanes
  int divisions = 0;          // and square roots, of both kinds
  int loads = 0;
  int stores = 0;
  int read_bytes = 0;     // of floats and vectors, those on the stack left out
  int written_bytes = 0;  // likewise
  int spills = 0;         // vectors that are loaded from or stored to the stack
  int gathers = 0;
  std::vector<std::string> calls;  // what it calls
  std::string code;                // its instructions, one a line
  std::optional<double> share;     // of the samples; none: there were too few to tell
  std::optional<double> cycles;    // of a turn, by llvm-mca
  std::string busiest;             // "SKXPort5, 8.0 of 8.5 cycles"

  bool vectorised() const { return vector_arithmetic > 0 && scalar_arithmetic * 4 <= vector_arithmetic; }
};

struct MachineCode {
  std::vector<Loop> loops;  // innermost ones, the largest shares first; without samples the deepest first, those that
                            // do most in a turn before others
  int samples = 0;          // that the shares come from; 0: they are not known
  double outside = 0;       // the share of the samples that were in no function of the kernel: in the C library, say
  std::string model;        // whose cycles they are, where that needs saying: a sentence
  std::string missing;      // which tool was not there, and what is not known for it
};

// What reads the code of a processor.
struct CodeReader {
  std::string objdump = "objdump";
  std::string package = "binutils";  // of Debian, that has it
  Model model = {};
  std::span<const std::uint64_t> samples = {};  // addresses as objdump shows them
};

Result<MachineCode> machine_code_of(const std::filesystem::path& file, const CodeReader& reader = {});

// Those that a model is asked of: of the first few, and of the one that makes most products, for what lies deeper may
// only fetch what that one needs. None with branches or calls inside.
std::vector<std::size_t> loops_to_model(const MachineCode& code);

// What a turn gets done, to tell cycles of a turn from cycles of an element: its multiply-adds, or where it has none
// the floats that it writes, or reads.
struct Work {
  double amount = 0;
  std::string unit;
};
Work work_of(const Loop& loop);
// From objdump's text alone.
MachineCode loops_in(const std::string& disassembly, std::span<const std::uint64_t> samples = {});

// For a person or a model: a few lines a loop, the first loops.
std::string as_text(const MachineCode& code, std::size_t most_loops = 3);
// {loops: [{function, depth, share, first_line, last_line, instructions, vectorised, ..., work, unit, code}], samples,
// outside, model, missing}
std::string as_json(const MachineCode& code);

// Both, of the content of a library or program.
Result<targets::CodeNotes> notes_on(const std::string& content, const CodeReader& reader);

}  // namespace kw::cpu
