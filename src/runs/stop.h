// Stopping the work on a run from outside: Ctrl-C, or a client that leaves.
//
// Every verdict is on the disk before anyone is told of it, so that stopping needs no waiting: what was begun and has
// no verdict is judged again when the run is resumed. And nothing is recorded once it was asked for: at a terminal
// Ctrl-C reaches compilers too, and one that died of it must not become a verdict on its candidate.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>

namespace kw::runs {

class Stop {
 public:
  Stop() = default;
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // May be called by the handler of a signal.
  void ask() { asked_ = true; }
  bool asked() const { return asked_; }

  // Writes down where the work stands, from any thread, while the work may still go on: the thread that ends the
  // program calls it after ask().
  void say_last_words();

  // While it lives, `say` is what say_last_words calls. Its end waits for words that are being said.
  class LastWords {
   public:
    LastWords(Stop& stop, std::function<void()> say);
    ~LastWords();
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

   private:
    Stop& stop_;
    std::list<std::function<void()>>::iterator place_;
  };

 private:
  std::atomic<bool> asked_ = false;
  std::mutex lock_;
  std::list<std::function<void()>> words_;
};

}  // namespace kw::runs
