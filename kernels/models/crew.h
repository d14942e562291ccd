// Threads that work together on one call of a kernel.
//
// A runtime lends the threads of its own pool: at most as many as a session was given, maybe later than they were asked
// for, or one after the other in the thread that asks. So no thread is waited for until it has taken work. The one that
// comes first leads: it runs the kernel, hands out the pieces of each step, does those that no other thread takes, and
// waits only for pieces that were taken. The others help until the call is over. Between two steps, microseconds apart,
// they spin; once the call is over they are the runtime's again.
#pragma once

#include <kernelwright.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace kw_ort {

class Crew {
 public:
  using Piece = void (*)(void* data, int32_t index);
  static constexpr int32_t kMostPieces = (1 << 20) - 1;

  // By the leader: piece(data, i) for each i below count.
  void run(int32_t count, Piece piece, void* data) {
    for (; count > kMostPieces; --count) piece(data, count - 1);
    if (count <= 0) return;
    piece_ = piece;
    data_ = data;
    done_.store(0, std::memory_order_relaxed);
    ticket_.store(++turn_ << 40 | static_cast<uint64_t>(count) << 20, std::memory_order_release);
    while (take_one()) {
    }
    for (int spins = 0; done_.load(std::memory_order_acquire) < count;) rest(spins);
  }

  // By a thread that is lent: true where it leads, and then it calls end() when the kernel has returned.
  bool leads() { return !led_.exchange(true, std::memory_order_acq_rel); }
  void end() { over_.store(true, std::memory_order_release); }

  // By every other one.
  void help() {
    if (over_.load(std::memory_order_acquire)) return;
    helpers_.fetch_add(1, std::memory_order_relaxed);
    for (int spins = 0; !over_.load(std::memory_order_acquire);) {
      if (take_one()) {
        spins = 0;
      } else {
        rest(spins);
      }
    }
  }

  // How many came while there was work.
  int helpers() const { return helpers_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kField = kMostPieces;

  // What a ticket says, a turn with its number of pieces and the next one, changes as one word: a thread that was away
  // for a while cannot take a piece of a turn that is over.
  bool take_one() {
    uint64_t now = ticket_.load(std::memory_order_acquire);
    do {
      if ((now & kField) >= (now >> 20 & kField)) return false;
    } while (!ticket_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire));
    piece_(data_, static_cast<int32_t>(now & kField));
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }

  // A pause while polling; on a machine with more threads than cores the one that is waited for needs this core.
  static void rest(int& spins) {
    if (++spins > 2000) {
      std::this_thread::yield();
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  Piece piece_ = nullptr;
  void* data_ = nullptr;
  uint64_t turn_ = 0;
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int32_t> done_{0};
  alignas(64) std::atomic<bool> over_{false};
  std::atomic<bool> led_{false};
  std::atomic<int> helpers_{0};
};

}  // namespace kw_ort
