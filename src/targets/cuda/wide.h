// References on a GPU for shapes that are too large for the CPU's: the task in float64, and a kernel that computes it.
//
// The wide task is a task like any other, so its kernel is judged by the CPU's references on small shapes
// (kw_cuda_bench emulated-wide and wide): that is what makes it one to judge others by.
#pragma once

#include <string>

#include "base/result.h"
#include "core/task.h"
#include "ops/graph.h"

namespace kw::cuda {

// All tensors of floats as float64, constants and weights with their values among them. Fails where the task itself
// names a type in a way that cannot be changed.
Result<Task> wide_task(const Task& task);

// Plain kernels, and those of kernels/cuda/reference where these compute an element from a long row.
Result<std::string> wide_kernel(const ops::Graph& wide);

}  // namespace kw::cuda
