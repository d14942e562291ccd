// What do the wrong elements of an answer have in common? "Only the last 5 of axis 1" says more about a kernel than ten
// wrong numbers do: a tail that a vector loop left out.
#pragma once

#include <string>

#include "core/tensor.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

// In words, such as "every element; it is the transposed answer"; empty where nothing is wrong or the shapes differ.
std::string pattern_of_wrong(const WideTensor& expected, const Tensor& got);

}  // namespace kw::ops
