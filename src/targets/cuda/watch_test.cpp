#include "targets/cuda/watch.h"

#include <gtest/gtest.h>

namespace kw::cuda {
namespace {

TEST(GpuWatch, TellsWhatWasSeenWhileKernelsWereTimed) {
  std::optional<Conditions> seen;
  unsigned long long reasons = 0;
  note({.mhz = 1980, .celsius = 41, .reasons = 0x1}, seen, reasons);
  EXPECT_EQ(seen->slowed_by, std::vector<std::string>());
  EXPECT_EQ(seen->slowest, 1);
  note({.mhz = 1320, .celsius = 67, .reasons = 0x4 | 0x20 | 0x40}, seen, reasons);
  note({.mhz = 1980, .celsius = 60, .reasons = 0}, seen, reasons);
  EXPECT_EQ(seen->mhz_least, 1320);
  EXPECT_EQ(seen->mhz_most, 1980);
  EXPECT_EQ(seen->celsius_first, 41);
  EXPECT_EQ(seen->celsius_most, 67);
  EXPECT_EQ(seen->slowest, 1.5);
  EXPECT_EQ(seen->slowed_by, (std::vector<std::string>{"power cap", "heat"}));
  EXPECT_NE(text_of(*seen).find("slowed by heat"), std::string::npos);
}

TEST(GpuWatch, IsNotThereWithoutAGpu) { EXPECT_EQ(GpuWatch::open(""), nullptr); }

}  // namespace
}  // namespace kw::cuda
