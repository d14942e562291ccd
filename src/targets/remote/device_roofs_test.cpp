#include "targets/remote/device_roofs.h"

#include <gtest/gtest.h>

#include <string>

namespace kw::remote {
namespace {

std::string lines_with(const std::string& fma, const std::string& first) {
  std::string text = "fma " + fma + "\n";
  for (int level = 0; level < 2; ++level) {
    for (int pattern = 0; pattern < 4; ++pattern) {
      const std::string values = level + pattern == 0 ? first : "10 11 12";
      text += "level " + std::to_string(level) + " " + std::to_string(pattern) + " " + values + "\n";
    }
  }
  return text;
}

TEST(RoofsOfADevice, AreReadAsTheAgentWritesThem) {
  const auto rounds = rounds_said(Said(lines_with("8.5 9.25", "40 41 39")), 2);
  ASSERT_TRUE(rounds.ok()) << rounds.error().message;
  EXPECT_EQ(rounds->fma_gflops, (std::vector<double>{8.5, 9.25}));
  EXPECT_EQ(rounds->levels[0].gbps[0], (std::vector<double>{40, 41, 39}));
  EXPECT_EQ(rounds->levels[1].gbps[3], (std::vector<double>{10, 11, 12}));
}

TEST(RoofsOfADevice, AreNoneWhereAnAnswerMakesNoSense) {
  for (const char* value : {"nan", "-1", "0", "1e999", "x", "", "4 y"}) {
    EXPECT_FALSE(rounds_said(Said(lines_with(value, "40")), 2).ok()) << value;
    EXPECT_FALSE(rounds_said(Said(lines_with("8", value)), 2).ok()) << value;
  }
  EXPECT_FALSE(rounds_said(Said(lines_with("8", "40")), 3).ok()) << "a level is missing";
  EXPECT_FALSE(rounds_said(Said(lines_with("8", "40")), 1).ok()) << "a level too many";
  EXPECT_FALSE(rounds_said(Said(lines_with("8", "40") + "level 0 0 7\n"), 2).ok()) << "said twice";
}

TEST(RoofsOfADevice, AreOfItsOwnCaches) {
  const Said said(
      "machine aarch64\nmemory_bytes 4000000000\ncore 0 - - 1\ncore 1 - - 1\ncache 2 Unified 512K\ncache 1 Data 64K\n"
      "cache 1 Instruction 64K\ncache 3 Unified 2M\ncache 9 Unified 1M\ncache 1 Data nothing\n");
  const cpu::CpuFacts facts = facts_for_roofs("adb", said);
  EXPECT_EQ(facts.logical_cores, 2);
  const auto levels = cpu::levels_to_measure(facts, std::uint64_t{256} << 20);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[0].size_bytes, 64u << 10);
  EXPECT_EQ(levels[1].name, "L2");
  EXPECT_EQ(levels[3].name, "memory");
}

TEST(RoofsOfADevice, OfAnEmulatorClaimNoLeastTime) {
  const auto least = least_time("emulated:aarch64", {.flops = 1e9}, 1);
  ASSERT_FALSE(least.ok());
  EXPECT_NE(least.error().message.find("no speed is claimed"), std::string::npos) << least.error().message;
}

}  // namespace
}  // namespace kw::remote
