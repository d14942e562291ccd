// Bytes to and from kw, over standard input and output. Where the other side is gone the agent ends, and every kernel
// with it.
#pragma once

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "targets/remote/agent/session_folder.h"

namespace kw::remote {

// A kw that is silent for this long is taken to be gone.
inline constexpr int kMostSilenceMs = 60 * 60 * 1000;

inline void receive(void* to, std::uint64_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    pollfd waiting{0, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kMostSilenceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) leave(0);
    const ssize_t got = ::read(0, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) leave(0);
    at += got;
    bytes -= static_cast<std::uint64_t>(got);
  }
}

inline void skip(std::uint64_t bytes) {
  char block[4096];
  while (bytes > 0) {
    const std::uint64_t now = bytes < sizeof block ? bytes : sizeof block;
    receive(block, now);
    bytes -= now;
  }
}

inline void send(const void* from, std::uint64_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::write(1, at, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) leave(0);
    at += sent;
    bytes -= static_cast<std::uint64_t>(sent);
  }
}

// A request's bytes, read piece by piece. What is asked for beyond its end is zero, and `good` says so.
class Pieces {
 public:
  explicit Pieces(std::uint64_t bytes) : bytes_(bytes) { receive(bytes_.data(), bytes_.size()); }

  template <class T>
  T next() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  void take(void* to, std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) {
      good_ = false;
      return;
    }
    std::memcpy(to, bytes_.data() + at_, bytes);
    at_ += bytes;
  }
  const char* rest() const { return bytes_.data() + at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  bool good() const { return good_; }

 private:
  std::vector<char> bytes_;
  std::uint64_t at_ = 0;
  bool good_ = true;
};

}  // namespace kw::remote
