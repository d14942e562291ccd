// How long to wait for a program that is allowed some seconds of work, on a machine that may have more to do.
//
// By the clock alone a compiler that shares its core with ten others would be stopped for their work. So the clock says
// when to look, and the CPU time that it had says whether it was its own fault.
#pragma once

#include <chrono>

namespace kw::cpu {

class Patience {
 public:
  // `allowed`: what the work may take on a machine that has nothing else to do.
  explicit Patience(std::chrono::seconds allowed) : allowed_(allowed) {}

  // When to look next, counted from the beginning.
  std::chrono::seconds next() const { return looks_ * allowed_; }

  // At that time it was still running, and had used this much CPU time with all that it started. False: it is to be
  // stopped. It had its time, it waits for something that does not come, or the longest wait is over.
  bool lasts(double cpu_s) {
    const bool had_its_time = cpu_s >= kShare * static_cast<double>(allowed_.count());
    const bool works = cpu_s >= seen_s_ + kLeastWork * static_cast<double>(allowed_.count());
    seen_s_ = cpu_s;
    return !had_its_time && works && ++looks_ <= kMostLooks;
  }

 private:
  // Of the time allowed, what a program that is alone has had when it is over; and what one has at least that works.
  static constexpr double kShare = 0.75;
  static constexpr double kLeastWork = 0.02;
  static constexpr int kMostLooks = 6;

  std::chrono::seconds allowed_;
  int looks_ = 1;
  double seen_s_ = 0;
};

}  // namespace kw::cpu
