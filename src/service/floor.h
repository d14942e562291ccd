// Who may work now: many may build and examine together, but whoever times a kernel is alone. Those who want to time go
// first, or a steady flow of new work would keep them waiting for ever.
#pragma once

#include <condition_variable>
#include <mutex>

namespace kw::service {

class Floor {
 public:
  void enter() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return !timing_ && wanting_ == 0; });
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
  std::mutex lock_;
  std::condition_variable changed_;
  int working_ = 0;
  int wanting_ = 0;
  bool timing_ = false;
};

}  // namespace kw::service
