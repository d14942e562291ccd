// Ctrl-C (SIGINT) and SIGTERM while a run is worked on.
//
// Every verdict is on the disk before anyone is told of it, so that stopping needs no waiting: what was begun and has
// no verdict is judged again when the run is resumed. And nothing is recorded behind the signal: at a terminal it
// reaches compilers too, and one that died of it must not become a verdict on its candidate.
#pragma once

#include <functional>
#include <memory>

namespace kw::cli {

inline constexpr int kInterrupted = 130;  // the exit code that shells expect

// While it lives, the first signal calls `last_words` in a thread of its own and ends the program; a second one ends it
// at once. One at a time.
class Interruption {
 public:
  explicit Interruption(std::function<void()> last_words);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // True from the instant of the signal on.
  static bool happened();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kw::cli
