#pragma once

#include "drawn.cuh"

// What the judge does on the GPU for shapes that are too large for the host: draws inputs, and looks at every element
// of inputs and outputs. The worker loads this code anew whenever a kernel has run (src/targets/cuda/worker/referee.h).

// What was found, in one place of memory; zeros before.
struct Found {
  unsigned long long count;  // of elements that differ, or are wrong
  unsigned long long first;  // the first of them, counted from the last one down: 0 means none
  unsigned long long worst;  // the largest error in parts of what is allowed, as a double's bits
  unsigned long long examples;
  struct {
    int64_t at;
    double got, expected, allowed;
  } example[8];
};

#ifdef __CUDACC__
constexpr int kThreads = 256;

__device__ inline int64_t first_element() { return int64_t(blockIdx.x) * kThreads + threadIdx.x; }
__device__ inline int64_t step() { return int64_t(gridDim.x) * kThreads; }

// Where the layers end, near to the threads of a block.
__device__ inline const double* layers_here(const Layers& layers) {
  __shared__ double ends[257];
  for (int i = int(threadIdx.x); i < 257; i += kThreads) ends[i] = layers.ends[i];
  __syncthreads();
  return ends;
}

__device__ inline void note(Found* found, int64_t i, int64_t count) {
  atomicAdd(&found->count, 1ull);
  atomicMax(&found->first, (unsigned long long)(count - i));
}

__device__ inline void show(Found* found, int64_t i, double got, double expected, double allowed) {
  const unsigned long long at = atomicAdd(&found->examples, 1ull);
  if (at >= 8) return;
  found->example[at].at = i;
  found->example[at].got = got;
  found->example[at].expected = expected;
  found->example[at].allowed = allowed;
}

// To a kernel's input, or as doubles for a reference; the other one is null.
extern "C" __global__ void __launch_bounds__(kThreads) kw_draw(float* to, double* wide, Drawn of, Layers layers,
                                                               int64_t count) {
  const double* ends = layers_here(layers);
  for (int64_t i = first_element(); i < count; i += step()) {
    const float value = drawn_at(of, ends, i);
    if (to != nullptr) to[i] = value;
    if (wide != nullptr) wide[i] = double(value);
  }
}

// Is an input still what was drawn?
extern "C" __global__ void __launch_bounds__(kThreads) kw_still_drawn(const uint32_t* x, Drawn of, Layers layers,
                                                                      int64_t count, Found* found) {
  const double* ends = layers_here(layers);
  for (int64_t i = first_element(); i < count; i += step()) {
    if (uint32_t(__float_as_int(drawn_at(of, ends, i))) != x[i]) note(found, i, count);
  }
}

// As src/targets/cuda/loaded.cpp numbers them.
enum Type { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 3, kOther = 4 };

__device__ inline double number_at(const void* from, int64_t type, int64_t i) {
  if (type == kFloat32) return double(static_cast<const float*>(from)[i]);
  if (type == kFloat64) return static_cast<const double*>(from)[i];
  if (type == kFloat16) return double(float(static_cast<const Float16*>(from)[i]));
  return double(float(static_cast<const BFloat16*>(from)[i]));
}

extern "C" __global__ void __launch_bounds__(kThreads) kw_widen(const void* from, int64_t type, double* to,
                                                                int64_t count) {
  for (int64_t i = first_element(); i < count; i += step()) to[i] = number_at(from, type, i);
}

// The same bits, where a NaN is any NaN; `bytes` of an element.
extern "C" __global__ void __launch_bounds__(kThreads) kw_same(const uint8_t* a, const uint8_t* b, int64_t type,
                                                               int64_t bytes, int64_t count, Found* found) {
  for (int64_t i = first_element(); i < count; i += step()) {
    bool same = true;
    if (bytes == 4) {
      same = reinterpret_cast<const uint32_t*>(a)[i] == reinterpret_cast<const uint32_t*>(b)[i];
    } else {
      for (int64_t k = 0; k < bytes; ++k) same = same && a[i * bytes + k] == b[i * bytes + k];
    }
    if (same) continue;
    double p = 0, q = 0;
    if (type != kOther) {
      p = number_at(a, type, i), q = number_at(b, type, i);
      if (p != p && q != q) continue;
    }
    note(found, i, count);
    show(found, i, p, q, 0);
  }
}

// Every element within floor + share * |expected|; ops/compare.h says what of NaN and infinities. `limit`: the largest
// magnitude that rounds to a finite number of the type.
extern "C" __global__ void __launch_bounds__(kThreads) kw_compare(const void* got, int64_t type, const double* expected,
                                                                  double floor, double share, double limit,
                                                                  int64_t count, Found* found) {
  double worst = 0;
  for (int64_t i = first_element(); i < count; i += step()) {
    const double is = number_at(got, type, i), wanted = expected[i];
    const double slack = floor + share * fabs(wanted), error = fabs(is - wanted);
    bool right = error <= slack;
    if (wanted != wanted) {
      right = is != is;
    } else if (fabs(wanted) == infinity()) {
      right = is == wanted;
    } else if (fabs(is) == infinity()) {
      right = is > 0 ? wanted + slack >= limit : wanted - slack <= -limit;
    } else if (slack > 0 && error == error && error / slack > worst) {
      worst = error / slack;
    }
    if (right) continue;
    note(found, i, count);
    show(found, i, is, wanted, slack);
  }
  if (worst > 0) atomicMax(&found->worst, (unsigned long long)__double_as_longlong(worst));
}
#else
KW_PLAN(plan) { static_cast<void>(plan); }
#endif
