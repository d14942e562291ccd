#include "lm/row_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "core/half.h"

namespace kw::lm {
namespace {

// A matrix of random values of a type: halves of moderate numbers, blocks of any bits with moderate scales.
std::vector<std::byte> drawn_matrix(StoredType type, std::int64_t rows, std::int64_t columns) {
  std::mt19937_64 random(static_cast<std::uint64_t>(columns) + 7);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<std::byte> bytes;
  const auto put = [&](auto value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  };
  const TypeFacts facts = facts_of(type);
  for (std::int64_t i = 0; i < rows * columns / facts.block_elements; ++i) {
    if (type == StoredType::f32) put(static_cast<float>(number(random)));
    if (type == StoredType::f16) put(half_from(number(random)).bits);
    if (type == StoredType::bf16) put(brain_from(number(random)).bits);
    if (facts.block_elements == 1) continue;
    put(half_from(number(random) / 16).bits);
    if (type == StoredType::q4_1) put(half_from(number(random)).bits);
    while (std::ssize(bytes) % facts.block_bytes != 0) put(static_cast<std::uint8_t>(random()));
  }
  return bytes;
}

class StoredAs : public testing::TestWithParam<StoredType> {};

TEST_P(StoredAs, EveryWayGivesTheSumOfTheReadersValues) {
  const TypeFacts facts = facts_of(GetParam());
  const auto ways = row_product_ways(GetParam());
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways.back().name, "plain");
  for (const std::int64_t rows : {1, 4, 7}) {
    for (std::int64_t columns : {1, 15, 16, 64, 103}) {
      columns *= facts.block_elements;
      const auto bytes = drawn_matrix(GetParam(), rows, columns);
      constexpr std::int64_t kVectors = 7;  // more than any tile takes at once, and some are left
      const std::int64_t step = rows + 1;
      std::vector<float> values(static_cast<std::size_t>(rows * columns)),
          x(static_cast<std::size_t>(kVectors * columns));
      ASSERT_TRUE(to_floats({.type = GetParam(), .shape = {rows, columns}, .bytes = bytes}, values).ok());
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) + 0.25f;
      for (const RowProductWay& way : ways) {
        for (std::int64_t count = 1; count <= kVectors; ++count) {
          std::vector<float> y(static_cast<std::size_t>(count * step), -77);
          way.products({bytes.data(), rows, columns}, {.x = x.data(), .count = count, .y = y.data(), .step = step});
          for (std::int64_t k = 0; k < count; ++k) {
            for (std::int64_t row = 0; row < rows; ++row) {
              double sum = 0, size = 0;
              for (std::int64_t i = 0; i < columns; ++i) {
                const double term = static_cast<double>(values[static_cast<std::size_t>(row * columns + i)]) *
                                    x[static_cast<std::size_t>(k * columns + i)];
                sum += term;
                size += std::abs(term);
              }
              ASSERT_NEAR(y[static_cast<std::size_t>(k * step + row)], sum, size * 2e-5 + 1e-6)
                  << way.name << " " << rows << "x" << columns << " vector " << k << " of " << count;
            }
            EXPECT_EQ(y[static_cast<std::size_t>(k * step + rows)], -77) << way.name;  // nothing past the rows
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StoredAs,
                         testing::Values(StoredType::f32, StoredType::f16, StoredType::bf16, StoredType::q4_0,
                                         StoredType::q4_1, StoredType::q8_0),
                         [](const auto& type) { return facts_of(type.param).name; });

TEST(RowProducts, LeavesOtherTypesToTheReader) { EXPECT_TRUE(row_product_ways(StoredType::q6_k).empty()); }

TEST(RowProducts, MixesRowsByTheirShares) {
  for (const RowProductWay& way : row_product_ways(StoredType::f32)) {
    for (const std::int64_t columns : {3, 16, 64, 171}) {
      std::vector<float> rows(static_cast<std::size_t>(3 * columns));
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i));
      const std::vector<float> shares = {0.5f, 0.25f, 2};
      std::vector<float> y(static_cast<std::size_t>(columns) + 1, -77);
      way.mix(rows.data(), 3, columns, shares.data(), y.data());
      for (std::size_t i = 0; i + 1 < y.size(); ++i) {
        const auto width = static_cast<std::size_t>(columns);
        EXPECT_NEAR(y[i], 0.5f * rows[i] + 0.25f * rows[width + i] + 2 * rows[2 * width + i], 1e-6) << way.name;
      }
      EXPECT_EQ(y.back(), -77) << way.name;
    }
  }
}

TEST(RowProducts, RaisesEToPowers) {
  for (const RowProductWay& way : row_product_ways(StoredType::f32)) {
    std::vector<float> values;
    for (float x = -80; x < 80; x += 0.037f) values.push_back(x);
    std::vector<float> made = values;
    made.push_back(-77);
    way.exponentials(made.data(), std::ssize(values), 1.5f, 0.5f);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float power = (values[i] - 1.5f) * 0.5f;  // rounded as it is there
      const double expected = std::exp(static_cast<double>(power));
      ASSERT_NEAR(made[i], expected, 4e-7 * expected) << way.name << " " << values[i];
    }
    EXPECT_EQ(made.back(), -77) << way.name;
    std::vector<float> far = {-1000, 1000, std::nanf(""), 0};
    way.exponentials(far.data(), std::ssize(far), 0, 1);
    EXPECT_LT(far[0], 1e-37f) << way.name;
    EXPECT_GT(far[1], 1e38f) << way.name;
    EXPECT_TRUE(std::isnan(far[2])) << way.name;
    EXPECT_EQ(far[3], 1) << way.name;
  }
}

}  // namespace
}  // namespace kw::lm
