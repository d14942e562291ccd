// A first look at many candidates of one task, for a search that has only a little time for each: the same inputs for
// all, drawn once with their answers, in the task's own shape. A kernel that passes may still be wrong: before its
// result counts it is judged in full.
#pragma once

#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/tensor.h"
#include "ops/wide_tensor.h"

namespace kw::judge {

struct QuickCheck {
  bool large =
      false;  // the own shape is the device's alone (large.h): it draws inputs and compares, and these are empty
  std::vector<Tensor> inputs;
  std::vector<ops::WideTensor> expected;
};

Result<QuickCheck> make_quick_check(const Task& task);

}  // namespace kw::judge
