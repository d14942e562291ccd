#include "lm/token_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kw::lm {

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
  float sum = 0;
  for (float& score : scores) sum += score = std::exp((score - most) * scale);
  for (float& score : scores) score /= sum;
}

void apply_gate(std::span<float> gate, std::span<const float> up) {
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

}  // namespace kw::lm
