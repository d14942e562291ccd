#include "targets/cpu/patience.h"

#include <gtest/gtest.h>

namespace kw::cpu {
namespace {

using namespace std::chrono_literals;

TEST(Patience, EndsWhenTheProgramHadItsTime) {
  Patience alone(20s);
  EXPECT_EQ(alone.next(), 20s);
  EXPECT_FALSE(alone.lasts(19.8));
}

TEST(Patience, LastsWhileOthersHaveTheProcessor) {
  Patience busy(20s);
  EXPECT_TRUE(busy.lasts(2));
  EXPECT_EQ(busy.next(), 40s);
  EXPECT_TRUE(busy.lasts(4));
  EXPECT_FALSE(busy.lasts(15.5));
}

TEST(Patience, EndsAtOnceForAProgramThatOnlyWaits) {
  Patience idle(20s);
  EXPECT_FALSE(idle.lasts(0.01));
}

TEST(Patience, HasAnEnd) {
  Patience slow(20s);
  int looks = 1;
  for (double cpu_s = 1; slow.lasts(cpu_s); cpu_s += 1) ++looks;
  EXPECT_EQ(looks, 6);
}

}  // namespace
}  // namespace kw::cpu
