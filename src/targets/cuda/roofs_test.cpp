#include "targets/cuda/roofs.h"

#include <gtest/gtest.h>

namespace kw::cuda {
namespace {

using targets::Roof;

targets::RoofTable made_up_roofs() {
  targets::RoofTable table{.measured_at = "2026-11-19T00:00:00Z", .scope = "the whole GPU"};
  const auto add = [&](Roof::Kind kind, const char* of, const char* what, double best, std::uint64_t holds = 0) {
    table.roofs.push_back({.kind = kind, .of = of, .what = what, .best = best, .unit = "GB/s", .holds_bytes = holds});
  };
  add(Roof::Kind::moving, "L2", "copy", 10'000, 50 << 20);
  add(Roof::Kind::moving, "memory", "read", 4'000);
  add(Roof::Kind::moving, "memory", "write", 3'000);
  add(Roof::Kind::moving, "memory", "copy", 4'200);
  add(Roof::Kind::arithmetic, "float32 multiply-adds", "", 60'000);
  add(Roof::Kind::arithmetic, "tensor cores", "tf32", 390'000);
  add(Roof::Kind::arithmetic, "tensor cores", "bfloat16", 790'000);
  return table;
}

TEST(GpuRoofs, LeastTimeOfProductsCountsThreeOfTf32) {
  const auto least = least_time(made_up_roofs(), {.flops = 130e9, .read_bytes = 1e6, .written_bytes = 1e6});
  EXPECT_DOUBLE_EQ(least.arithmetic_ns, 130e9 / 130'000);
  EXPECT_FALSE(least.by_moving());
}

TEST(GpuRoofs, WhatFitsIntoTheCacheNeedNotReachMemory) {
  EXPECT_DOUBLE_EQ(least_time(made_up_roofs(), {.read_bytes = 4e6, .written_bytes = 4e6}).moving_ns, 1000);
  EXPECT_DOUBLE_EQ(least_time(made_up_roofs(), {.read_bytes = 4.2e9, .written_bytes = 4.2e9}).moving_ns, 2e6);
  EXPECT_DOUBLE_EQ(least_time(made_up_roofs(), {.read_bytes = 0, .written_bytes = 3e9}).moving_ns, 1e6);
}

TEST(GpuRoofs, AreReadAsTheyWereWritten) {
  const auto table = roofs_in(text_of(made_up_roofs()));
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(text_of(*table), text_of(made_up_roofs()));
  EXPECT_FALSE(roofs_in("{}").ok());
  EXPECT_FALSE(roofs_in("[1").ok());
}

TEST(GpuRoofs, AreUnknownWhereNothingMeasuredThem) {
  const auto known = known_roofs("cuda:7");
  ASSERT_FALSE(known.ok());
  EXPECT_NE(known.error().message.find("kw doctor --on cuda:7"), std::string::npos) << known.error().message;
}

}  // namespace
}  // namespace kw::cuda
