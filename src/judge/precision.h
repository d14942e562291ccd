// Was less precision used inside than the type of the result has?
//
// What an element may be off is a worst case, and long sums have a wide one: single elements of a sum in half precision
// can hide in it. All elements together cannot: errors of roundings in the tensor's own type are scattered, and their
// mean square stays far below the square of the worst case.
#pragma once

#include <string>

#include "kernel/tensor.h"
#include "ops/wide_tensor.h"

namespace kw::judge {

// What is wrong, or empty. `got` has passed ops::compare.
std::string lost_precision(const ops::WideTensor& expected, const Tensor& got);

}  // namespace kw::judge
