#include "targets/cpu/host/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace kw::host {
namespace {

constexpr std::size_t kStack = std::size_t{1} << 20;

struct Tally {
  std::vector<std::atomic<int>> times;
  explicit Tally(std::size_t count) : times(count) {}
  static void add(void* tally, std::int32_t index) {
    ++static_cast<Tally*>(tally)->times[static_cast<std::size_t>(index)];
  }
  bool each_once() const {
    return std::ranges::all_of(times, [](const std::atomic<int>& one) { return one == 1; });
  }
};

TEST(Pool, DoesEveryPieceOnceInManyShortTurns) {
  Pool pool;
  ASSERT_TRUE(pool.start(3, kStack));
  EXPECT_EQ(pool.threads(), 3);
  for (int turn = 0; turn < 2000; ++turn) {
    Tally tally(static_cast<std::size_t>(turn % 17));
    pool.run(turn % 17, Tally::add, &tally);
    ASSERT_TRUE(tally.each_once()) << "in turn " << turn;
  }
}

TEST(Pool, WakesThreadsThatSleep) {
  Pool pool;
  ASSERT_TRUE(pool.start(2, kStack));
  pool.sleep();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pool.wake();
  // Neither of two pieces ends before the other one has begun: one thread alone would wait for ever.
  std::atomic<int> begun{0};
  pool.run(
      2,
      [](void* data, std::int32_t) {
        auto& count = *static_cast<std::atomic<int>*>(data);
        ++count;
        while (count < 2) std::this_thread::yield();
      },
      &begun);
  EXPECT_EQ(begun, 2);
}

TEST(Pool, HandsOutPiecesInTheOrderThatItIsTold) {
  Pool pool;
  ASSERT_TRUE(pool.start(1, kStack));
  const auto order_of = [&](Pool::Order order) {
    pool.hand_out(order);
    std::vector<int> seen;
    pool.run(
        4, [](void* data, std::int32_t index) { static_cast<std::vector<int>*>(data)->push_back(index); }, &seen);
    return seen;
  };
  EXPECT_EQ(order_of(Pool::Order::upwards), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(order_of(Pool::Order::downwards), (std::vector<int>{3, 2, 1, 0}));
}

TEST(Pool, GivesAllPiecesToTheCallerWhereToldTo) {
  Pool pool;
  ASSERT_TRUE(pool.start(3, kStack));
  pool.hand_out(Pool::Order::all_to_the_caller);
  const auto caller = std::this_thread::get_id();
  struct Seen {
    std::thread::id caller;
    int by_others = 0, count = 0;
  } seen{caller};
  pool.run(
      1000,
      [](void* data, std::int32_t) {
        auto& met = *static_cast<Seen*>(data);
        met.by_others += std::this_thread::get_id() != met.caller;
        ++met.count;
      },
      &seen);
  EXPECT_EQ(seen.by_others, 0);
  EXPECT_EQ(seen.count, 1000);
}

TEST(Pool, WithoutFurtherThreadsTheCallerDoesAll) {
  Pool pool;
  EXPECT_TRUE(pool.start(1, kStack));
  Tally tally(5);
  pool.run(5, Tally::add, &tally);
  EXPECT_TRUE(tally.each_once());
}

TEST(Pool, CallsWhatIsDoneBeforeAndAfterATurnInItsOwnThreads) {
  static std::atomic<int> before, after;
  before = after = 0;
  {
    Pool pool([] { ++before; }, [] { ++after; });
    ASSERT_TRUE(pool.start(2, kStack));
    std::atomic<int> begun{0};
    pool.run(
        2,
        [](void* data, std::int32_t) {
          auto& count = *static_cast<std::atomic<int>*>(data);
          ++count;
          while (count < 2) std::this_thread::yield();
        },
        &begun);
  }
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 1);
}

}  // namespace
}  // namespace kw::host
