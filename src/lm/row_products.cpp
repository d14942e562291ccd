#include "lm/row_products.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "core/half.h"

namespace kw::lm {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float value_at(const std::byte* element, float) { return load<float>(element); }
float value_at(const std::byte* element, Half) {
  return static_cast<float>(to_double(Half{load<std::uint16_t>(element)}));
}
float value_at(const std::byte* element, Brain) {
  return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(element)} << 16);
}

template <class Element>
void plain_products(const std::byte* first, std::int64_t rows, std::int64_t columns, const float* x, float* y) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::int64_t i = 0; i < columns; ++i, first += sizeof(Element)) sum += value_at(first, Element{}) * x[i];
    y[row] = sum;
  }
}

// Blocks become floats by the one reader that there is of them.
template <StoredType type>
void plain_block_products(const std::byte* first, std::int64_t rows, std::int64_t columns, const float* x, float* y) {
  const TypeFacts facts = facts_of(type);
  std::vector<float> values(static_cast<std::size_t>(columns));
  const std::int64_t row_bytes = columns / facts.block_elements * facts.block_bytes;
  for (std::int64_t row = 0; row < rows; ++row, first += row_bytes) {
    const Status read =
        to_floats({.type = type, .shape = {1, columns}, .bytes = {first, static_cast<std::size_t>(row_bytes)}}, values);
    assert(read.ok());  // these types hold real numbers
    plain_products<float>(reinterpret_cast<const std::byte*>(values.data()), 1, columns, x, y + row);
  }
}

RowProducts plain_row_products(StoredType type) {
  switch (type) {
    case StoredType::f32:
      return plain_products<float>;
    case StoredType::f16:
      return plain_products<Half>;
    case StoredType::bf16:
      return plain_products<Brain>;
    case StoredType::q4_0:
      return plain_block_products<StoredType::q4_0>;
    case StoredType::q4_1:
      return plain_block_products<StoredType::q4_1>;
    case StoredType::q8_0:
      return plain_block_products<StoredType::q8_0>;
    default:
      return nullptr;
  }
}

}  // namespace

std::vector<RowProductWay> row_product_ways(StoredType type) {
  std::vector<RowProductWay> ways;
  const auto add = [&](const char* name, RowProducts products) {
    if (products != nullptr) ways.push_back({name, products});
  };
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) add("avx512", avx512_row_products(type));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add("avx2", avx2_row_products(type));
#endif
  add("plain", plain_row_products(type));
  return ways;
}

void mix_rows(const float* rows, std::int64_t count, std::int64_t columns, const float* shares, float* y) {
  std::fill_n(y, columns, 0.0f);
  for (std::int64_t row = 0; row < count; ++row, rows += columns) {
    for (std::int64_t i = 0; i < columns; ++i) y[i] += shares[row] * rows[i];
  }
}

}  // namespace kw::lm
