// The judge of a program, and what to do when its sandbox is killed or the link to its device breaks.
//
// A process that was killed from outside says nothing of the candidate (core/verdict.h), and a warden that was killed
// takes all with it that it holds; so does a link. Everything that judges goes through here: candidates are judged
// again, with a new judge where the old one is gone, until the answer is about the candidate or it happened too often.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "base/result.h"
#include "judge/batch.h"
#include "judge/judge.h"

namespace kw::runs {

// How often a judge may be lost in a row, without anything judged between them.
inline constexpr int kMostLostJudges = 3;
// The same where a link to a device broke, which happens more easily. Pauses between tries grow up to the longest.
inline constexpr int kMostLostLinks = 12;
inline constexpr std::chrono::milliseconds kLongestPause{10'000};

// Judges of one device that were lost in a row.
class Losses {
 public:
  explicit Losses(const std::string& device);

  void forget() { count_ = 0; }  // something was judged
  // One more is lost; false: too often.
  bool may_go_on() { return ++count_ < most_; }
  // Before the next one is opened: none after the first loss, and none where there is no link.
  std::chrono::milliseconds pause() const;

 private:
  int most_;
  int count_ = 0;
};

// May be used from several threads.
class Judges {
 public:
  using Wait = std::function<void(std::chrono::milliseconds)>;

  // Of a device; `before_opening` is called each time. `wait` sleeps; tests have another clock.
  explicit Judges(
      std::string device = targets::usual_device(), std::function<void()> before_opening = {},
      Wait wait = [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); })
      : device_(std::move(device)), before_opening_(std::move(before_opening)), wait_(std::move(wait)) {}

  const std::string& device() const { return device_; }

  // The one that is in use, opened where there is none.
  Result<std::shared_ptr<judge::Judge>> get();
  // True where its warden, or its device, is gone; then the next get() opens another one, with what this one has built.
  bool lost(const std::shared_ptr<judge::Judge>& judge);
  void wait(std::chrono::milliseconds pause) const { wait_(pause); }
  // Of the judge that is in use.
  judge::Timings timings() const;

 private:
  std::string device_;
  std::function<void()> before_opening_;
  Wait wait_;
  mutable std::mutex lock_;
  std::shared_ptr<judge::Judge> judge_;
  std::shared_ptr<judge::Judge> gone_;  // the last one
};

// Calls `use` with the judge that is in use; where that is lost meanwhile, once more with the next one, until it was
// lost too often in a row. `recorded` counts what came of it so far: a loss after something new is the first in a row.
// Nothing is tried again once `stopped`.
Status with_a_judge(
    Judges& judges, const std::function<Status(const std::shared_ptr<judge::Judge>&)>& use,
    const std::function<std::int64_t()>& recorded = [] { return 0; },
    const std::function<bool()>& stopped = [] { return false; });

// `once` judges one candidate, in whatever steps.
Result<Verdict> judge_until_sure(Judges& judges, const std::function<Result<Verdict>(judge::Judge&)>& once);

// Judges many. Whichever was being judged when judges were lost may be the cause: it comes after all others, alone, and
// is an Error when that happens too often in a row. What was found to be right is not examined again. `answer` gets one
// Result for each case, from one thread, in the order of completion; when it fails, nothing more is answered. `dropped`
// is called for a case that will be tried again.
using Answered = std::function<Status(std::size_t index, const Result<Verdict>& verdict)>;
Status judge_many(
    Judges& judges, std::span<const judge::Case> cases, const Answered& answer, const judge::Begin& begin,
    const std::function<void(std::size_t index)>& dropped = [](std::size_t) {});

}  // namespace kw::runs
