#include "llm/engine.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/process.h"

namespace kw::llm {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;
constexpr int kLook_ms = 200;  // how often a stop is looked for

// Killed and waited for where it has not ended by itself.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (id_ <= 0) return;
    ::kill(-id_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t id_;
};

}  // namespace

Result<std::filesystem::path> find_engine() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto place = self.parent_path() / "kw-lm";
  if (::access(place.c_str(), X_OK) == 0) return place;
  return fail(
      "kw-lm, which runs language models, is not beside {}: `./kw lm ...` builds it, or cmake with -DKW_LM=ON and the "
      "packages of the group lm in packages.txt",
      self.string());
}

Result<Json> ask_engine(const Json& request, int threads, const std::function<void(const Json&)>& tell,
                        const std::stop_token& stop, double most_s) {
  KW_TRY(const auto program, find_engine());
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail("no socket could be made");
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  const std::string count = std::to_string(threads > 0 ? static_cast<unsigned>(threads) : cores);
  KW_TRY(const pid_t id, start_program({.words = {program.string()},
                                        .variables = {"OPENBLAS_NUM_THREADS=" + count, "OMP_NUM_THREADS=" + count},
                                        .in = theirs.get(),
                                        .out = theirs.get(),
                                        .err = STDERR_FILENO,
                                        .ends_with_us = true}));
  Child child(id);
  theirs.close_now();
  const std::string line = request.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t put = ::send(ours.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail("kw-lm ended with {} before it was asked", child.wait());
    sent += static_cast<std::size_t>(put);
  }
  ::shutdown(ours.get(), SHUT_WR);
  const auto begin = std::chrono::steady_clock::now();
  std::string pending;
  std::array<char, 65536> buffer = {};
  for (;;) {
    if (stop.stop_requested()) return fail("cancelled");
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() > most_s) return fail("no whole answer within {} s", most_s);
    struct pollfd waiting = {.fd = ours.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kLook_ms) <= 0) continue;
    const ssize_t got = ::recv(ours.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("kw-lm ended with {} without an answer", child.wait());
    pending.append(buffer.data(), static_cast<std::size_t>(got));
    if (pending.size() > kMostLineBytes) return fail("a line of kw-lm is too long");
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      const Json answer = Json::parse_quietly(std::string_view(pending).substr(0, end));
      pending.erase(0, end + 1);
      if (const Json* done = answer.find("done")) return *done;
      if (const Json* error = answer.find("error")) return fail("{}", error->get<std::string>());
      if (tell) tell(answer);
    }
  }
}

}  // namespace kw::llm
