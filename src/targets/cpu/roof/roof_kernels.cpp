#include "targets/cpu/roof/roof_kernels.h"

#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kw::cpu {
namespace {

// The next step of a walk that starts over at the end, without a jump: an inner loop per turn would be left by a jump
// that is sometimes mispredicted, which costs 8 % of a turn over the smallest cache.
inline std::size_t after(std::size_t at, std::size_t step_bytes, std::size_t bytes) {
  at += step_bytes;
  return at == bytes ? 0 : at;
}

#if defined(__x86_64__)

namespace avx512 {
using Vector = float __attribute__((vector_size(64), may_alias));
constexpr int kChains = 16;
#define KW_ROOF_TARGET __attribute__((target("avx512f")))
#define KW_ROOF_REGISTER "v"
#define KW_ROOF_STREAM(place, vector) _mm512_stream_ps(reinterpret_cast<float*>(place), vector)
#include "targets/cpu/roof/roof_kernels.inc"
}  // namespace avx512

namespace avx2 {
using Vector = float __attribute__((vector_size(32), may_alias));
constexpr int kChains = 12;
#define KW_ROOF_TARGET __attribute__((target("avx2,fma")))
#define KW_ROOF_REGISTER "x"
#define KW_ROOF_STREAM(place, vector) _mm256_stream_ps(reinterpret_cast<float*>(place), vector)
#include "targets/cpu/roof/roof_kernels.inc"
}  // namespace avx2

#endif

// 128 bits: SSE2, NEON, and what the compiler makes of it elsewhere.
namespace portable {
using Vector = float __attribute__((vector_size(16), may_alias));
constexpr int kChains = 12;
#define KW_ROOF_TARGET
#if defined(__x86_64__)
#define KW_ROOF_REGISTER "x"
#define KW_ROOF_STREAM(place, vector) _mm_stream_ps(reinterpret_cast<float*>(place), vector)
#elif defined(__aarch64__)
#define KW_ROOF_REGISTER "w"
#define KW_ROOF_STREAM(place, vector) (*(place) = (vector))
#else
#define KW_ROOF_REGISTER "m"
#define KW_ROOF_STREAM(place, vector) (*(place) = (vector))
#endif
#include "targets/cpu/roof/roof_kernels.inc"
}  // namespace portable

std::vector<RoofKernels> kernels_of_this_machine() {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2 && __builtin_cpu_supports("avx512f")) return {avx512::kKernels, avx2::kKernels};
  if (has_avx2) return {avx2::kKernels};
#endif
  return {portable::kKernels};
}

}  // namespace

std::span<const RoofKernels> roof_kernels() {
  static const std::vector<RoofKernels> kernels = kernels_of_this_machine();
  return kernels;
}

}  // namespace kw::cpu
