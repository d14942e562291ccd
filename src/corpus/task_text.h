// A task as the short text that stands in prompts, and back: a line for each tensor, node and output.
//
//   input x: float32[N=32, K=512] normal
//   weight w: float32[M=256, K] normal(0, 0.05)
//   constant axes: int64[1] = [1]
//   output y
//   node h = Gemm<transB=1>(x, w)
//   node y = Relu(h)
//
// The line's first word is followed by what a suite has in its list of that name (suites/suite.h); `opset` and
// `tolerance` have lines of their own where they are not the usual ones. Tensors come in the order in which a kernel
// gets them. The task's name is no part of it: a model is to read what the task says.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/task.h"

namespace kw::corpus {

// Fails where the text could not give the same task back: weights with values of their own, tensors as attributes.
Result<std::string> text_of(const Task& task);

// Errors name the line. The task is called after its text, and belongs to no suite.
Result<Task> task_of_text(std::string_view text);

// Gives everything that names a length the value that the task has for it (Task::lengths).
void settle_lengths(Task& task);

// "Softmax_1a2b3c4d": the operators' names and a fingerprint of the text.
std::string name_of_text(const Task& task, std::string_view text);

}  // namespace kw::corpus
