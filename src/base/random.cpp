#include "base/random.h"

#include <array>

namespace kw {
namespace {

constexpr int kLayers = 256;
constexpr double kTail = 3.6541528853610088;      // where the lowest layer ends and the tail begins
constexpr double kArea = 0.00492867323397465524;  // of every layer

double density(double x) { return std::exp(-0.5 * x * x); }

// The right ends of the layers: all have the same area under the bell curve, the lowest includes the tail.
std::array<double, kLayers + 1> layer_ends() {
  std::array<double, kLayers + 1> ends{};
  ends[0] = kArea / density(kTail);
  ends[1] = kTail;
  for (std::size_t i = 1; i < kLayers - 1; ++i)
    ends[i + 1] = std::sqrt(-2 * std::log(kArea / ends[i] + density(ends[i])));
  ends[kLayers] = 0;
  return ends;
}

const std::array<double, kLayers + 1> kEnds = layer_ends();

}  // namespace

// The ziggurat method: nearly always one multiplication and one comparison.
double Random::normal() {
  while (true) {
    const std::uint64_t word = bits();
    const std::size_t layer = word % kLayers;
    const double signed_unit = static_cast<double>(static_cast<std::int64_t>(word) >> 11) * 0x1p-52;
    const double x = signed_unit * kEnds[layer];
    if (std::fabs(x) < kEnds[layer + 1]) return x;
    if (layer == 0) return std::copysign(normal_beyond(kTail), x);
    const double low = density(kEnds[layer]);
    const double high = density(kEnds[layer + 1]);
    if (low + unit() * (high - low) < density(x)) return x;
  }
}

// A copy that nobody else sees draws: its state stays in a register.
void Random::fill_normal(std::span<float> values, double mean, double deviation) {
  Random own = *this;
  for (float& value : values) value = static_cast<float>(mean + deviation * own.normal());
  *this = own;
}

double Random::normal_beyond(double start) {
  while (true) {
    const double beyond = -std::log(1 - unit()) / start;
    if (-2 * std::log(1 - unit()) > beyond * beyond) return start + beyond;
  }
}

}  // namespace kw
