#include "lm/token_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "lm/row_products.h"

namespace kw::lm {
namespace {

// Tens of thousands of exponentials a pass: one by one they took a tenth of its time.
const RowProductWay& way() {
  static const RowProductWay best = row_product_ways(StoredType::f32).front();
  return best;
}

}  // namespace

void normalise(const float* x, std::span<const float> weight, double epsilon, float* y) {
  double squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) squares += static_cast<double>(x[i]) * x[i];
  const auto scale = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(weight.size()) + epsilon));
  for (std::size_t i = 0; i < weight.size(); ++i) y[i] = x[i] * scale * weight[i];
}

void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines) {
  const std::size_t half = head.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const float low = head[i], high = head[i + half];
    head[i] = low * cosines[i] - high * sines[i];
    head[i + half] = high * cosines[i] + low * sines[i];
  }
}

void become_shares(std::span<float> scores, float scale) {
  const float most = *std::ranges::max_element(scores);
  way().exponentials(scores.data(), std::ssize(scores), most, scale);
  float sum = 0;
  for (const float score : scores) sum += score;
  for (float& score : scores) score /= sum;
}

void apply_gate(std::span<float> gate, std::span<const float> up) {
  constexpr std::size_t kAtOnce = 256;
  std::array<float, kAtOnce> powers = {};
  for (std::size_t begin = 0; begin < gate.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, gate.size() - begin);
    std::copy_n(gate.begin() + static_cast<std::ptrdiff_t>(begin), count, powers.begin());
    way().exponentials(powers.data(), static_cast<std::int64_t>(count), 0, -1);
    for (std::size_t i = 0; i < count; ++i) gate[begin + i] = gate[begin + i] / (1 + powers[i]) * up[begin + i];
  }
}

}  // namespace kw::lm
