// The words of CUDA's device code that a kernel may use, on a CPU (device.h). Those that are missing do not compile,
// with their name in the error.
#pragma once

#include <kernelwright.h>

#include "device.h"

#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __constant__ static
#define __shared__ static __attribute__((section("kw_shared")))
#define threadIdx (kw::emulated::here.thread)
#define blockIdx (kw::emulated::here.block)
#define blockDim (kw::emulated::here.block_size)
#define gridDim (kw::emulated::here.grid_size)

using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

constexpr int warpSize = 32;

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Vectors of elements, aligned as a GPU loads them.
#define KW_VECTORS(T, NAME, BYTES)                                   \
  struct NAME##2 {                                                   \
    T x, y;                                                          \
  }                                                                  \
  __attribute__((aligned(2 * BYTES)));                               \
  struct NAME##3 {                                                   \
    T x, y, z;                                                       \
  };                                                                 \
  struct NAME##4 {                                                   \
    T x, y, z, w;                                                    \
  }                                                                  \
  __attribute__((aligned(4 * BYTES > 16 ? 16 : 4 * BYTES)));         \
  inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }         \
  inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; } \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
KW_VECTORS(signed char, char, 1)
KW_VECTORS(unsigned char, uchar, 1)
KW_VECTORS(short, short, 2)
KW_VECTORS(unsigned short, ushort, 2)
KW_VECTORS(int, int, 4)
KW_VECTORS(unsigned int, uint, 4)
KW_VECTORS(long long, longlong, 8)
KW_VECTORS(unsigned long long, ulonglong, 8)
KW_VECTORS(float, float, 4)
KW_VECTORS(double, double, 8)
#undef KW_VECTORS

// Arithmetic. Two types as in an expression; of a NaN and a number the number, as fmax.
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
inline std::common_type_t<A, B> min(A a, B b) {
  using Both = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<Both>)
    return std::fmin(Both(a), Both(b));
  else
    return Both(b) < Both(a) ? Both(b) : Both(a);
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
inline std::common_type_t<A, B> max(A a, B b) {
  using Both = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<Both>)
    return std::fmax(Both(a), Both(b));
  else
    return Both(a) < Both(b) ? Both(b) : Both(a);
}
inline float rsqrtf(float x) { return static_cast<float>(1 / std::sqrt(double(x))); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return ::exp10f(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline float normcdff(float x) { return static_cast<float>(normcdf(x)); }
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}

// Bits.
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned int __float_as_uint(float x) { return std::bit_cast<unsigned int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __popc(unsigned int x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned int>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
  unsigned int y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1) << (31 - i);
  return y;
}
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>(((std::uint64_t{high} << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}

// Rounding to integers; what does not fit becomes the nearest that does, and NaN 0.
template <class Integer>
inline Integer kw_saturated(double x) {
  if (x != x) return 0;
  if (x <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
  if (x >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(x);
}
inline int __float2int_rn(float x) { return kw_saturated<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return kw_saturated<int>(std::trunc(x)); }
inline int __float2int_rd(float x) { return kw_saturated<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return kw_saturated<int>(std::ceil(x)); }
inline long long __float2ll_rn(float x) { return kw_saturated<long long>(std::nearbyint(x)); }
inline long long __double2ll_rn(double x) { return kw_saturated<long long>(std::nearbyint(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

// Loads and stores that say how long something is of use.
template <class T>
inline T __ldg(const T* from) {
  return *from;
}
template <class T>
inline T __ldca(const T* from) {
  return *from;
}
template <class T>
inline T __ldcg(const T* from) {
  return *from;
}
template <class T>
inline T __ldcs(const T* from) {
  return *from;
}
template <class T>
inline T __ldlu(const T* from) {
  return *from;
}
template <class T>
inline T __ldcv(const T* from) {
  return *from;
}
template <class T>
inline void __stwb(T* to, T value) {
  *to = value;
}
template <class T>
inline void __stcg(T* to, T value) {
  *to = value;
}
template <class T>
inline void __stcs(T* to, T value) {
  *to = value;
}
template <class T>
inline void __stwt(T* to, T value) {
  *to = value;
}

// One thread runs at a time, so that every access is atomic.
#define KW_ATOMIC(NAME, RESULT)                         \
  template <class T>                                    \
  inline T NAME(T* at, std::type_identity_t<T> value) { \
    const T old = *at;                                  \
    *at = RESULT;                                       \
    return old;                                         \
  }
KW_ATOMIC(atomicAdd, old + value)
KW_ATOMIC(atomicSub, old - value)
KW_ATOMIC(atomicExch, value)
KW_ATOMIC(atomicMin, value < old ? value : old)
KW_ATOMIC(atomicMax, old < value ? value : old)
KW_ATOMIC(atomicAnd, old& value)
KW_ATOMIC(atomicOr, old | value)
KW_ATOMIC(atomicXor, old ^ value)
KW_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
KW_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef KW_ATOMIC
template <class T>
inline T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
[[noreturn]] inline void __trap() { kw::emulated::Block::now().fail_here("the kernel trapped"); }

// Barriers and votes of a block.
inline void __syncthreads() { kw::emulated::Block::now().wait_at_barrier(); }
inline int __syncthreads_count(int predicate) {
  auto& block = kw::emulated::Block::now();
  if (block.voters++ == 0) block.votes = 0;
  block.votes += predicate != 0;
  block.wait_at_barrier();
  const int votes = block.votes;
  block.wait_at_barrier();  // no thread votes again before all have counted
  return votes;
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) > 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }

// A warp. Values of up to eight bytes.
inline unsigned int __activemask() { return kw::emulated::Block::now().lanes_alive(); }
inline void __syncwarp(unsigned int mask = ~0u) {
  std::uint64_t all[32];
  kw::emulated::Block::now().meet_warp(mask, 0, all);
}
inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
  std::uint64_t all[32] = {};
  auto& block = kw::emulated::Block::now();
  block.meet_warp(mask, predicate != 0, all);
  unsigned int votes = 0;
  const unsigned int counted = mask & block.lanes_there();
  for (int lane = 0; lane < 32; ++lane) votes |= (counted >> lane & 1 & static_cast<unsigned int>(all[lane])) << lane;
  return votes;
}
inline int __any_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

template <class T, class From>
inline T kw_shuffled(unsigned int mask, T value, From from) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a shuffle moves at most eight bytes");
  std::uint64_t word = 0, all[32] = {};
  std::memcpy(&word, &value, sizeof value);
  constexpr std::uint64_t kNothing = 0x7fd5d5d57fd5d5d5;  // what a lane has that has ended
  kw::emulated::Block::now().meet_warp(mask, word, all, kNothing);
  const int lane = from(kw::emulated::here.number % 32);
  std::memcpy(&value, &all[lane], sizeof value);
  return value;
}
template <class T>
inline T __shfl_sync(unsigned int mask, T value, int source, int width = 32) {
  return kw_shuffled(mask, value, [=](int lane) { return lane / width * width + (source & (width - 1)); });
}
template <class T>
inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
  return kw_shuffled(mask, value, [=](int lane) {
    return lane % width < static_cast<int>(delta) ? lane : lane - static_cast<int>(delta);
  });
}
template <class T>
inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
  return kw_shuffled(mask, value, [=](int lane) {
    return lane % width + static_cast<int>(delta) >= width ? lane : lane + static_cast<int>(delta);
  });
}
template <class T>
inline T __shfl_xor_sync(unsigned int mask, T value, int with, int width = 32) {
  return kw_shuffled(mask, value, [=](int lane) {
    const int other = lane ^ with;
    return other / width > lane / width ? lane : other;
  });
}
template <class T, class F>
inline T kw_reduced(unsigned int mask, T value, F join) {
  std::uint64_t word = 0, all[32] = {};
  std::memcpy(&word, &value, sizeof value);
  auto& block = kw::emulated::Block::now();
  block.meet_warp(mask, word, all);
  bool first = true;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask & block.lanes_there()) >> lane & 1) {
      T other;
      std::memcpy(&other, &all[lane], sizeof other);
      value = first ? other : join(value, other);
      first = false;
    }
  }
  return value;
}
template <class T>
inline T __reduce_add_sync(unsigned int mask, T value) {
  return kw_reduced(mask, value, [](T a, T b) { return a + b; });
}
template <class T>
inline T __reduce_min_sync(unsigned int mask, T value) {
  return kw_reduced(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <class T>
inline T __reduce_max_sync(unsigned int mask, T value) {
  return kw_reduced(mask, value, [](T a, T b) { return a < b ? b : a; });
}

// Instructions that kernelwright_cuda.h has names for.
namespace kw {

// A product of one k: TF32 numbers are the upper 19 bits, so that a float64 holds it, and sums go towards zero.
namespace emulated {

inline double tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
inline float towards_zero(double x) {
  const float near = static_cast<float>(x);
  return std::fabs(static_cast<double>(near)) > std::fabs(x) && std::isfinite(x) ? std::nextafterf(near, 0.0f) : near;
}

// What each lane of a warp brings, twice: a lane is at most one product ahead of those that still read.
template <std::size_t count>
const std::uint32_t (*of_all_lanes(const std::uint32_t (&own)[count]))[8] {
  static std::uint32_t brought[kMostThreads / kWarp][2][kWarp][8];
  static unsigned char turns[kMostThreads];
  const int number = here.number, turn = turns[number] ^= 1;
  std::uint64_t unused[kWarp];
  std::memcpy(brought[number / kWarp][turn][number % kWarp], own, sizeof own);
  Block::now().meet_warp(~0u, 0, unused);
  return brought[number / kWarp][turn];
}

// Copies of a thread that are under way. They are made as late as a GPU may make them, so that a wait that is missing
// shows.
struct Copy {
  void* to;
  const void* from;
  int bytes, valid;
  bool ends_group;
};
struct Copies {
  Copy list[512];
  int count = 0, groups = 0;

  void make_first() {
    const Copy one = list[0];
    if (one.bytes > 0) {
      std::memset(one.to, 0, static_cast<std::size_t>(one.bytes));
      std::memcpy(one.to, one.from, static_cast<std::size_t>(one.valid));
    }
    groups -= one.ends_group;
    std::memmove(list, list + 1, static_cast<std::size_t>(--count) * sizeof(Copy));
  }
  void add(Copy one) {
    if (count == static_cast<int>(std::size(list))) make_first();
    list[count++] = one;
    groups += one.ends_group;
  }
};
static Copies copies[kMostThreads];

}  // namespace emulated

template <int columns>
inline void wgmma_tf32(float (&d)[columns / 2], const std::uint32_t (&a)[4], const float* b, bool add) {
  const auto all = emulated::of_all_lanes(a);
  const int lane = emulated::here.number % 32;
  const auto offset = reinterpret_cast<const unsigned char*>(b) - emulated::dynamic_shared;
  if (offset % 32 != 0)
    emulated::Block::now().fail_here("a product of tensor cores reads from an address that is no multiple of 32");
  const auto* words = reinterpret_cast<const std::uint32_t*>(emulated::dynamic_shared);
  for (int i = 0; i < columns / 2; ++i) {
    const int row = lane / 4, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    double sum = add ? double(d[i]) : 0.0;
    for (int k = 0; k < 8; ++k) {
      auto at = static_cast<std::size_t>(offset + column * 128 + k * 4);
      at ^= at >> 3 & 0x70;  // as the address, the 16 bytes' place takes the line's last three bits
      sum += emulated::tf32(all[row * 4 + k % 4][i % 4 / 2 + k / 4 * 2]) * emulated::tf32(words[at / 4]);
    }
    d[i] = emulated::towards_zero(sum);
  }
}
namespace emulated {

// A number of an operand in shared memory as tensor cores find it: line `at` of 64 numbers, place `k` along k.
template <bool bfloat, bool along_k>
double half_at(const std::uint16_t* operand, int at, int k) {
  auto place = static_cast<std::size_t>(reinterpret_cast<const unsigned char*>(operand) - dynamic_shared);
  place += static_cast<std::size_t>(along_k ? at * 128 + k * 2 : at / 64 * 8192 + k * 128 + at % 64 * 2);
  place ^= place >> 3 & 0x70;
  std::uint16_t bits;
  std::memcpy(&bits, dynamic_shared + place, sizeof bits);
  if constexpr (bfloat) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                                       : std::numeric_limits<double>::infinity())
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 != 0 ? -size : size;
}

// The nearest number of so many bits of exponent and fraction, ties to even.
template <int exponent_bits, int fraction_bits>
std::uint16_t short_bits(float x) {
  constexpr int kLargest = (1 << exponent_bits) - 1, kLeast = 2 - (1 << (exponent_bits - 1)) - fraction_bits;
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  if (std::isnan(x)) return 0x7fff;
  const double size = std::fabs(static_cast<double>(x));
  if (size == 0) return sign;
  // In units of the last place.
  const int unit = std::max(std::isinf(size) ? 0 : std::ilogb(size) - fraction_bits, kLeast);
  const double units = std::nearbyint(std::ldexp(size, -unit));
  const double bits = units < (1 << fraction_bits) ? units : units + double(unit - kLeast) * (1 << fraction_bits);
  const double most = kLargest << fraction_bits;
  return static_cast<std::uint16_t>(sign | static_cast<int>(std::isinf(size) || bits > most ? most : bits));
}

}  // namespace emulated

template <int columns, bool bfloat, bool a_along_k, bool b_along_k>
inline void wgmma_half(float (&d)[columns / 2], const std::uint16_t* a, const std::uint16_t* b, bool add) {
  const int lane = emulated::here.number % 32, warp = emulated::here.number / 32 % 4;
  for (const std::uint16_t* operand : {a, b}) {
    const auto offset = reinterpret_cast<const unsigned char*>(operand) - emulated::dynamic_shared;
    if (offset % 32 != 0)
      emulated::Block::now().fail_here("a product of tensor cores reads from an address that is no multiple of 32");
  }
  for (int i = 0; i < columns / 2; ++i) {
    const int row = warp * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    double sum = add ? double(d[i]) : 0.0;
    for (int k = 0; k < 16; ++k)
      sum += emulated::half_at<bfloat, a_along_k>(a, row, k) * emulated::half_at<bfloat, b_along_k>(b, column, k);
    d[i] = emulated::towards_zero(sum);
  }
}
inline std::uint16_t float16_bits(float x) { return emulated::short_bits<5, 10>(x); }
inline std::uint16_t bfloat16_bits(float x) { return emulated::short_bits<8, 7>(x); }
inline void mma_fence() {}
inline void commit_mma() {}
template <int under_way>
inline void wait_mma() {}
template <int under_way, int count>
inline void wait_mma(float (&)[count]) {}
inline void shared_fence() {}

template <int bytes>
inline void copy_async(void* shared, const void* global, int valid = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "4, 8 or 16 bytes");
  if ((reinterpret_cast<std::uintptr_t>(shared) | reinterpret_cast<std::uintptr_t>(global)) % bytes != 0) {
    emulated::Block::now().fail_here("an asynchronous copy is not aligned to its size");
  }
  emulated::copies[emulated::here.number].add({shared, global, bytes, valid, false});
}
inline void commit_copies() { emulated::copies[emulated::here.number].add({nullptr, nullptr, 0, 0, true}); }
template <int under_way>
inline void wait_copies() {
  auto& own = emulated::copies[emulated::here.number];
  while (own.groups > under_way) own.make_first();
}

}  // namespace kw
inline std::uint64_t __cvta_generic_to_shared(const void* at) {
  return static_cast<std::uint64_t>(static_cast<const unsigned char*>(at) - kw::emulated::dynamic_shared);
}
