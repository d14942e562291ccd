// Where the layers of the ziggurat method end, with which Random draws normal numbers: for those who draw the same
// numbers elsewhere (kernels/cuda/judge/drawn.cuh).
#pragma once

#include <span>

namespace kw {

inline constexpr int kZigguratLayers = 256;
std::span<const double, kZigguratLayers + 1> ziggurat_ends();

}  // namespace kw
