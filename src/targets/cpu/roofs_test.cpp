#include "targets/cpu/roofs.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace kw::cpu {
namespace {

LevelRoof level(const std::string& name, std::uint64_t size_bytes, double gbps) {
  return {.name = name,
          .size_bytes = size_bytes,
          .read_gbps = {.best = gbps, .runs = {gbps}},
          .write_gbps = {.best = gbps / 2, .runs = {gbps / 2}},
          .copy_gbps = {.best = gbps / 2, .runs = {gbps / 2}},
          .triad_gbps = {.best = gbps / 2, .runs = {gbps / 2}}};
}

// 100 GFLOP/s; 200 GB/s from a 1000-byte L1, 20 from memory.
Roofs small_machine() {
  return {.measured_at = "2026-01-31T12:00:00Z",
          .fma_gflops = {.best = 100, .runs = {100}},
          .levels = {level("L1", 1000, 200), level("memory", 0, 20)}};
}

TEST(FigureOfRounds, IsTheBestAndItsSpreadThatOfTheThirds) {
  const Figure figure = figure_of_rounds({98, 50, 100, 60, 99, 70});
  EXPECT_EQ(figure.best, 100);
  EXPECT_NEAR(figure.spread, 0.02, 1e-12);
  EXPECT_TRUE(figure.stable());
}

TEST(FigureOfRounds, IsNotStableWhereOneRoundStandsAlone) {
  EXPECT_FALSE(figure_of_rounds({100, 90, 90, 90, 90, 90}).stable());
}

TEST(JoinedFigures, KeepTheBestAndTellWhatMoved) {
  const Figure quiet = figure_of_rounds({100, 100, 100});
  const Figure disturbed = figure_of_rounds({80, 80, 80});
  EXPECT_TRUE(disturbed.stable());
  const Figure both = joined(disturbed, quiet);
  EXPECT_EQ(both.best, 100);
  EXPECT_NEAR(both.spread, 0.2, 1e-12);
  EXPECT_FALSE(both.stable());
}

TEST(JoinedFigures, ForgetWhatLiesTenRunsBack) {
  Figure figure = figure_of_rounds({100});
  for (int run = 0; run < 10; ++run) figure = joined(figure_of_rounds({80}), figure);
  EXPECT_EQ(figure.runs.size(), 10u);
  EXPECT_EQ(figure.best, 80);
  EXPECT_TRUE(figure.stable());
}

TEST(LeastTime, IsThatOfTheScarcerOfArithmeticAndBytes) {
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {.flops = 1000, .read_bytes = 400}), 10);
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {.flops = 10, .read_bytes = 400}), 2);
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {}), 0);
}

TEST(LeastTime, TakesTheSmallestLevelThatHoldsTheWorkingSet) {
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {.read_bytes = 1000}), 5);
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {.read_bytes = 2000}), 100);
}

TEST(LeastTime, KnowsThatWritingIsSlower) {
  // 200 GB/s are read, 100 written.
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {.read_bytes = 800, .written_bytes = 200}), 5);
  EXPECT_DOUBLE_EQ(least_time_ns(small_machine(), {.read_bytes = 200, .written_bytes = 800}), 8);
}

TEST(LevelRoof, ReadsAndWritesAsFastAsTheFastestPatternDoes) {
  LevelRoof roof = level("memory", 0, 20);
  EXPECT_DOUBLE_EQ(roof.best_read_gbps(), 20);
  EXPECT_DOUBLE_EQ(roof.best_write_gbps(), 10);
  roof.triad_gbps.best = 36;  // 24 read, 12 written
  EXPECT_DOUBLE_EQ(roof.best_read_gbps(), 24);
  EXPECT_DOUBLE_EQ(roof.best_write_gbps(), 12);
}

TEST(MeasureRoofs, GivesEveryFigureOfEveryLevel) {
  CpuFacts facts = read_cpu_facts();
  facts.caches = {{.level = 1, .kind = "data", .size_bytes = 32 << 10, .shared_by = 1},
                  {.level = 1, .kind = "instruction", .size_bytes = 64 << 10, .shared_by = 1},
                  {.level = 2, .kind = "unified", .size_bytes = 1 << 20, .shared_by = 1}};
  const Result<Roofs> roofs =
      measure_roofs(facts, {.rounds = 2, .timing_ns = 10'000, .most_memory_bytes = std::uint64_t{8} << 20});
  ASSERT_TRUE(roofs.ok());
  EXPECT_GT(roofs->fma_gflops.best, 0);
  ASSERT_EQ(roofs->levels.size(), 3u);
  EXPECT_EQ(roofs->levels[0].working_set_bytes, 16u << 10);
  EXPECT_EQ(roofs->levels[1].working_set_bytes, 256u << 10) << "eight times the level below";
  EXPECT_EQ(roofs->levels[2].name, "memory");
  EXPECT_EQ(roofs->levels[2].size_bytes, 0u);
  for (const LevelRoof& measured : roofs->levels) {
    for (const Pattern pattern : kPatterns) EXPECT_GT(measured.of(pattern).best, 0) << measured.name;
  }
}

TEST(MeasureRoofs, MeasuresMemoryAloneWhereNoCacheIsKnown) {
  CpuFacts facts = read_cpu_facts();
  facts.caches.clear();
  const Result<Roofs> roofs =
      measure_roofs(facts, {.rounds = 1, .timing_ns = 10'000, .most_memory_bytes = std::uint64_t{1} << 20});
  ASSERT_TRUE(roofs.ok());
  ASSERT_EQ(roofs->levels.size(), 1u);
  EXPECT_GT(least_time_ns(*roofs, {1, 1, 1}), 0);
}

TEST(MeasureRoofs, LeavesTheProcessOnTheCoresItHad) {
  cpu_set_t before, after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(measure_roofs(read_cpu_facts(), {.rounds = 1, .timing_ns = 1, .most_memory_bytes = 1 << 20}).ok());
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace kw::cpu
