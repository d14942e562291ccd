// CUDA's driver, found when it is needed.
#pragma once

#include <string>

#include "base/result.h"
#include "targets/cuda/driver_api.h"

namespace kw::cuda {

// The functions of libcuda.so.1, or why they cannot be had: no driver, or one that is too old.
Result<const api::Functions*> load_driver();

// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
std::string text_of(const api::Functions& driver, api::Result result);

// Why no CUDA kernel can run on this machine; empty: one can. Opens no device.
std::string why_no_gpu();

}  // namespace kw::cuda
