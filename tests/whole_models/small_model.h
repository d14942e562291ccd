// A small model for tests: a convolution with SiLU and a residual, a chain of elementwise operators, a product.
#pragma once

#include <string>

namespace kw {

// As a file. x: float32[N, 8, 12, 12] -> y: float32[N, 8, 12, 12], z: float32[N, 8, 12, 5]
std::string small_model();

}  // namespace kw
