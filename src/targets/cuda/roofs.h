// The roofs of a GPU: the most bytes it moves and the most arithmetic it does in a second, measured by kernels of ours
// (kernels/cuda/roofs.cu), and kept by the GPU's identity.
#pragma once

#include <string>

#include "base/result.h"
#include "core/cost.h"
#include "targets/about.h"

namespace kw::cuda {

Result<targets::RoofTable> known_roofs(const std::string& device);
Result<targets::RoofTable> measure_roofs(const std::string& device);

// Of cold calls: what is read comes from memory, and what is written may stay in the cache where it fits. Products of
// float32 may be three products of TF32 on the tensor cores.
targets::LeastTime least_time(const targets::RoofTable& roofs, const Cost& cost);
Result<targets::LeastTime> least_time(const std::string& device, const Cost& cost);

// As text and back; an Error where it is none.
std::string text_of(const targets::RoofTable& table);
Result<targets::RoofTable> roofs_in(const std::string& text);

}  // namespace kw::cuda
