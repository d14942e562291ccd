// Is the candidate right? It is run on the task's own shape and on shapes that its author never saw, on typical and on
// hard values, at awkward addresses between unmapped pages, twice, and over memory that holds rubbish; and every
// element of every output is held against the reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "judge/quick_check.h"
#include "judge/timed_answers.h"
#include "ops/compare.h"
#include "ops/op.h"
#include "targets/target.h"

namespace kw::judge {

// Why a candidate is rejected.
struct Finding {
  VerdictStage stage = VerdictStage::verify;
  Reason reason;
};

struct Examined {
  std::optional<Finding> finding;
  double max_error = 0;  // of what was compared, in parts of what is allowed
  bool varies = false;
  // For each output: what typical inputs allow an element.
  std::vector<ElementBound> allowed;
  Coverage coverage;
};

struct LargeTask;

struct Exam {
  const Task* task = nullptr;
  targets::Device* device = nullptr;
  const targets::Built* built = nullptr;
  int threads = 1;
  std::uint64_t seed = 0;
  const QuickCheck* quick_check = nullptr;  // only these inputs, in the task's own shape
  const LargeTask* large = nullptr;         // the own shape is the device's alone (large.h)
};

Result<Examined> examine(const Exam& exam);

// The stage of a verdict with this reason, found in a case of `stage`: forbidden accesses and behaviour have stages of
// their own, whatever the case.
VerdictStage stage_of(const Reason& reason, VerdictStage stage);

// Reads a kernel's answer to a call.
std::vector<Tensor> outputs_of(targets::LoadedKernel& kernel, const targets::Instance& instance, std::size_t call,
                               Reason* problem);

// The same bits, where a NaN is any NaN.
bool same_bits(const Tensor& a, const Tensor& b);

// An instance that the device accepts.
Result<targets::Instance> instance_for(const targets::Device& device, const Task& task, const Lengths& lengths,
                                       int threads);

}  // namespace kw::judge
