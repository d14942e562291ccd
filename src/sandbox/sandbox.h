// Running what we do not trust: the client's side. A Sandbox is the warden's process; a Child is one locked-up process
// that it started.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/isolation.h"
#include "sandbox/protocol.h"
#include "sandbox/view.h"

namespace kw::sandbox {

using Clock = std::chrono::steady_clock;

// How a child ended.
struct Ending {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t most_memory_bytes = 0;

  bool well() const { return exit_code == 0; }
  std::string text() const;  // "ended with 1", "killed by signal 9 (Killed)"
};

// Ends with its object.
class Child {
 public:
  int pid() const { return pid_; }
  // Becomes readable when the child has ended.
  int watch() const { return watch_.get(); }
  // None: still running at the deadline.
  std::optional<Ending> wait(Clock::time_point deadline);
  void kill();

 private:
  friend class Sandbox;
  int pid_ = 0;
  Descriptor watch_;
  Descriptor report_;
  std::optional<Ending> ending_;
};

class Sandbox {
 public:
  // Starts the warden's program. `shown` are folders that children see, read-only.
  static Result<Sandbox> start(const std::filesystem::path& warden, const std::vector<Shown>& shown);

  const Isolation& isolation() const { return isolation_; }
  // Where children find a shown folder.
  std::string place_of(const Shown& shown) const { return isolation_.view ? shown.inside : shown.outside; }

  // May be called from several threads. The descriptors are the role's, in its order; they stay open here.
  Result<Child> run(const std::string& role, const Limits& limits, std::span<const std::byte> arguments,
                    std::span<const int> descriptors) const;
  // False: its warden is gone. Takes no time, and may be called from several threads.
  bool alive() const;

 private:
  // The warden ends when its socket is closed; then it is waited for.
  struct Process {
    int pid = 0;
    Descriptor socket;
    ~Process();
  };
  std::unique_ptr<Process> process_;
  Isolation isolation_;
};

// A file in memory with this content, to hand to a child.
Result<Descriptor> memory_file(std::string_view content);
Result<Descriptor> memory_file(std::uint64_t size_bytes);
// What a file in memory holds, up to `most_bytes`.
Result<std::string> content_of(const Descriptor& file, std::uint64_t most_bytes);

}  // namespace kw::sandbox
