#include "targets/cpu/about.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kw::cpu {
namespace {

TEST(FlagsOfKernels, AreThoseThatChooseHowCodeIsMade) {
  const BuildOptions options = build_options();
  for (const char* fine : {"-O2", "-fno-math-errno", "-mno-avx", "-std=c++20", "-DTILE=4", "--param=a=1"}) {
    EXPECT_TRUE(options.check_flag(fine).ok()) << fine;
  }
  for (const char* harmful : {"-fplugin=evil.so", "-o", "/etc/passwd", "-Wl,-rpath,/", "-DKW_EXPORT=", "-f@file"}) {
    EXPECT_FALSE(options.check_flag(harmful).ok()) << harmful;
  }
}

TEST(AboutTheCpu, SaysTheRoofsAsRows) {
  const auto figure = [](double best, double spread) { return Figure{.best = best, .spread = spread}; };
  Roofs roofs{.measured_at = "2026-01-31T12:00:00Z", .fma_gflops = figure(98, 0.01)};
  roofs.levels.push_back({.name = "L1",
                          .size_bytes = 32768,
                          .read_gbps = figure(200, 0.2),
                          .write_gbps = figure(100, 0),
                          .copy_gbps = figure(150, 0),
                          .triad_gbps = figure(160, 0)});
  const targets::RoofTable table = roof_table(roofs);
  ASSERT_EQ(table.roofs.size(), 5u);
  EXPECT_EQ(table.roofs[0].text(), "L1 read: 200.0 GB/s");
  EXPECT_EQ(table.roofs[0].holds_bytes, 32768u);
  EXPECT_FALSE(table.roofs[0].stable);
  EXPECT_FALSE(table.stable());
  EXPECT_EQ(table.roofs[4].text(), "float32 multiply-adds: 98.0 GFLOP/s");
  EXPECT_EQ(table.roofs[4].kind, targets::Roof::Kind::arithmetic);
}

TEST(AboutTheCpu, KeepsItsIdentityWhenOnlyMemoryIsTakenAway) {
  CpuFacts facts{.model = "A Processor", .logical_cores = 2, .usable_cores = 2, .vector = {"avx2", 256}};
  const std::string before = device_facts(facts).identity;
  facts.memory_available_bytes = 1;
  facts.usable_cores = 1;
  EXPECT_EQ(device_facts(facts).identity, before);
  facts.model = "Another";
  EXPECT_NE(device_facts(facts).identity, before);
}

TEST(AboutTheCpu, ClaimsNoLeastTimeForSeveralThreads) { EXPECT_FALSE(least_time({.flops = 1}, 2).ok()); }

}  // namespace
}  // namespace kw::cpu
