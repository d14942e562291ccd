// Who works on a run: one program at a time. The lock is the system's, so that it is free when its owner has ended in
// whatever way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/result.h"

namespace kw::store {

class RunLock {
 public:
  // Fails where another program works on the run, with its process id.
  static Result<RunLock> take(const std::filesystem::path& folder, std::int64_t run);
  // The process that works on it; none where no process does.
  static std::optional<int> owner(const std::filesystem::path& folder, std::int64_t run);

  RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

 private:
  explicit RunLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace kw::store
