// What device code of the plain CUDA kernels needs to be compiled by a C++ compiler and run on the CPU, a thread after
// the other. There is no shared memory, no synchronisation and no device: kernels that use them do not compile here.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <utility>

#define __CUDACC__
#define __device__
#define __global__

struct ShimIndex {
  unsigned x, y, z;
};
static ShimIndex blockIdx, threadIdx, gridDim;

static inline double __longlong_as_double(long long bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline long long __double_as_longlong(double value) {
  long long bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double cospi(double x) { return cos(M_PI * x); }
static inline double sinpi(double x) { return sin(M_PI * x); }

// As a driver launches: `arguments[i]` points to the value of parameter i. Blocks and threads have one axis.
template <class... Parameters, std::size_t... at>
void shim_launch(void (*kernel)(Parameters...), void** arguments, int64_t grid, int64_t block,
                 std::index_sequence<at...>) {
  gridDim = {static_cast<unsigned>(grid), 1, 1};
  for (int64_t b = 0; b < grid; ++b) {
    for (int64_t t = 0; t < block; ++t) {
      blockIdx = {static_cast<unsigned>(b), 0, 0};
      threadIdx = {static_cast<unsigned>(t), 0, 0};
      kernel(*static_cast<Parameters*>(arguments[at])...);
    }
  }
}
template <class... Parameters>
void shim_launch(void (*kernel)(Parameters...), void** arguments, int64_t grid, int64_t block) {
  shim_launch(kernel, arguments, grid, block, std::index_sequence_for<Parameters...>());
}
