// Many calls of small shapes: is a kernel as right in the thousandth as in the first and at any address, does it hold
// more and more memory, and does it leave the bytes beside its outputs alone?
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/tensor.h"
#include "ops/wide_tensor.h"
#include "targets/target.h"

namespace kw::judge {

struct LongRun {
  targets::Calls* calls = nullptr;
  targets::LoadedKernel* kernel = nullptr;
  const targets::Instance* instance = nullptr;
  std::size_t most_calls = 1;                // of one command
  std::vector<std::vector<Tensor>> inputs;   // some sets of them, with the same constants
  std::vector<std::vector<Tensor>> answers;  // the kernel's own, known to be right
  std::vector<std::vector<ops::WideTensor>> expected;
  bool varies = false;  // its answers need not have the same bits; then they must be right
};

// An empty reason: nothing was found.
Result<Reason> run_long(const LongRun& run, Random& random, int* calls_made);

// Prepared again and again: what a preparation allocates for itself it must free.
Result<Reason> prepare_often(const LongRun& run, Random& random);

// Two shapes of one kernel in turn: what it allocates for one it must free, or use again.
Result<Reason> run_in_turn(const LongRun& one, const LongRun& other, Random& random);

// Again and again at one address, with old inputs and new ones.
Result<Reason> run_in_place(const LongRun& run, Random& random);

struct History {
  int calls = 5000;
  int fewest_calls = 1500;        // however long they take
  double longest_stretch = 2000;  // of calls of one shape
};

// What a program does with a kernel, from its first call on: some shapes in turn, each for one call or for a thousand,
// every hundred calls at other addresses, now and then the same call again with the same inputs or others. The kernel
// must be one that was not called before. All runs are of one kernel; *shape says which of them was wrong.
Result<Reason> run_history(std::span<const LongRun> runs, const History& history, Random& random, int* calls_made,
                           std::size_t* shape);

// One call of which every write is watched; *watched becomes true where the device can do that.
Result<Reason> run_watched(const LongRun& run, targets::Placement place, Random& random, bool* watched);

}  // namespace kw::judge
