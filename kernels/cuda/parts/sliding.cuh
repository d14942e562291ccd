// How a window slides over images of up to three axes, in 32 bits and with division by multiplication: what kernels of
// convolutions and pooling need of parts of an image.
#pragma once

#include "../plain/windows.cuh"
#include "tensors.cuh"

// Division of numbers below 2^31 by a constant of the plan.
struct Divisor {
  uint32_t by, factor, shift;
#ifdef __CUDACC__
  __device__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, factor) + n) >> shift; }
  // The quotient; *rest gets what is left.
  __device__ uint32_t divide(uint32_t n, uint32_t* rest) const {
    const uint32_t q = quotient(n);
    *rest = n - q * by;
    return q;
  }
#else
  static Divisor of(int64_t by) {
    uint32_t shift = 0;
    while ((int64_t{1} << shift) < by) ++shift;
    const uint64_t factor = (uint64_t{1} << 32) * ((uint64_t{1} << shift) - uint64_t(by)) / uint64_t(by) + 1;
    return {uint32_t(by), uint32_t(factor), shift};
  }
#endif
};

struct Sliding {
  int32_t input[3], stride[3], dilation[3], pad[3];
  Divisor output[3], kernel[3];  // their lengths
  int32_t x_size, y_size, w_size;
#ifdef __CUDACC__
  // Where output `place` of an image begins, without padding; of a result three numbers, slowest axis first.
  __device__ void begin_of(uint32_t place, int32_t* at) const {
    uint32_t c, b;
    const uint32_t ab = output[2].divide(place, &c), a = output[1].divide(ab, &b);
    at[0] = int32_t(a), at[1] = int32_t(b), at[2] = int32_t(c);
  }
  __device__ void tap_of(uint32_t tap, int32_t* at) const {
    uint32_t c, b;
    const uint32_t ab = kernel[2].divide(tap, &c), a = kernel[1].divide(ab, &b);
    at[0] = int32_t(a), at[1] = int32_t(b), at[2] = int32_t(c);
  }
  // The element of an image under tap `tap` of a window that begins at `at`; -1: outside.
  __device__ int32_t under(const int32_t* at, const int32_t* tap) const {
    int32_t from = 0;
    bool inside = true;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int32_t p = at[axis] * stride[axis] - pad[axis] + tap[axis] * dilation[axis];
      inside = inside && uint32_t(p) < uint32_t(input[axis]);
      from = from * input[axis] + p;
    }
    return inside ? from : -1;
  }
#endif
};

#ifndef __CUDACC__
// False: more elements in an image than 32 bits count.
inline bool sliding_of(const Windows& windows, Sliding* of, Steps& steps) {
  int64_t sizes[3] = {1, 1, 1};
  // Axes that there are not come first, with one place.
  for (int i = 0; i < 3; ++i) {
    const int from = i - (3 - static_cast<int>(windows.axes));
    const bool there = from >= 0;
    of->input[i] = static_cast<int32_t>(there ? windows.input[from] : 1);
    of->stride[i] = static_cast<int32_t>(there ? windows.stride[from] : 1);
    of->dilation[i] = static_cast<int32_t>(there ? windows.dilation[from] : 1);
    of->pad[i] = static_cast<int32_t>(there ? windows.pad[from] : 0);
    of->output[i] = Divisor::of(there ? windows.output[from] : 1);
    of->kernel[i] = Divisor::of(there ? windows.kernel[from] : 1);
    sizes[0] *= there ? windows.input[from] : 1;
    sizes[1] *= there ? windows.output[from] : 1;
    sizes[2] *= there ? windows.kernel[from] : 1;
  }
  for (const int64_t size : sizes) {
    if (size < (int64_t{1} << 31)) continue;
    steps.cannot = "an image has more elements than this kernel counts";
    return false;
  }
  of->x_size = static_cast<int32_t>(sizes[0]);
  of->y_size = static_cast<int32_t>(sizes[1]);
  of->w_size = static_cast<int32_t>(sizes[2]);
  return true;
}
#endif
