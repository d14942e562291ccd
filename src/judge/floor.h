// Which thread may work now: many may build and examine together, but timing a kernel is done alone. Threads that want
// to time go before new work, or a steady flow of it would keep them waiting for ever.
//
// Every change from building to timing costs: cores wait until the last one has built. With a group of more than one,
// timing waits until enough of them want it, or none wants to build any more, and then all of them have their turn.
#pragma once

#include <condition_variable>
#include <limits>
#include <mutex>

namespace kw::judge {

class Floor {
 public:
  Floor() = default;
  // How many build and examine together at most; more than there are cores would only push each other aside.
  explicit Floor(int most, int group = 1) : most_(most), group_(group) {}

  void enter() {
    std::unique_lock guard(lock_);
    ++entering_;
    changed_.wait(guard, [&] { return !timing_ && !timers_turn_ && working_ < most_; });
    --entering_;
    ++working_;
    if (wanting_ > 0 && ++passed_ >= 2 * group_) timers_turn_ = true;
  }
  void leave() {
    const std::lock_guard guard(lock_);
    --working_;
    changed_.notify_all();
  }
  void enter_alone() {
    std::unique_lock guard(lock_);
    if (++wanting_ >= group_) timers_turn_ = true;
    changed_.wait(guard, [&] { return !timing_ && working_ == 0 && (timers_turn_ || entering_ == 0); });
    --wanting_;
    timing_ = true;
  }
  void leave_alone() {
    const std::lock_guard guard(lock_);
    timing_ = false;
    if (wanting_ == 0) {
      timers_turn_ = false;
      passed_ = 0;
    }
    changed_.notify_all();
  }

 private:
  const int most_ = std::numeric_limits<int>::max();
  const int group_ = 1;
  std::mutex lock_;
  std::condition_variable changed_;
  int entering_ = 0;  // waiting to work
  int working_ = 0;
  int wanting_ = 0;  // waiting to time
  int passed_ = 0;   // threads that began to work while another wanted to time
  bool timers_turn_ = false;
  bool timing_ = false;
};

// Works beside others for as long as this lives. A null floor: there are no others.
class Beside {
 public:
  explicit Beside(Floor* floor) : floor_(floor) {
    if (floor_ != nullptr) floor_->enter();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    if (floor_ != nullptr) floor_->leave();
  }

 private:
  Floor* floor_;
};

// Works alone for as long as this lives.
class Alone {
 public:
  explicit Alone(Floor* floor) : floor_(floor) {
    if (floor_ != nullptr) floor_->enter_alone();
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() {
    if (floor_ != nullptr) floor_->leave_alone();
  }

 private:
  Floor* floor_;
};

}  // namespace kw::judge
