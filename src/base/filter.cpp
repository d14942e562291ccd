#include "base/filter.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStep_ms = 50;
constexpr std::size_t kMostErr = 64 << 10;
constexpr double kDrain_s = 0.2;  // for what lies in the pipes when it has ended; its children may hold them open

class Pipe {
 public:
  Pipe() = default;
  ~Pipe() { close(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // A pair of sockets rather than a pipe: writing to one whose reader is gone is an error and no signal.
  bool open() { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0; }
  void close() {
    close_theirs();
    close_ours();
  }
  void close_ours() {
    if (ends[0] >= 0) ::close(ends[0]);
    ends[0] = -1;
  }
  void close_theirs() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  int ours() const { return ends[0]; }
  int theirs() const { return ends[1]; }

 private:
  int ends[2] = {-1, -1};
};

// False at the end of what there is to read.
bool read_some(Pipe& pipe, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(pipe.ours(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return true;
  pipe.close_ours();
  return false;
}

}  // namespace

Result<Filtered> run_filter(const std::vector<std::string>& words, std::string_view input, const FilterLimits& limits,
                            const std::stop_token& stop, Surroundings surroundings) {
  Pipe in, out, err;
  if (!in.open() || !out.open() || !err.open()) return fail("{}: no more files can be opened", words[0]);
  KW_TRY(
      const pid_t pid,
      start_program(
          {.words = words, .surroundings = surroundings, .in = in.theirs(), .out = out.theirs(), .err = err.theirs()}));
  in.close_theirs();
  out.close_theirs();
  err.close_theirs();

  Filtered filtered;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const Clock::time_point begin = Clock::now();
  Clock::time_point ended_at = begin;
  bool ended = false;
  int status = 0;
  const auto give_up = [&](Filtered::End end) {
    filtered.end = end;
    ::kill(-pid, SIGKILL);
    if (!ended) ::waitpid(pid, &status, 0);
    ended = true;
  };
  if (input.empty()) in.close_ours();
  for (;;) {
    if (!ended && ::waitpid(pid, &status, WNOHANG) == pid) {
      ended = true;
      ended_at = Clock::now();
    }
    if (ended && ((out.ours() < 0 && err.ours() < 0) || since(ended_at) > kDrain_s)) break;
    if (stop.stop_requested()) give_up(Filtered::End::stopped);
    if (filtered.out.size() > limits.most_bytes) give_up(Filtered::End::too_large);
    if (since(begin) > limits.whole_s) give_up(Filtered::End::late);
    if (filtered.out.empty() && since(begin) > limits.first_byte_s) give_up(Filtered::End::silent);
    if (filtered.end != Filtered::End::exited) break;

    pollfd waits[3] = {{out.ours(), POLLIN, 0}, {err.ours(), POLLIN, 0}, {in.ours(), POLLOUT, 0}};
    // With nothing to wait for but its end, look at it again soon.
    const bool only_the_end = out.ours() < 0 && err.ours() < 0;
    ::poll(waits, 3, only_the_end ? 2 : kStep_ms);
    if (out.ours() >= 0 && waits[0].revents != 0) read_some(out, filtered.out);
    if (err.ours() >= 0 && waits[1].revents != 0) read_some(err, filtered.err);
    if (filtered.err.size() > 2 * kMostErr) filtered.err.erase(0, filtered.err.size() - kMostErr);
    if (in.ours() >= 0 && waits[2].revents != 0) {
      const ssize_t sent = ::send(in.ours(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) input.remove_prefix(static_cast<std::size_t>(sent));
      if (input.empty() || (sent < 0 && errno != EAGAIN && errno != EINTR)) in.close_ours();
    }
  }
  // What it has left running in its group ends with it.
  ::kill(-pid, SIGKILL);
  filtered.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return filtered;
}

}  // namespace kw
