// Messages over two descriptors, one a line, as a program that a client starts has them.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

namespace kw::mcp {

// May be used from several threads.
class LineOutput {
 public:
  explicit LineOutput(int fd) : fd_(fd) {}

  void say(const std::string& message);
  // The client has stopped reading.
  bool gone() const { return gone_; }
  // From now on a client that does not read is not waited for.
  void nothing_more_comes() { ending_ = true; }

 private:
  const int fd_;
  std::mutex lock_;
  std::atomic<bool> gone_ = false;
  std::atomic<bool> ending_ = false;
};

// Lines, none of them longer than the limit.
class LineInput {
 public:
  LineInput(int fd, std::size_t most_bytes) : fd_(fd), most_bytes_(most_bytes) {}

  enum class Got { line, too_long, end };
  Got next(std::string& line);

 private:
  const int fd_;
  const std::size_t most_bytes_;
  std::string buffer_;
  std::size_t looked_at_ = 0;
  bool skipping_ = false;
};

}  // namespace kw::mcp
