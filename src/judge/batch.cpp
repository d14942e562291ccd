#include "judge/batch.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace kw::judge {
namespace {

// Candidates in a group: enough to keep the cores busy while the last one is examined, few enough for early results.
constexpr std::size_t kHandfulPerCore = 16;

Error gone(Judge& judge) { return fail("{} went away", judge.device().name()); }

// Inspects cases [begin, end), as many at once as the device says; `inspected` is called from the calling thread as
// they finish.
void inspect_all(Judge& judge, const std::vector<Case>& cases, Examinations& known, std::size_t begin, std::size_t end,
                 const std::function<void(std::size_t, Result<Inspected>)>& inspected, const Begin& begin_one) {
  std::atomic<std::size_t> next = begin;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::pair<std::size_t, Result<Inspected>>> finished;
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < std::min(judge.device().builds_at_once(), end - begin); ++i) {
    workers.emplace_back([&] {
      for (std::size_t index; (index = next.fetch_add(1)) < end;) {
        Result<Inspected> one = gone(judge);
        if (known[index]) {
          one = *std::exchange(known[index], std::nullopt);
        } else if (judge.device().alive()) {
          begin_one(index, "building and examining");
          one = judge.inspect(cases[index]);
        }
        const std::lock_guard guard(lock);
        finished.emplace_back(index, std::move(one));
        changed.notify_one();
      }
    });
  }
  for (std::size_t done = begin; done < end; ++done) {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return !finished.empty(); });
    auto [index, one] = std::move(finished.front());
    finished.pop_front();
    guard.unlock();
    inspected(index, std::move(one));
  }
}

}  // namespace

void judge_batch(Judge& judge, const std::vector<Case>& cases, const Report& report, const Begin& begin_one,
                 Examinations* examinations) {
  Examinations none(examinations == nullptr ? cases.size() : 0);
  Examinations& known = examinations == nullptr ? none : *examinations;
  const std::size_t handful = kHandfulPerCore * judge.device().builds_at_once();
  for (std::size_t begin = 0; begin < cases.size(); begin += handful) {
    std::vector<std::pair<std::size_t, Inspected>> to_time;
    inspect_all(
        judge, cases, known, begin, std::min(begin + handful, cases.size()),
        [&](std::size_t index, Result<Inspected> one) {
          if (!one.ok()) {
            report(index, one.error());
          } else if (!one->verdict.accepted() || !cases[index].timed) {
            report(index, one->verdict);
          } else {
            to_time.emplace_back(index, *std::move(one));
          }
        },
        begin_one);
    for (auto& [index, one] : to_time) {
      Result<Verdict> verdict = gone(judge);
      if (judge.device().alive()) {
        begin_one(index, "timing");
        verdict = judge.time(cases[index], one);
      }
      if (!judge.device().alive()) known[index] = std::move(one);
      report(index, verdict);
    }
  }
}

}  // namespace kw::judge
