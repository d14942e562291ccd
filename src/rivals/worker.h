// A rival's worker: a process of its own that runs a framework, and the packets that pass between it and us. What they
// say stands in rivals/shared/worker.py.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "rivals/catalog.h"
#include "sandbox/protocol.h"

namespace kw::rivals {

using Clock = std::chrono::steady_clock;

// What came of a question.
struct WorkerAnswer {
  enum class Kind {
    answered,
    slow,  // no answer in time, which a busy machine can do to it
    gone   // the process has ended
  } kind = Kind::answered;
  std::string text;  // the answer, or how the process ended
};

// Ends with its object. Off the network where the system allows it; nothing that it prints reaches anyone.
class Worker {
 public:
  static Result<Worker> start(const RivalFile& rival);

  // The answer to one command. Where the process is gone or does not answer in time, it is killed, and every later
  // question finds it gone.
  WorkerAnswer ask(const std::string& command, std::span<const int> descriptors, Clock::time_point deadline);

  bool alive() const { return process_ != nullptr; }
  // All its threads onto one core.
  void pin(int core) const;

 private:
  struct Process {
    int pid = 0;
    sandbox::Descriptor link;
    // Kills it where it does not end by itself within this time, and says how it had ended where it had.
    std::string end(std::chrono::milliseconds patience);
    ~Process() { end(std::chrono::milliseconds(20)); }
  };
  std::unique_ptr<Process> process_;
};

}  // namespace kw::rivals
