#pragma once

#include "../plain/common.cuh"

// Typical inputs as kw draws them (Random::fill_normal and Drawn::fill in src), each element by itself and with the
// same bits. Built with --fmad=false: every operation is rounded, as on the CPU.
struct Drawn {
  uint64_t key;
  int64_t uniform;     // else normal
  double first, last;  // the range, or mean and deviation
  double low, high;    // normal ones are reflected into this range
};
// Where the layers of the ziggurat method end (src/base/ziggurat.h).
struct Layers {
  double ends[257];
};

#ifdef __CUDACC__
// splitmix64, from the state of Random(seed) on.
struct DrawnBits {
  uint64_t state;
  __device__ explicit DrawnBits(uint64_t seed) : state(seed + 2 * kStep) {}
  __device__ uint64_t next() { return mixed(state += kStep); }
  __device__ double unit() { return double(next() >> 11) * 0x1p-53; }
  // Word i of Random(seed).
  static __device__ uint64_t word(uint64_t seed, uint64_t i) { return mixed(seed + (i + 3) * kStep); }

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
  static __device__ uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
};

__device__ inline double drawn_exponential(double x) {
  const double power = floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - power * 0.6931471805599453;
  double sum = 1;
  for (int i = 14; i > 0; --i) sum = 1 + rest / i * sum;
  return sum * __longlong_as_double((long long)(uint64_t(int64_t(power) + 1023) << 52));
}
__device__ inline double drawn_logarithm(double x) {
  const uint64_t bits = uint64_t(__double_as_longlong(x));
  double power = double(int64_t(bits >> 52) - 1023);
  double part = __longlong_as_double((long long)((bits & 0xfffffffffffff) | 0x3ff0000000000000));
  if (part > 1.4142135623730951) {
    part = part * 0.5;
    power = power + 1;
  }
  const double ratio = (part - 1) / (part + 1), square = ratio * ratio;
  double sum = 0;
  for (int i = 23; i > 0; i -= 2) sum = sum * square + 1.0 / i;
  return power * 0.6931471805599453 + 2 * ratio * sum;
}

// A draw that its layer does not take at once: itself, one of the tail, or another one.
__device__ inline double drawn_at_rim(const double* ends, DrawnBits& bits, int layer, double x) {
  for (;;) {
    if (layer == 0) {
      for (;;) {
        const double beyond = -drawn_logarithm(1 - bits.unit()) / ends[1];
        if (-2 * drawn_logarithm(1 - bits.unit()) > beyond * beyond) return copysign(ends[1] + beyond, x);
      }
    }
    const double low = drawn_exponential(-0.5 * ends[layer] * ends[layer]);
    const double high = drawn_exponential(-0.5 * ends[layer + 1] * ends[layer + 1]);
    if (low + bits.unit() * (high - low) < drawn_exponential(-0.5 * x * x)) return x;
    const uint64_t word = bits.next();
    layer = int(word % 256);
    x = double(int64_t(word) >> 11) * 0x1p-52 * ends[layer];
    if (fabs(x) < ends[layer + 1]) return x;
  }
}

__device__ inline double reflected(double value, double low, double high) {
  if (value >= low && value <= high) return value;
  const bool no_low = low == -infinity(), no_high = high == infinity();
  if (no_low && no_high) return value;
  if (no_high) return low + (low - value);
  if (no_low) return high - (value - high);
  if (high == low) return low;
  const double width = high - low;
  double offset = fmod(fabs(value - low), 2 * width);
  if (offset > width) offset = 2 * width - offset;
  return low + offset;
}

__device__ inline float drawn_at(const Drawn& of, const double* ends, int64_t i) {
  const uint64_t word = DrawnBits::word(of.key, uint64_t(i) / 2);
  const uint32_t half = uint32_t(i % 2 == 0 ? word : word >> 32);
  if (of.uniform != 0) {
    const float value = float(of.first + (of.last - of.first) * 0x1p-32 * (double(half) + 0.5));
    const float high = float(of.last);
    if (value < high) return value;
    // The neighbour of the end, which is not drawn.
    return high == 0 ? float(-0x1p-149) : __int_as_float(__float_as_int(high) + (high > 0 ? -1 : 1));
  }
  const int layer = int(half % 256);
  const float x = (float(int32_t(half) >> 8) + 0.5f) * float(ends[layer] * 0x1p-23);
  float value = x;
  if (!(fabsf(x) < float(ends[layer + 1]))) {
    DrawnBits bits(i % 2 == 0 ? word : ~word);
    value = float(drawn_at_rim(ends, bits, layer, double(x)));
  }
  value = float(of.first) + float(of.last) * value;
  return float(reflected(double(value), of.low, of.high));
}
#endif
