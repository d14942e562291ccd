#include "core/half.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Half, EveryNumberComesBackAsItself) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(to_double(half))) {
      ASSERT_EQ(half_from(to_double(half)).bits, bits);
    }
    const Brain brain{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(to_double(brain))) {
      ASSERT_EQ(brain_from(to_double(brain)).bits, bits);
    }
  }
}

}  // namespace
}  // namespace kw
