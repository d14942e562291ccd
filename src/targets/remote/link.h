// A stream of bytes to a device: a program's standard input and output, here or locked up in the sandbox. Everything
// has a deadline; a link that has failed once stays failed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "sandbox/sandbox.h"

namespace kw::remote {

using Clock = std::chrono::steady_clock;

class Link {
 public:
  // A program of the user's: ssh, adb, or what the user has named.
  static Result<std::unique_ptr<Link>> start(const std::vector<std::string>& words);
  // An agent in the sandbox, started by `words` (an emulator and "agent").
  static Result<std::unique_ptr<Link>> start_locked(const sandbox::Sandbox& sandbox, const std::string& agent,
                                                    const std::vector<std::string>& words);
  // Over descriptors that are there already: where we write, where we read.
  static std::unique_ptr<Link> over(Descriptor in, Descriptor out);
  ~Link();

  // False: not all of it could be sent, or came, in time.
  bool send(std::span<const char> bytes, Clock::time_point deadline);
  bool receive(std::span<char> bytes, Clock::time_point deadline);
  // Up to the end of a line, without it; what is longer than a few kilobytes is no line.
  std::optional<std::string> receive_line(Clock::time_point deadline);

  bool failed() const { return failed_; }
  // What the program wrote on standard error, the last of the first megabyte.
  std::string said() const;
  void end();

 private:
  Link() = default;

  Descriptor in_, out_, said_;  // where we write, where we read, what it complains to
  pid_t pid_ = 0;
  std::optional<sandbox::Child> child_;
  bool failed_ = false;
};

}  // namespace kw::remote
