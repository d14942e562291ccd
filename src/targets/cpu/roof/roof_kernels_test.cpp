#include "targets/cpu/roof/roof_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw::cpu {
namespace {

constexpr std::size_t kFloats = 3 * kWalkBlockBytes / sizeof(float);

struct Arrays {
  alignas(64) float a[kFloats];
  alignas(64) float b[kFloats];
  alignas(64) float c[kFloats];
  alignas(64) float beyond[16];
};

Arrays filled_arrays() {
  Arrays arrays = {};
  for (std::size_t i = 0; i < kFloats; ++i) {
    arrays.a[i] = -1;
    arrays.b[i] = static_cast<float>(i);
    arrays.c[i] = static_cast<float>(2 * i + 2);
  }
  return arrays;
}

float expected(Pattern pattern, const Arrays& before, std::size_t i) {
  switch (pattern) {
    case Pattern::read:
      return before.a[i];
    case Pattern::write:
      return 1;
    case Pattern::copy:
      return before.b[i];
    case Pattern::triad:
      break;
  }
  return before.b[i] + 0.5f * before.c[i];
}

TEST(RoofKernels, EveryWalkDoesAllOfItsWorkAndNoMore) {
  for (const RoofKernels& kernels : roof_kernels()) {
    for (const PatternWalk& way : kernels.walks) {
      const Arrays before = filled_arrays();
      Arrays after = before;
      way.walk(reinterpret_cast<std::byte*>(after.a), reinterpret_cast<std::byte*>(after.b),
               reinterpret_cast<std::byte*>(after.c), sizeof after.a, 2);
      for (std::size_t i = 0; i < kFloats; ++i) ASSERT_EQ(after.a[i], expected(way.pattern, before, i)) << i;
      EXPECT_TRUE(std::ranges::equal(after.b, before.b));
      EXPECT_TRUE(std::ranges::equal(after.c, before.c));
      EXPECT_TRUE(std::ranges::equal(after.beyond, before.beyond));
    }
  }
}

TEST(RoofKernels, EveryMachineHasAWalkForEveryPattern) {
  ASSERT_FALSE(roof_kernels().empty());
  for (const RoofKernels& kernels : roof_kernels()) {
    for (const Pattern pattern : kPatterns)
      EXPECT_TRUE(std::ranges::count(kernels.walks, pattern, &PatternWalk::pattern) > 0);
  }
}

}  // namespace
}  // namespace kw::cpu
