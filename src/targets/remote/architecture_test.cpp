#include "targets/remote/architecture.h"

#include <gtest/gtest.h>

namespace kw::remote {
namespace {

Architecture aarch64() { return *architecture_named("aarch64"); }

// As a Cortex-A76 with smaller cores beside it says it.
TEST(DeviceArchitecture, BuildsForWhatTheProcessorHas) {
  const Said said(
      "machine aarch64\nhwcap 1155067\nhwcap2 0\ncore 0 0x00000000412fd050 1800000 400\n"
      "core 7 0x00000000413fd0b0 2400000 1024\nbest_core 7\n");
  EXPECT_EQ(flags_for(aarch64(), said),
            (std::vector<std::string>{"-march=armv8.2-a+fp16+dotprod", "-mtune=cortex-a76"}));
  EXPECT_EQ(vectors_of(aarch64(), said), "NEON, fp16, dotprod");
  EXPECT_EQ(core_name("0x00000000412fd050"), "Cortex-A55");
  EXPECT_EQ(core_name("0x00000000612fd050"), "") << "another maker's";
}

TEST(DeviceArchitecture, TakesTheLeastWhereNothingIsSaid) {
  EXPECT_EQ(flags_for(aarch64(), Said()), (std::vector<std::string>{"-march=armv8-a"}));
  EXPECT_EQ(flags_for(*architecture_named("x86_64"), Said("level x86-64-v3; rm\n")).size(), 1u);
  const auto unknown = architecture_named("vax");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("aarch64, armv7, riscv64, x86_64"), std::string::npos);
}

// As a Cortex-A9, a Cortex-A15 and a Cortex-A53 with a system of 32 bits say it.
TEST(DeviceArchitecture, BuildsForProcessorsOf32Bits) {
  const Architecture arm = *architecture_named("armv7l");
  EXPECT_EQ(arm.name, "armv7");
  EXPECT_EQ(architecture_named("armv8l")->name, "armv7");
  const auto flags = [&](const char* said) { return flags_for(arm, Said(said)).at(0); };
  EXPECT_EQ(flags("hwcap 0\n"), "-march=armv7-a+fp");
  EXPECT_EQ(flags("hwcap 13527\n"), "-march=armv7-a+simd");
  EXPECT_EQ(flags("hwcap 996567\n"), "-march=armv7ve+simd");
  EXPECT_EQ(flags("hwcap 4174038\nhwcap2 31\n"), "-march=armv8-a+crc+simd");
  EXPECT_EQ(vectors_of(arm, Said("hwcap 996567\n")), "NEON, VFPv4");
}

}  // namespace
}  // namespace kw::remote
