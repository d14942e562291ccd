// A small model for tests: a convolution with SiLU and a residual, a chain of elementwise operators, a product.
#pragma once

#include <string>

namespace kw {

// As a file. x: float32[N, 8, 12, 12] -> y: float32[N, 8, 12, 12], z: float32[N, 8, 12, 5]
std::string small_model();

// A model with an If (`choose`, by the input `flag`) whose branches call their values alike, each with two
// convolutions; in the first one stands another If, which the length N decides: 2 or another one. Behind it comes an
// activation.
std::string branching_model();

// x: float32[1, 1, N, N], rate: int64 -> y, z: an If (`choose`, of a rate of 16) whose first branch is a pool of
// windows of 5, padded by nothing, and gives a value of the graph around it as the second result, the other one a list.
std::string choosing_model();

// x: uint8[1, 4, 6, 6] -> y: uint8[1, 3, 6, 6], a convolution (`conv`, with a bias) between nodes that dequantise and
// quantise, and behind it the numbers as real ones.
std::string quantized_model();

// A Loop (`turns`) over a value of the shape [4], which the file states for its body or not.
std::string looping_model(bool with_shapes);

}  // namespace kw
