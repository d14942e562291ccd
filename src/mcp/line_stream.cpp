#include "mcp/line_stream.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

namespace kw::mcp {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
// The time that a client has to read its answers once it has closed its side.
constexpr int kPatienceMs = 5000;

}  // namespace

void LineOutput::say(const std::string& message) {
  const std::lock_guard guard(lock_);
  const std::string line = message + "\n";
  for (std::size_t written = 0; written < line.size() && !gone_;) {
    struct pollfd watch = {fd_, POLLOUT, 0};
    const int ready = ::poll(&watch, 1, kPatienceMs);
    if (ready == 0 && ending_) gone_ = true;
    if (ready <= 0) continue;
    const ssize_t got = ::write(fd_, line.data() + written, line.size() - written);
    if (got > 0) written += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR && errno != EAGAIN) gone_ = true;
  }
}

LineInput::Got LineInput::next(std::string& line) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n', looked_at_); end != std::string::npos) {
      line.assign(buffer_, 0, end);
      buffer_.erase(0, end + 1);
      looked_at_ = 0;
      if (std::exchange(skipping_, false)) continue;
      return Got::line;
    }
    looked_at_ = buffer_.size();
    if (buffer_.size() > most_bytes_) {
      buffer_.clear();
      looked_at_ = 0;
      if (!std::exchange(skipping_, true)) return Got::too_long;
    }
    char chunk[kBufferBytes];
    const ssize_t got = ::read(fd_, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      // What stands behind the last line's end is a message too.
      if (buffer_.empty() || skipping_) return Got::end;
      line = std::exchange(buffer_, {});
      return Got::line;
    }
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace kw::mcp
