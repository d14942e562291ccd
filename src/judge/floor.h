// Who may work now: many may build and examine together, but whoever times a kernel is alone. Those who want to time go
// first, or a steady flow of new work would keep them waiting for ever.
#pragma once

#include <condition_variable>
#include <limits>
#include <mutex>

namespace kw::judge {

class Floor {
 public:
  Floor() = default;
  // At most so many build and examine together; more than there are cores would only push each other aside.
  explicit Floor(int most) : most_(most) {}

  void enter() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return !timing_ && wanting_ == 0 && working_ < most_; });
    ++working_;
  }
  void leave() {
    const std::lock_guard guard(lock_);
    --working_;
    changed_.notify_all();
  }
  void enter_alone() {
    std::unique_lock guard(lock_);
    ++wanting_;
    changed_.wait(guard, [&] { return !timing_ && working_ == 0; });
    --wanting_;
    timing_ = true;
  }
  void leave_alone() {
    const std::lock_guard guard(lock_);
    timing_ = false;
    changed_.notify_all();
  }

 private:
  const int most_ = std::numeric_limits<int>::max();
  std::mutex lock_;
  std::condition_variable changed_;
  int working_ = 0;
  int wanting_ = 0;
  bool timing_ = false;
};

// On the floor with others, for as long as this lives. Without a floor there are no others.
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

// On the floor alone, for as long as this lives.
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
