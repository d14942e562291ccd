#include "base/random.h"

#include <array>
#include <bit>

#include "base/ziggurat.h"

namespace kw {
namespace {

constexpr int kLayers = kZigguratLayers;
constexpr double kTail = 3.6541528853610088;      // where the lowest layer ends and the tail begins
constexpr double kArea = 0.00492867323397465524;  // of every layer

double density(double x) { return std::exp(-0.5 * x * x); }

// What decides at a layer's rim and in the tail uses multiplications, additions and divisions alone, in this order, so
// that kernels/cuda/judge/drawn.cuh draws the same bits on a GPU. Of a number between -700 and 0, to 1e-15.
double exponential(double x) {
  const double power = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - power * 0.6931471805599453;
  double sum = 1;
  for (int i = 14; i > 0; --i) sum = 1 + rest / i * sum;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(power) + 1023) << 52);
}

// Of a normal number above zero, to 1e-15.
double logarithm(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto power = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  auto part = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (part > 1.4142135623730951) {
    part = part * 0.5;
    power = power + 1;
  }
  const double ratio = (part - 1) / (part + 1), square = ratio * ratio;
  double sum = 0;
  for (int i = 23; i > 0; i -= 2) sum = sum * square + 1.0 / i;
  return power * 0.6931471805599453 + 2 * ratio * sum;
}

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
// For 24 bits with their sign: the layer's end a unit, and where the next layer ends.
const std::array<float, kLayers> kFloatEnds = [] {
  std::array<float, kLayers> ends{};
  for (std::size_t i = 0; i < kLayers; ++i) ends[i] = static_cast<float>(kEnds[i] * 0x1p-23);
  return ends;
}();
const std::array<float, kLayers> kFloatInner = [] {
  std::array<float, kLayers> ends{};
  for (std::size_t i = 0; i < kLayers; ++i) ends[i] = static_cast<float>(kEnds[i + 1]);
  return ends;
}();

}  // namespace

std::span<const double, kZigguratLayers + 1> ziggurat_ends() { return kEnds; }

// The ziggurat method: nearly always one multiplication and one comparison.
double Random::normal() {
  const std::uint64_t word = bits();
  const std::size_t layer = word % kLayers;
  const double signed_unit = static_cast<double>(static_cast<std::int64_t>(word) >> 11) * 0x1p-52;
  const double x = signed_unit * kEnds[layer];
  return std::fabs(x) < kEnds[layer + 1] ? x : rim(layer, x);
}

// Half a word is enough for a float: a layer, a sign and 23 bits. What the layer does not take at once is drawn as a
// double, which keeps the share of the layers' rims and of the tail; from numbers that follow from the word alone, so
// that each element can be drawn without those before it.
void Random::fill_normal(std::span<float> values, double mean, double deviation) {
  Random own = *this;  // a local copy: its state stays in a register
  const auto center = static_cast<float>(mean), scale = static_cast<float>(deviation);
  const auto put = [&](float& value, std::uint32_t half, std::uint64_t seed) {
    const std::size_t layer = half % kLayers;
    const float x = (static_cast<float>(static_cast<std::int32_t>(half) >> 8) + 0.5f) * kFloatEnds[layer];  // never 0
    value = std::fabs(x) < kFloatInner[layer] ? x : static_cast<float>(Random(seed).rim(layer, x));
    value = center + scale * value;
  };
  std::size_t i = 0;
  for (; i + 2 <= values.size(); i += 2) {
    const std::uint64_t word = own.bits();
    put(values[i], static_cast<std::uint32_t>(word), word);
    put(values[i + 1], static_cast<std::uint32_t>(word >> 32), ~word);
  }
  if (i < values.size()) {
    const std::uint64_t word = own.bits();
    put(values[i], static_cast<std::uint32_t>(word), word);
  }
  *this = own;
}

double Random::rim(std::size_t layer, double x) {
  if (layer == 0) return std::copysign(normal_beyond(kTail), x);
  const double low = exponential(-0.5 * kEnds[layer] * kEnds[layer]);
  const double high = exponential(-0.5 * kEnds[layer + 1] * kEnds[layer + 1]);
  return low + unit() * (high - low) < exponential(-0.5 * x * x) ? x : normal();
}

double Random::normal_beyond(double start) {
  while (true) {
    const double beyond = -logarithm(1 - unit()) / start;
    if (-2 * logarithm(1 - unit()) > beyond * beyond) return start + beyond;
  }
}

}  // namespace kw
