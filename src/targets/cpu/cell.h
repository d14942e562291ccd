// One locked-up process with one kernel in it: load it, show it memory, have it run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "judge/instance.h"
#include "sandbox/sandbox.h"
#include "targets/cpu/arena.h"
#include "targets/cpu/call_image.h"
#include "targets/cpu/host/control.h"

namespace kw::judge {

using Clock = std::chrono::steady_clock;

// What a candidate did instead of answering.
struct Trouble {
  enum class Kind {
    refused,    // it said that it cannot
    crashed,    // a fault, or it ended its process
    forbidden,  // a system call that is not for kernels, or work beyond its calls
    slow,       // no answer in time
  } kind = Kind::refused;
  std::string text;
  std::uint64_t address = 0;  // of a fault in memory; 0: none
  bool alignment = false;     // the fault is an access that needs an aligned address
};

// Nothing: it went well. An Error is a broken machine, a Trouble the candidate's fault.
using Outcome = std::optional<Trouble>;

class Cell {
 public:
  // Starts the process and loads the library. `threads` is what the kernel may use, `memory_bytes` the most that any
  // arrangement will need for scratch memory and for what is kept.
  static Result<Cell> open(const sandbox::Sandbox& sandbox, const sandbox::Descriptor& library, const Arena& inputs,
                           int threads, std::uint64_t memory_bytes);

  // How loading went; asked once, before anything else.
  Outcome loaded(Clock::time_point deadline);

  // Maps the layout and lets the kernel prepare from the constants that lie in the arena.
  Outcome arrange(const Layout& layout, const Instance& instance, Clock::time_point deadline);
  Outcome poison_scratch(std::uint8_t value, Clock::time_point deadline);
  // Reads all that the calls [first, first + count) need: into caches and tables of addresses.
  Outcome warm(std::uint32_t first, std::uint32_t count, Clock::time_point deadline);
  // Calls [first, first + count), untimed.
  Outcome run(std::uint32_t first, std::uint32_t count, Clock::time_point deadline);

  // The same in steps, for a clock between them. `stand` makes all ready but needs no inputs yet. `start` gives the
  // command, `ready` waits until the process stands
  // at the line, `go` releases it and waits until it says that it is done; both spin. `finish` waits until it sleeps.
  Outcome stand(std::uint32_t first, std::uint32_t count, Clock::time_point deadline);
  void start(std::uint32_t first, std::uint32_t count, bool spin);
  bool ready(Clock::time_point deadline);
  struct Lap {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool done = false;
  };
  Lap go(Clock::time_point deadline);
  Outcome finish(Clock::time_point deadline);

  // Ends the process and waits until the system has taken it back.
  void end();

  const Arena& outputs() const { return *outputs_; }
  const host::Control& control() const { return *control_; }
  int pid() const { return child_.pid(); }
  // CPU time of all its threads, by the system's own account; 0: the process is gone.
  std::uint64_t cpu_ns() const;
  // How many threads and descriptors the system sees; -1: not known.
  int thread_count() const;
  int descriptor_count() const;
  // How many filters of system calls lie on it beyond those on this process; -1: not known.
  int filter_count() const;
  // Onto one core, or onto as many as there are.
  void pin(int core) const;
  // Waits until all its threads sleep, as they must when it has answered.
  Outcome come_to_rest() const;
  // Between them the system lets none of its threads run.
  void hold() const;
  void release() const;

 private:
  struct Unmap {
    void operator()(host::Control* control) const;
  };

  Cell() = default;
  void command(host::Command command);
  Outcome answer(Clock::time_point deadline);
  Trouble ended();
  bool all_asleep() const;

  sandbox::Child child_;
  std::unique_ptr<Arena> outputs_;
  sandbox::Descriptor command_, answer_, shared_;
  sandbox::Descriptor state_;  // what the system says of its first thread
  int threads_ = 1;
  std::unique_ptr<host::Control, Unmap> control_;
  std::uint32_t sequence_ = 0;
};

}  // namespace kw::judge
