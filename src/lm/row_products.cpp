#include "lm/row_products.h"

#include <bit>
#include <cmath>

#include "core/half.h"
#include "lm/row_products_tiles.h"

namespace kw::lm {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// One float at a time, on every processor.
struct One {
  using Register = float;
  static constexpr int count = 1, vectors = 4;

  static float everywhere(float value) { return value; }
  static float add(float a, float b) { return a + b; }
  static float multiply(float a, float b) { return a * b; }
  static float multiply_add(float a, float b, float c) { return a * b + c; }
  static void store(float value, float* to) { *to = value; }

  static float floats(const std::byte* from) { return load<float>(from); }
  static float halves(const std::byte* from) { return static_cast<float>(to_double(Half{load<std::uint16_t>(from)})); }
  static float brains(const std::byte* from) {
    return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from)} << 16);
  }
  static float half_everywhere(const std::byte* from) { return halves(from); }
  static float bytes(const std::byte* from) { return static_cast<float>(load<std::int8_t>(from)); }
  static float low_fours(const std::byte* from) { return static_cast<float>(load<std::uint8_t>(from) & 15); }
  static float high_fours(const std::byte* from) { return static_cast<float>(load<std::uint8_t>(from) >> 4); }

  static float sum(float value) { return value; }
  static void store_sums(float a, float b, float c, float d, float* to) { to[0] = a, to[1] = b, to[2] = c, to[3] = d; }
};

void plain_exponentials(float* values, std::int64_t count, float from, float scale) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = std::exp((values[i] - from) * scale);
}

}  // namespace

std::vector<RowProductWay> row_product_ways(StoredType type) {
  std::vector<RowProductWay> ways;
  const auto add = [&](RowProductWay way) {
    if (way.products != nullptr) ways.push_back(std::move(way));
  };
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) add(avx512_row_products(type));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add(avx2_row_products(type));
#endif
  add({"plain", tiles::products_of<One>(type), tiles::mix_rows<One>, plain_exponentials});
  return ways;
}

}  // namespace kw::lm
