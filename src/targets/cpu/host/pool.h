// Threads that the host lends to a kernel (`parallel` of kernelwright.h), the one that calls among them.
//
// Steps of a kernel follow each other within microseconds, so that between two of them threads poll for the next one;
// after a while, or when the calls are over, they sleep, because a process must be at rest while others have their
// turn.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "targets/cpu/host/rest.h"

namespace kw::host {

class Pool {
 public:
  using Piece = void (*)(void* data, std::int32_t index);
  static constexpr std::int32_t kMostPieces = (1 << 20) - 1;
  static constexpr int kMostThreads = 64;

  // What a thread that is lent does before it takes pieces, and when there are no more.
  explicit Pool(void (*before)() = nullptr, void (*after)() = nullptr) : before_(before), after_(after) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    over_.store(true);
    wake_all();
    for (int i = 0; i < started_; ++i) ::pthread_join(threads_[i], nullptr);
  }

  // Starts what is missing to `threads`, the caller's included; false where the system gives no more.
  bool start(int threads, std::size_t stack_bytes) {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return false;
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    bool good = true;
    while (good && started_ < threads - 1 && started_ < kMostThreads) {
      good = ::pthread_create(&threads_[started_], &attributes, work_of, this) == 0;
      if (good) ++started_;
    }
    ::pthread_attr_destroy(&attributes);
    return good;
  }
  int threads() const { return started_ + 1; }

  // In which order pieces are handed out, and to whom: work must not depend on it.
  enum class Order { upwards, downwards, all_to_the_caller };
  void hand_out(Order order) { order_ = order; }

  // piece(data, i) for each i below count, by the caller and the threads that come in time. Returns when all are done.
  // From inside of a piece it may not be asked.
  void run(std::int32_t count, Piece piece, void* data) {
    if (busy_.exchange(true)) std::abort();
    share(count, piece, data);
    busy_.store(false, std::memory_order_relaxed);
  }

  // Until the next run no thread polls.
  void sleep() { resting_.store(true, std::memory_order_relaxed); }
  void wake() { resting_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kField = kMostPieces;
  static constexpr int kMostPolls = 4000;  // some 50 to 100 us: a step that takes longer pays for a wake-up

  void share(std::int32_t count, Piece piece, void* data) {
    const std::int32_t most = order_ == Order::all_to_the_caller ? 0 : kMostPieces;
    for (; count > most; --count) piece(data, count - 1);
    if (count <= 0) return;
    piece_ = piece;
    data_ = data;
    done_.store(0, std::memory_order_relaxed);
    ticket_.store(++turn_ << 40 | static_cast<std::uint64_t>(count) << 20);
    if (sleepers_.load() > 0) wake_all();
    while (take_one()) {
    }
    for (int polls = 0; done_.load(std::memory_order_acquire) < count;) poll(polls);
  }

  static void* work_of(void* self) {
    static_cast<Pool*>(self)->work();
    return nullptr;
  }
  void work() {
    for (int polls = 0; !over_.load(std::memory_order_relaxed);) {
      if (has_work()) {
        if (before_ != nullptr) before_();
        while (take_one()) {
        }
        if (after_ != nullptr) after_();
        polls = 0;
      } else if (++polls < kMostPolls && !resting_.load(std::memory_order_relaxed)) {
        rest();
      } else {
        sleep_until_called();
        polls = 0;
      }
    }
  }
  // Either a sleeper sees the new ticket, or the one who wrote it sees the sleeper.
  void sleep_until_called() {
    sleepers_.fetch_add(1);
    const std::uint32_t seen = calls_.load();
    if (!has_work() && !over_.load()) ::syscall(SYS_futex, &calls_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    sleepers_.fetch_sub(1);
  }
  void wake_all() {
    calls_.fetch_add(1);
    ::syscall(SYS_futex, &calls_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  bool has_work() const {
    const std::uint64_t now = ticket_.load();
    return (now & kField) < (now >> 20 & kField);
  }
  // A turn with its number of pieces and the next one change as one word: a thread that was away for a while cannot
  // take a piece of a turn that is over.
  bool take_one() {
    std::uint64_t now = ticket_.load(std::memory_order_acquire);
    do {
      if ((now & kField) >= (now >> 20 & kField)) return false;
    } while (!ticket_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire));
    const auto place = static_cast<std::int32_t>(now & kField), count = static_cast<std::int32_t>(now >> 20 & kField);
    piece_(data_, order_ == Order::downwards ? count - 1 - place : place);
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }

  // On a machine with more threads than cores the one that is waited for needs this core.
  static void poll(int& polls) {
    if (++polls > kMostPolls) {
      ::syscall(SYS_sched_yield);
    } else {
      rest();
    }
  }

  void (*const before_)();
  void (*const after_)();
  Piece piece_ = nullptr;
  void* data_ = nullptr;
  Order order_ = Order::upwards;  // changes between runs only
  std::uint64_t turn_ = 0;
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::int32_t> done_{0};
  alignas(64) std::atomic<std::uint32_t> calls_{0};  // to sleepers
  std::atomic<int> sleepers_{0};
  std::atomic<bool> busy_{false}, resting_{false}, over_{false};
  pthread_t threads_[kMostThreads] = {};
  int started_ = 0;
};

}  // namespace kw::host
