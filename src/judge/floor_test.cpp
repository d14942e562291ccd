#include "judge/floor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace kw::judge {
namespace {

// Sixteen sessions, each building and timing in turns. What a moment shows is counted by all who are on the floor.
struct Seen {
  std::atomic<int> building = 0, timing = 0, most_building = 0, changes = 0;
  std::atomic<bool> together = false, last_timed = false;
};

void keep_most(std::atomic<int>& most, int now) {
  for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
  }
}

void play(Floor& floor, Seen& seen) {
  std::vector<std::jthread> sessions;
  for (int i = 0; i < 16; ++i) {
    sessions.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        {
          const Beside others(&floor);
          keep_most(seen.most_building, ++seen.building);
          if (seen.timing > 0) seen.together = true;
          if (seen.last_timed.exchange(false)) ++seen.changes;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          --seen.building;
        }
        const Alone alone(&floor);
        if (++seen.timing > 1 || seen.building > 0) seen.together = true;
        seen.last_timed = true;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        --seen.timing;
      }
    });
  }
}

TEST(Floor, NobodyIsBesideWhoTimes) {
  Floor floor(3);
  Seen seen;
  play(floor, seen);
  EXPECT_FALSE(seen.together);
  EXPECT_LE(seen.most_building, 3);
}

TEST(Floor, AGroupTimesInOneGo) {
  Floor floor(2, 8);
  Seen seen;
  play(floor, seen);
  EXPECT_FALSE(seen.together);
  // 320 timings in groups of about eight; one by one there would be hundreds of changes.
  EXPECT_LT(seen.changes, 100);
}

TEST(Floor, WhoTimesDoesNotWaitForAGroupThatDoesNotCome) {
  Floor floor(2, 8);
  { const Alone alone(&floor); }  // no other thread is there
  std::atomic<bool> stop = false, timed = false;
  // Others build for ever and never time: a thread that wants to time still gets there.
  std::vector<std::jthread> builders;
  for (int i = 0; i < 4; ++i) {
    builders.emplace_back([&] {
      while (!stop) {
        const Beside others(&floor);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  std::jthread timer([&] {
    floor.enter_alone();
    timed = true;
    floor.leave_alone();
  });
  for (int i = 0; i < 2000 && !timed; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(timed);
  stop = true;
}

}  // namespace
}  // namespace kw::judge
