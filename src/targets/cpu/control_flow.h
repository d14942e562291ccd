// The loops of machine code, found by control flow: a loop is what a jump back to a block that dominates it encloses.
//
// Read from objdump's text. Blocks that compilers put far away from where they belong, and tails that lie between the
// addresses of a loop, are in a loop only if control goes through them. Where a jump goes is not always known (tables
// of switches): what is reached only that way is left out, rather than guessed at.
#pragma once

#include <string>
#include <vector>

#include "targets/cpu/instruction_set.h"

namespace kw::cpu {

struct Function {
  std::string name;
  std::vector<Instruction> instructions;
};

// `objdump -d -C -l` of a library or program; lines are known where it was built with them. None where its processor is
// not known.
std::vector<Function> functions_in(const std::string& disassembly);

struct NaturalLoop {
  std::vector<std::size_t> instructions;  // places in the function, ascending
  int depth = 1;                          // how many loops of the function it lies in, itself included
  bool innermost = false;
  bool straight = false;  // one block: every instruction runs in every turn
};
std::vector<NaturalLoop> natural_loops(const Function& function);

// A function that a call of the kernel may come to, and how deep in loops it is called.
struct TimedFunction {
  const Function* function = nullptr;
  int called_at_depth = 0;
};
// All that is reached from kw_run, with what compilers call cold left out; every function where there is no kw_run.
// What only kw_prepare uses is not timed.
std::vector<TimedFunction> timed_functions(const std::vector<Function>& functions);

}  // namespace kw::cpu
