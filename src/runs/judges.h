// The judge of a program, and what to do when its sandbox is killed.
//
// A process that was killed from outside says nothing of the candidate (core/verdict.h), and a warden that was killed
// takes all with it that it holds. Everything that judges goes through here: candidates are judged again, with a new
// judge where the old one is gone, until the answer is about the candidate or it happened too often.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/result.h"
#include "judge/batch.h"
#include "judge/judge.h"

namespace kw::runs {

// In a row, without anything judged between them.
inline constexpr int kMostLostJudges = 3;

// May be used from several threads.
class Judges {
 public:
  // Of a device; `before_opening` is called each time.
  explicit Judges(std::string device = judge::kUsualDevice, std::function<void()> before_opening = {})
      : device_(std::move(device)), before_opening_(std::move(before_opening)) {}

  const std::string& device() const { return device_; }

  // The one that is in use, opened where there is none.
  Result<std::shared_ptr<judge::Judge>> get();
  // True where its warden is gone; then the next get() opens another one.
  bool lost(const std::shared_ptr<judge::Judge>& judge);
  // Of the judge that is in use.
  judge::Timings timings() const;

 private:
  std::string device_;
  std::function<void()> before_opening_;
  mutable std::mutex lock_;
  std::shared_ptr<judge::Judge> judge_;
};

// `once` judges one candidate, in whatever steps.
Result<Verdict> judge_until_sure(Judges& judges, const std::function<Result<Verdict>(judge::Judge&)>& once);

// Judges many. `answer` gets one Result for each case, from one thread, in the order of completion; when it fails,
// nothing more is answered. `dropped` is called for a case that will be tried again.
using Answered = std::function<Status(std::size_t index, const Result<Verdict>& verdict)>;
Status judge_many(
    Judges& judges, std::span<const judge::Case> cases, const Answered& answer, const judge::Begin& begin,
    const std::function<void(std::size_t index)>& dropped = [](std::size_t) {});

}  // namespace kw::runs
