// A CUDA kernel's machine code (SASS): its loops, what they consist of and where they stand in the source. Read from
// what nvdisasm prints, without a GPU. A loop is told of without what stands in further loops inside of it: a main loop
// often holds one for elements that are not aligned.
//
// How often a loop runs is not known: loops are ranked by what a turn computes. Waiting and bank conflicts cannot be
// seen in the code; the width of loads, what runs on tensor cores, registers that went to memory and barriers can.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "targets/about.h"
#include "targets/cuda/resources.h"

namespace kw::cuda {

struct SassLoop {
  std::string kernel;
  int depth = 1;       // how many loops it lies in, itself included
  int first_line = 0;  // of the source; 0: not known
  int last_line = 0;
  int instructions = 0;  // that stand in it
  // By what they are: "HGMMA.64x256x16", "FFMA", "LDG.128", "LDS.32", "LDGSTS.128", "BAR"; what only counts is
  // "integer", "moves" and "branches".
  std::map<std::string, int> counts = {};
  std::string code = {};  // its instructions, one a line

  int count(const std::string& prefix) const;  // of all kinds that begin so
};

// Loops that compute or read anything, those that do most in a turn first.
std::vector<SassLoop> sass_loops_in(const std::string& disassembly);

// In PATH, $KW_CUDA/bin or the toolkit's.
Result<std::string> find_nvdisasm();

// What the assembler says of the kernels, with the loops where nvdisasm is there; else what is missing is said.
targets::CodeNotes notes_on(const std::vector<KernelResources>& kernels, const std::string& cubin);

}  // namespace kw::cuda
