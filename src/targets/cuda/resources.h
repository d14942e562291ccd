// What a kernel takes of a GPU, as its assembler says: registers, spills and shared memory, and how many warps fit with
// that. Nothing runs for it.
#pragma once

#include <string>
#include <vector>

#include "targets/about.h"

namespace kw::cuda {

struct KernelResources {
  std::string kernel;
  int registers = 0;            // a thread's
  int stack_bytes = 0;          // a thread's local memory, spills among it
  int spill_store_bytes = 0;    // of instructions that put registers there, a thread's
  int spill_load_bytes = 0;     // and that fetch them back
  int static_shared_bytes = 0;  // a block's; what a launch adds is the plan's
};

// From what ptxas prints with -v; kernels in the order of their names.
std::vector<KernelResources> resources_in(const std::string& said);

// How many warps a multiprocessor of compute capability 9.0 holds at once, of 64, when a block has this many threads
// and so much shared memory, static and dynamic; 0: a block does not fit.
int resident_warps(const KernelResources& kernel, int block_threads, int dynamic_shared_bytes = 0);

targets::CodeNotes notes_on(const std::vector<KernelResources>& kernels);

}  // namespace kw::cuda
