#include "mcp/stdio.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "mcp/desk.h"
#include "mcp/protocol.h"

namespace kw::mcp {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
// Once the client has stopped talking, it may take so long to read what it is told.
constexpr int kPatienceMs = 5000;

class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}

  void say(const std::string& message) {
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

  // Nobody reads it any more.
  bool gone() const { return gone_; }
  void nothing_more_comes() { ending_ = true; }

 private:
  const int fd_;
  std::mutex lock_;
  std::atomic<bool> gone_ = false;
  std::atomic<bool> ending_ = false;
};

// Requests that are worked on, each on its thread: the protocol bounds how many there are.
class Crew {
 public:
  void add(std::shared_ptr<Work> work, Output& output) {
    threads_.remove_if([](const Member& one) { return one.done->load(); });
    auto done = std::make_shared<std::atomic<bool>>(false);
    std::jthread thread([work = std::move(work), done, &output] {
      const auto reply = work->run([&](const std::string& notification) { output.say(notification); });
      if (reply) output.say(reply->text);
      *done = true;
    });
    threads_.push_back({std::move(done), std::move(thread)});
  }

 private:
  struct Member {
    std::shared_ptr<std::atomic<bool>> done;
    std::jthread thread;
  };
  std::list<Member> threads_;
};

// Lines, none of them longer than a message may be.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}

  enum class Got { line, too_long, end };

  Got next(std::string& line) {
    for (;;) {
      if (const std::size_t end = buffer_.find('\n', looked_at_); end != std::string::npos) {
        line.assign(buffer_, 0, end);
        buffer_.erase(0, end + 1);
        looked_at_ = 0;
        if (std::exchange(skipping_, false)) continue;
        return Got::line;
      }
      looked_at_ = buffer_.size();
      if (buffer_.size() > kMostMessageBytes) {
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

 private:
  const int fd_;
  std::string buffer_;
  std::size_t looked_at_ = 0;
  bool skipping_ = false;
};

}  // namespace

void serve_descriptors(Desk& desk, int in, int out) {
  Output output(out);
  Conversation conversation(desk);
  Lines lines(in);
  {
    Crew crew;
    std::string line;
    for (Lines::Got got; !output.gone() && (got = lines.next(line)) != Lines::Got::end;) {
      if (got == Lines::Got::too_long) {
        output.say(Conversation::refusal(kInvalidRequest, "a message has at most 8 MiB").text);
        continue;
      }
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Taken taken = conversation.take(line);
      if (taken.reply) output.say(taken.reply->text);
      if (taken.work) crew.add(taken.work, output);
    }
    output.nothing_more_comes();
    desk.hurry();
  }
}

}  // namespace kw::mcp
