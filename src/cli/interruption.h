// Ctrl-C (SIGINT) and SIGTERM while a run is worked on.
#pragma once

#include <functional>
#include <memory>

#include "runs/stop.h"

namespace kw::cli {

inline constexpr int kInterrupted = 130;  // the exit code that shells expect

// While it lives, the first signal asks for the stop, has the last words said by a thread of its own, calls `goodbye`
// and ends the program; a second one ends it at once. One at a time. Where a signal came, its end does not return: the
// last words are being said.
class Interruption {
 public:
  Interruption(runs::Stop& stop, std::function<void()> goodbye);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kw::cli
