// Shapes that are too large for the host: their inputs are drawn on the device, from recipes, and every element of the
// outputs is compared there, with a reference in float64 that the device computes. A device that can do so is one of
// these too.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ops/compare.h"
#include "ops/recipe.h"
#include "targets/target.h"

namespace kw::targets {

// What computes right answers in float64 on the device, for the task's own shape.
class DeviceReference {
 public:
  virtual ~DeviceReference() = default;
  // Of the device, while it is computed: beside the tensors of calls.
  virtual std::uint64_t memory_bytes() const = 0;
};

// How far an element of an output may be off: floor + share * |expected|. Integers and bools must be the same.
struct OutputBound {
  double floor = 0;
  double share = 0;
};

struct CheckedOutput {
  std::int64_t count = 0;
  std::int64_t wrong = 0;
  std::vector<ops::Mismatch> examples;
  double worst = 0;          // the largest error in parts of what is allowed
  std::int64_t differs = 0;  // elements with other bits than in the first call that was checked
  ops::Mismatch difference;  // one of them: `expected` is what the first call gave
};

struct Checked {
  Reason reason;                                  // what ended the kernel's process, or an input that it changed
  std::vector<std::vector<CheckedOutput>> calls;  // by call and output
};

class LargeShapes {
 public:
  virtual ~LargeShapes() = default;

  virtual std::uint64_t device_memory_bytes() const = 0;
  // An Error: there is none for this task. Built once for a task.
  virtual Result<std::shared_ptr<const DeviceReference>> reference_for(const Task& task) = 0;
  // As Calls::lay_out; what `parts` has recipes for takes no memory of the host.
  virtual Status lay_out(Calls& calls, const Instance& instance, std::span<const Placement> places,
                         const ops::Parts& parts) = 0;
  // A call's inputs, of constants those of the first call: drawn before the kernel runs next.
  virtual void write(Calls& calls, std::size_t call, const ops::Parts& parts) = 0;
  // The outputs of calls that had equal inputs, after they have run.
  virtual Result<Checked> check(LoadedKernel& kernel, const DeviceReference& reference, std::size_t first,
                                std::size_t count, std::span<const OutputBound> bounds, Clock::time_point deadline) = 0;
  // The same of what a framework left for one call, in the place of the outputs of a kernel that had the same inputs.
  virtual Result<Checked> check_framework(const Outputs& theirs, LoadedKernel& kernel, const DeviceReference& reference,
                                          std::size_t call, std::span<const OutputBound> bounds,
                                          Clock::time_point deadline) = 0;
};

}  // namespace kw::targets
