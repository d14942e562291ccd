// How precise and how fast are the functions of kernels/cpu/parts/math_*.h? For each the largest error over floats of
// all sizes and signs in units in the last place of the exact result, the argument where it is, how many infinities,
// NaNs and zeros differ from the C library's, and the time an element takes when everything is in the nearest cache.
//
//   kw_vector_math_bench [STEP]    every STEP-th of the 2^32 floats; 1009 unless said otherwise
#include <kernelwright.h>

#include <bit>
#include <chrono>
#include <cstdio>

#include "parts/math_arc.h"
#include "parts/math_area.h"
#include "parts/math_erf.h"
#include "parts/math_exp.h"
#include "parts/math_hyperbolic.h"
#include "parts/math_log.h"
#include "parts/math_pow.h"
#include "parts/math_trig.h"

namespace {

using simd::Floats;
using simd::kLanes;

struct Worst {
  double ulps = 0;
  float at = 0;
  long long wrong_ends = 0;  // a result that is infinite, NaN or zero, or should be, and is another
  float wrong_at = 0;
};

double last_place_of(double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0, exponent - 23);
}

void compare(float got, double exact, float x, Worst& worst) {
  const float nearest = static_cast<float>(exact);
  const auto is_end = [](float value) { return !std::isfinite(value) || value == 0; };
  if (is_end(got) || is_end(nearest)) {
    const bool both_nan = std::isnan(got) && std::isnan(nearest);
    if (both_nan || std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(nearest)) return;
    if (std::isnan(got) || std::isnan(nearest) || got == nearest) {
      ++worst.wrong_ends;
      worst.wrong_at = x;
      return;
    }
  }
  const double bounded = std::isinf(got) ? std::copysign(0x1p128, got) : static_cast<double>(got);
  const double ulps = std::fabs(bounded - exact) / last_place_of(std::isfinite(nearest) ? exact : 0x1p127);
  if (ulps > worst.ulps) worst = {ulps, x, worst.wrong_ends, worst.wrong_at};
}

Floats all_lanes(float x) {
  Floats all{};
  for (int i = 0; i < kLanes; ++i) all[i] = x;  // a sum with 0 would lose the sign of -0
  return all;
}

template <class F>
double time_per_element_ns(F f, float low, float high) {
  constexpr int kCount = 2048, kRounds = 200;
  alignas(64) static float from[kCount], to[kCount];
  for (int i = 0; i < kCount; ++i) from[i] = low + (high - low) * static_cast<float>(i * 769 % kCount) / kCount;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCount; i += kLanes) simd::store(to + i, f(simd::load(from + i)));
    asm volatile("" : : "r"(to) : "memory");
    best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return best / kCount;
}

void print(const char* name, const Worst& worst, double time_ns) {
  std::printf("%-9s %8.2f  at %-15.9g %8lld", name, worst.ulps, static_cast<double>(worst.at), worst.wrong_ends);
  if (worst.wrong_ends > 0) std::printf(" (%.9g)", static_cast<double>(worst.wrong_at));
  std::printf("  %8.3f\n", time_ns);
}

// Every step-th float; times are taken on low..high.
template <class F>
void examine(const char* name, F f, double (*exact)(double), uint32_t step, float low, float high) {
  Worst worst;
  for (uint64_t first = 0; first < uint64_t{1} << 32;) {
    float x[kLanes], y[kLanes];
    for (float& lane : x) {
      lane = std::bit_cast<float>(static_cast<uint32_t>(first));
      first += step;
    }
    simd::store(y, f(simd::load(x)));
    for (int i = 0; i < kLanes; ++i) compare(y[i], exact(x[i]), x[i], worst);
  }
  const float ends[] = {0.0f,      -0.0f, 1.0f,    -1.0f,     0.5f,    -0.5f,    INFINITY, -INFINITY, NAN,
                        0x1p-149f, 89.0f, -104.0f, 0x1p-126f, 3.4e38f, -3.4e38f, 1e-30f,   9.0f,      -9.0f};
  for (float x : ends) compare(f(all_lanes(x))[0], exact(x), x, worst);
  print(name, worst, time_per_element_ns(f, low, high));
}

void examine_pow(uint32_t step) {
  Worst worst;
  uint64_t state = 1;
  const auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  };
  const auto examine_one = [&](float x, float y) {
    compare(simd::pow(all_lanes(x), all_lanes(y))[0], std::pow(static_cast<double>(x), static_cast<double>(y)), x,
            worst);
  };
  for (uint64_t i = 0; i < (uint64_t{1} << 32) / step; ++i) {
    const float x = std::bit_cast<float>(random());
    // Exponents that keep the result in range, and any.
    const float reach = 88 / std::log(std::fabs(x)) * static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
    const float small = 1 + static_cast<float>(static_cast<int32_t>(random())) * 0x1p-32f;
    examine_one(std::fabs(x), reach);
    examine_one(small, static_cast<float>(static_cast<int32_t>(random())) * 0x1p-24f);
    examine_one(x, std::bit_cast<float>(random()));
    examine_one(x, static_cast<float>(static_cast<int32_t>(random()) >> 24));
  }
  const float ends[] = {0.0f,  -0.0f, 1.0f, -1.0f, 0.5f,  -0.5f,    2.0f,      -2.0f,    3.0f,
                        -3.0f, 1e10f, NAN,  2.5f,  1e30f, INFINITY, -INFINITY, 0x1p-149f};
  for (float x : ends) {
    for (float y : ends) examine_one(x, y);
  }
  print("pow", worst, time_per_element_ns([](Floats x) { return simd::pow(x, x); }, 0.1f, 4));
}

}  // namespace

int main(int count, char** arguments) {
  const auto step = static_cast<uint32_t>(count > 1 ? std::max(1, std::atoi(arguments[1])) : 1009);
  std::printf("function   max ulps                     wrong ends  ns/element\n");
#define EXAMINE(NAME, LOW, HIGH) \
  examine(                       \
      #NAME, [](Floats x) { return simd::NAME(x); }, static_cast<double (*)(double)>(std::NAME), step, LOW, HIGH)
  EXAMINE(exp, -5, 5);
  EXAMINE(expm1, -5, 5);
  EXAMINE(log, 0.1f, 1.1f);
  EXAMINE(log1p, -0.5f, 5);
  EXAMINE(sinh, -5, 5);
  EXAMINE(cosh, -5, 5);
  EXAMINE(tanh, -5, 5);
  EXAMINE(asinh, -5, 5);
  EXAMINE(acosh, 1, 2);
  EXAMINE(atanh, -0.9f, 0.9f);
  EXAMINE(sin, -4, 4);
  EXAMINE(cos, -4, 4);
  EXAMINE(tan, -4, 4);
  EXAMINE(asin, -1, 1);
  EXAMINE(acos, -1, 1);
  EXAMINE(atan, -1, 1);
  EXAMINE(erf, -3, 3);
#undef EXAMINE
  examine(
      "sigmoid", [](Floats x) { return simd::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, step, -5,
      5);
  examine_pow(step);
}
