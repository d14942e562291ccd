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

// What ask() fails with where the process may only be slow.
inline constexpr char kNoAnswer[] = "did not answer in time";

// Ends with its object. Off the network where the system allows it; nothing that it prints reaches anyone.
class Worker {
 public:
  static Result<Worker> start(const RivalFile& rival);

  // The answer to one command. Fails when the process is gone or does not answer in time; then it is killed, and every
  // later question fails.
  Result<std::string> ask(const std::string& command, std::span<const int> descriptors, Clock::time_point deadline);

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
