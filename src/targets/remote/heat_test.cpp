#include "targets/remote/heat.h"

#include <gtest/gtest.h>

#include <vector>

namespace kw::remote {
namespace {

using namespace std::chrono_literals;
using targets::Clock;

// A phone and a clock that are made up: it becomes `slower` times slower and hotter at a moment, and recovers so many
// seconds of rest later.
struct Phone {
  double slower = 1.3;
  double hot_after_s = 5;
  double rest_needed_s = 3;
  bool says_heat = true;
  bool answers = true;

  Clock::time_point time{};
  double rested_s = 0;
  int looks = 0;

  bool hot() const { return seconds() >= hot_after_s && rested_s < rest_needed_s; }
  double seconds() const { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

  Heat::World world() {
    return {.look = [this]() -> std::optional<Weather> {
              ++looks;
              if (!answers) return std::nullopt;
              Weather weather{.pace_ns = hot() ? 100'000 * slower : 100'000, .mhz = {}, .celsius = {}};
              if (says_heat) {
                weather.mhz = hot() ? 2400 / slower : 2400;
                weather.celsius = hot() ? 52 : 40;
              }
              return weather;
            },
            .now = [this] { return time; },
            .sleep =
                [this](Clock::duration most) {
                  time += most;
                  if (hot()) rested_s += std::chrono::duration<double>(most).count();
                }};
  }
  // As the judge times laps, each of 50 ms.
  void race(Heat& heat, double for_s) {
    for (const double until = seconds() + for_s; seconds() < until;) {
      heat.wait_until_cool();
      time += 50ms;
    }
  }
};

TEST(HeatOfADevice, IsWaitedForUntilItIsAsFastAsBefore) {
  Phone phone;
  Heat heat(phone.world());
  phone.race(heat, 20);
  const auto seen = heat.conditions();
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->pauses, 1);
  EXPECT_GE(seen->paused_s, 3);
  EXPECT_LE(seen->paused_s, 4);
  EXPECT_DOUBLE_EQ(seen->slowest, 1) << "no lap was timed while it was slow";
  EXPECT_EQ(seen->celsius_first, 40);
  EXPECT_EQ(seen->celsius_most, 52);
  EXPECT_NEAR(*seen->mhz_least, 2400 / 1.3, 1);
}

TEST(HeatOfADevice, IsNotWaitedForForever) {
  Phone phone{.rest_needed_s = 1e9};
  Heat heat(phone.world());
  phone.race(heat, 60);
  EXPECT_LE(heat.conditions()->paused_s, 20);
  EXPECT_NEAR(heat.conditions()->slowest, 1.3, 0.01) << "and the verdict says how slow it was";
}

TEST(HeatOfADevice, IsWaitedForBrieflyWhereNothingExplainsIt) {
  Phone phone{.slower = 1.5, .rest_needed_s = 1e9, .says_heat = false};
  Heat heat(phone.world());
  phone.race(heat, 60);
  EXPECT_GT(heat.conditions()->paused_s, 0);
  EXPECT_LE(heat.conditions()->paused_s, 2);
}

TEST(HeatOfADevice, IsLookedForOnceASecond) {
  Phone phone{.hot_after_s = 1e9};
  Heat heat(phone.world());
  phone.race(heat, 10);
  EXPECT_LE(phone.looks, 11);
  EXPECT_EQ(heat.conditions()->pauses, 0);
}

TEST(HeatOfADevice, IsNotTakenFromNoiseAlone) {
  Phone phone{.slower = 1.15, .says_heat = false};
  Heat heat(phone.world());
  phone.race(heat, 20);
  EXPECT_EQ(heat.conditions()->pauses, 0) << "others may use the core";
  EXPECT_NEAR(heat.conditions()->slowest, 1.15, 0.01);
}

TEST(HeatOfADevice, IsNotKnownOfOneThatDoesNotAnswer) {
  Phone phone{.answers = false};
  Heat heat(phone.world());
  phone.race(heat, 3);
  EXPECT_FALSE(heat.conditions().has_value());
}

TEST(HeatOfADevice, IsReadAsAgentsSayIt) {
  const auto weather = weather_said(
      Said("pace_ns 41000\nfrequency 1804800\ntemperature cpu-0 45200\ntemperature cpu-1 47\ntemperature odd -1\n"));
  ASSERT_TRUE(weather.has_value());
  EXPECT_EQ(weather->pace_ns, 41000);
  EXPECT_EQ(weather->mhz, 1804.8);
  EXPECT_EQ(weather->celsius, 47);
  for (const char* pace : {"", "pace_ns nan\n", "pace_ns 0\n", "pace_ns 1e300\n", "pace_ns 5x\n"}) {
    EXPECT_FALSE(weather_said(Said(pace)).has_value()) << pace;
  }
  EXPECT_FALSE(weather_said(Said("pace_ns 5\nfrequency inf\n"))->mhz.has_value());
}

}  // namespace
}  // namespace kw::remote
