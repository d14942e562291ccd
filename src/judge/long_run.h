// Many calls of one small shape: is a kernel as right in the thousandth as in the first, does it hold more and more
// memory, and does it leave the bytes beside its outputs alone?
#pragma once

#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/tensor.h"
#include "targets/target.h"

namespace kw::judge {

struct LongRun {
  targets::Calls* calls = nullptr;
  targets::LoadedKernel* kernel = nullptr;
  const targets::Instance* instance = nullptr;
  std::size_t most_calls = 1;                // of one command
  std::vector<std::vector<Tensor>> inputs;   // some sets of them, with the same constants
  std::vector<std::vector<Tensor>> answers;  // the kernel's own, known to be right
};

// None: nothing was found. `varies`: answers need not have the same bits, and are not compared.
Result<Reason> run_long(const LongRun& run, bool varies, Random& random, int* calls_made);

// Again and again at one address, with old inputs and new ones.
Result<Reason> run_in_place(const LongRun& run, bool varies, Random& random);

// Once, with an eye on every write; *watched becomes true where the device can.
Result<Reason> run_watched(const LongRun& run, Random& random, bool* watched);

}  // namespace kw::judge
