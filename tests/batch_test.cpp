// A batch of candidates on a device that is made up (tests/targets/made_up).
#include "judge/batch.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "suites/catalog.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;

// The device says three. None goes on before the third has begun, so that fewer would be seen; and each that begins
// is seen with its thread, so that more would be.
TEST(ABatch, InspectsAsManyAtOnceAsItsDeviceSays) {
  auto judge = Judge::open("made_up");
  ASSERT_TRUE(judge.ok()) << judge.error().message;
  Task task = *suites::find_task("Relu");
  for (auto& [name, value] : task.lengths) value = 8;
  const std::vector<Case> cases(
      9, {.device = "made_up", .task = &task, .source = {"kernel.txt", "lap_ns 10000"}, .timed = false});
  std::mutex lock;
  std::condition_variable changed;
  std::set<std::thread::id> threads;
  int accepted = 0;
  judge_batch(
      *judge, cases,
      [&](std::size_t, const Result<Verdict>& verdict) { accepted += verdict.ok() && verdict->accepted(); },
      [&](std::size_t, const char* doing) {
        EXPECT_STREQ(doing, "building and examining");
        std::unique_lock guard(lock);
        threads.insert(std::this_thread::get_id());
        changed.notify_all();
        EXPECT_TRUE(changed.wait_for(guard, 20s, [&] { return threads.size() >= 3; }));
      });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(accepted, 9);
}

}  // namespace
}  // namespace kw::judge
