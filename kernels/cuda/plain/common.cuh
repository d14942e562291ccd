// What every plain CUDA kernel uses: an input as its plan knows it, and arithmetic in the widest type.
#pragma once

#include <kernelwright_cuda.h>

#ifdef __CUDACC__
// float16 and bfloat16 without CUDA's headers: 1 bit of sign, so many of exponent and of mantissa. Numbers are rounded
// to the nearest, of two to the even one.
template <int exponent_bits, int mantissa_bits>
struct ShortFloat {
  uint16_t bits;

  ShortFloat() = default;
  template <class Number>
  __device__ ShortFloat(Number number) : bits(rounded(double(number))) {}
  __device__ operator float() const {
    const uint64_t mantissa = bits & ((1 << mantissa_bits) - 1), exponent = bits >> mantissa_bits & kLargest;
    const uint64_t sign = uint64_t(bits >> 15) << 63;
    if (exponent == 0) {
      const double tiny = __longlong_as_double((long long)(uint64_t(1024 - kBias - mantissa_bits) << 52));
      return float(sign != 0 ? -double(mantissa) * tiny : double(mantissa) * tiny);
    }
    const uint64_t wide = exponent == kLargest ? 2047 : exponent - kBias + 1023;
    return float(__longlong_as_double((long long)(sign | wide << 52 | mantissa << (52 - mantissa_bits))));
  }

 private:
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1, kLargest = (1 << exponent_bits) - 1;

  static __device__ uint16_t rounded(double number) {
    const uint64_t all = uint64_t(__double_as_longlong(number)), mantissa = all & ((uint64_t(1) << 52) - 1);
    const uint16_t sign = uint16_t(all >> 63 << 15);
    const int exponent = int(all >> 52 & 2047) - 1023;
    if (exponent == 1024 && mantissa != 0) return uint16_t(sign | kLargest << mantissa_bits | 1 << (mantissa_bits - 1));
    if (exponent > kBias) return uint16_t(sign | kLargest << mantissa_bits);
    if (exponent < -kBias - mantissa_bits) return sign;
    // Below the normal numbers the leading one is a digit like the others.
    const bool normal = exponent >= 1 - kBias;
    const uint64_t digits = normal ? mantissa : mantissa | uint64_t(1) << 52;
    const int cut = 52 - mantissa_bits + (normal ? 0 : 1 - kBias - exponent);
    const uint64_t kept = (normal ? uint64_t(exponent + kBias) << mantissa_bits : 0) + (digits >> cut);
    const uint64_t rest = digits & ((uint64_t(1) << cut) - 1), half = uint64_t(1) << (cut - 1);
    return uint16_t(sign | (kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0)));
  }
};
using Float16 = ShortFloat<5, 10>;
using BFloat16 = ShortFloat<8, 7>;

// Sums and functions of float types are computed in double, of integers in 64 bits.
template <class T>
struct WideOf {
  using type = int64_t;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <int exponent_bits, int mantissa_bits>
struct WideOf<ShortFloat<exponent_bits, mantissa_bits>> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <>
struct WideOf<uint64_t> {
  using type = uint64_t;
};
template <class T>
using Wide = typename WideOf<T>::type;

__device__ inline double infinity() { return __longlong_as_double(0x7ff0000000000000); }
#else
struct Given {
  kw::Shape shape;
  const void* data = nullptr;  // of a small constant
  int dtype = 0;
  bool there = false;

  // Element i of a small constant of integers.
  int64_t integer(int64_t i) const {
    return dtype == KW_INT32 ? static_cast<const int32_t*>(data)[i] : static_cast<const int64_t*>(data)[i];
  }
  // And of one of any numbers that name lengths or scales.
  double number(int64_t i) const {
    if (dtype == KW_FLOAT32) return double(static_cast<const float*>(data)[i]);
    if (dtype == KW_FLOAT64) return static_cast<const double*>(data)[i];
    return double(integer(i));
  }
};
inline Given given_by(const kw::PlanTensor& x) { return {x.shape(), x.data<void>(), x.dtype(), true}; }

inline int from_front(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }
#endif

// Element i of a result comes from element at(i) of an operand: where lengths are repeated the stride is 0.
struct Strided {
  int64_t rank;
  int64_t lengths[8];  // of the result
  int64_t strides[8];
  int64_t offset;
#ifdef __CUDACC__
  __device__ int64_t at(int64_t i) const {
    int64_t from = offset;
    for (int64_t axis = rank - 1; axis >= 0; --axis) {
      from += i % lengths[axis] * strides[axis];
      i /= lengths[axis];
    }
    return from;
  }
#endif
};

#ifndef __CUDACC__
inline kw::Shape broadcast(const kw::Shape& a, const kw::Shape& b) {
  kw::Shape both = a.rank >= b.rank ? a : b;
  const kw::Shape& other = a.rank >= b.rank ? b : a;
  for (int i = 1; i <= other.rank; ++i) {
    if (both[-i] == 1) both[-i] = other[-i];
  }
  return both;
}

inline Strided broadcast_to(const kw::Shape& from, const kw::Shape& to) {
  Strided view{to.rank, {}, {}, 0};
  int64_t step = 1;
  for (int i = 1; i <= to.rank; ++i) {
    view.lengths[to.rank - i] = to[-i];
    view.strides[to.rank - i] = i <= from.rank && from[-i] != 1 ? step : 0;
    if (i <= from.rank) step *= from[-i];
  }
  return view;
}
#endif
