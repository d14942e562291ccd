// One locked-up process with one kernel in it: load it, show it memory, have it run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "targets/cpu/arena.h"
#include "targets/cpu/host/control.h"
#include "targets/instance.h"
#include "targets/target.h"

namespace kw::cpu {

using targets::Clock;

// As kernelwright.h promises them.
constexpr std::uint64_t scratch_bytes(std::uint64_t tensor_bytes) {
  return 16 * tensor_bytes + (std::uint64_t{64} << 20);
}
constexpr std::uint64_t kept_bytes(std::uint64_t constant_bytes) {
  return 4 * constant_bytes + (std::uint64_t{16} << 20);
}

class Cell {
 public:
  // Starts the process and loads the library. `threads` is what the kernel may use, `memory_bytes` the most that any
  // arrangement will need for scratch memory and for what is kept.
  static Result<Cell> open(const sandbox::Sandbox& sandbox, const sandbox::Descriptor& library, const Arena& inputs,
                           int threads, std::uint64_t memory_bytes);

  // How loading went; asked once, before anything else.
  Reason loaded(Clock::time_point deadline);

  // Maps the layout and lets the kernel prepare from the constants that lie in the arena.
  Reason arrange(const Layout& layout, const targets::Instance& instance, Clock::time_point deadline);
  // Before the next calls that run.
  void poison_scratch(std::uint8_t value);
  // Reads all that the calls [first, first + count) need: into caches and tables of addresses.
  Reason warm(std::uint32_t first, std::uint32_t count, Clock::time_point deadline);
  // Calls [first, first + count), untimed.
  Reason run(std::uint32_t first, std::uint32_t count, Clock::time_point deadline);

  // One call, every write of which to its outputs is watched (host/watch.h).
  Reason run_watched(std::uint32_t call, Clock::time_point deadline);

  // Calls [first, first + count), and where in the library's code the process was every now and then, as bytes from its
  // beginning; none where they failed. It is the process that says so: nothing may hang on it but what a reader is
  // told.
  std::optional<std::vector<std::uint64_t>> run_sampled(std::uint32_t first, std::uint32_t count,
                                                        Clock::time_point deadline);

  // The same in steps, for a clock between them. `stand` makes all ready but needs no inputs yet. `start` gives the
  // command, `ready` waits until the process stands
  // at the line, `go` releases it and waits until it says that it is done; both spin. `finish` waits until it sleeps.
  Reason stand(std::uint32_t first, std::uint32_t count, Clock::time_point deadline);
  void start(std::uint32_t first, std::uint32_t count, bool spin);
  bool ready(Clock::time_point deadline);
  struct Lap {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool done = false;
  };
  Lap go(Clock::time_point deadline);
  Reason finish(Clock::time_point deadline);

  // Ends the process and waits until the system has taken it back.
  void end();

  const Arena& outputs() const { return *outputs_; }
  Status make_room(std::uint64_t output_bytes) { return outputs_->make_room(output_bytes); }
  const host::Control& control() const { return *control_; }
  void forgive_registers() { control_->registers_changed = 0; }
  int pid() const { return child_.pid(); }
  // CPU time of all its threads, by the system's own account; 0: the process is gone.
  std::uint64_t cpu_ns() const;
  // How many threads and descriptors the system sees; -1: not known.
  int thread_count() const;
  int descriptor_count() const;
  // Memory of its own that it has mapped, used or not.
  std::optional<std::uint64_t> memory_held() const;
  // How many filters of system calls lie on it beyond those on this process; -1: not known.
  int filter_count() const;
  // Onto one core, or onto as many as there are.
  void pin(int core) const;
  // Waits until all its threads sleep, as they must when it has answered.
  Reason come_to_rest() const;
  // Between them the system lets none of its threads run.
  void hold() const;
  void release() const;

 private:
  struct Unmap {
    void operator()(host::Control* control) const;
  };

  Cell() = default;
  void command(host::Command command);
  Reason answer(Clock::time_point deadline);
  Reason ended();
  std::string message() const;  // what the host, or the kernel, says of the last command
  bool all_asleep() const;

  sandbox::Child child_;
  std::unique_ptr<Arena> outputs_;
  sandbox::Descriptor command_, answer_, shared_;
  sandbox::Descriptor state_;  // what the system says of its first thread
  int threads_ = 1;
  const Layout* layout_ = nullptr;  // the last one, for messages
  const targets::Instance* instance_ = nullptr;
  std::unique_ptr<host::Control, Unmap> control_;
  std::uint32_t sequence_ = 0;
};

}  // namespace kw::cpu
