#include "cli/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <thread>

namespace kw::cli {
namespace {

// What a signal's handler may touch.
std::atomic<int> signals_seen = 0;
std::atomic<int> wake_up = -1;  // the writing end of the watch's pipe
std::atomic<runs::Stop*> asked = nullptr;

void on_signal(int) {
  if (signals_seen.fetch_add(1) > 0) ::_exit(kInterrupted);
  asked.load()->ask();
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_up, &byte, 1);
}

}  // namespace

struct Interruption::Watch {
  int ends[2] = {-1, -1};
  struct sigaction before_int = {};
  struct sigaction before_term = {};
  std::thread thread;
};

Interruption::Interruption(runs::Stop& stop, std::function<void()> goodbye) : watch_(std::make_unique<Watch>()) {
  assert(wake_up < 0);
  [[maybe_unused]] const int made = ::pipe2(watch_->ends, O_CLOEXEC);
  assert(made == 0);
  signals_seen = 0;
  asked = &stop;
  wake_up = watch_->ends[1];
  watch_->thread = std::thread([&stop, reading = watch_->ends[0], goodbye = std::move(goodbye)] {
    char byte = 0;
    ssize_t got;
    while ((got = ::read(reading, &byte, 1)) < 0) {
    }
    if (got == 0) return;  // the run has ended by itself
    stop.say_last_words();
    goodbye();
    ::_exit(kInterrupted);
  });
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &watch_->before_int);
  ::sigaction(SIGTERM, &action, &watch_->before_term);
}

Interruption::~Interruption() {
  while (signals_seen > 0) ::pause();
  ::sigaction(SIGINT, &watch_->before_int, nullptr);
  ::sigaction(SIGTERM, &watch_->before_term, nullptr);
  wake_up = -1;
  ::close(watch_->ends[1]);
  watch_->thread.join();
  ::close(watch_->ends[0]);
}

}  // namespace kw::cli
