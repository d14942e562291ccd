#include "targets/remote/link.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "base/process.h"
#include "base/terminal.h"

namespace kw::remote {
namespace {

constexpr std::size_t kMostLineBytes = 4096;
constexpr std::size_t kMostSaidBytes = 2000;                       // that are shown
constexpr std::uint64_t kMostWordsBytes = std::uint64_t{1} << 20;  // that are kept

struct Pipe {
  Descriptor read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("no descriptors for a link to a device");
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // where the system allows it: fewer turns for large tensors
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// A file in memory for what the program prints on standard error; it has a limit, so that a device cannot fill the
// memory.
Result<Descriptor> place_for_words() {
  KW_TRY(Descriptor file, sandbox::memory_file(kMostWordsBytes));
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return fail("no file in memory for what a device says");
  }
  return file;
}

bool wait_for(int file, short what, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{file, what, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

}  // namespace

Result<std::unique_ptr<Link>> Link::start(const std::vector<std::string>& words) {
  KW_TRY(Pipe to, make_pipe());
  KW_TRY(Pipe from, make_pipe());
  std::unique_ptr<Link> link(new Link());
  KW_TRY(link->said_, place_for_words());
  std::vector<std::string> variables;
  // What ssh and adb need of the user's surroundings, besides the home folder.
  for (const char* name : {"SSH_AUTH_SOCK", "ANDROID_ADB_SERVER_PORT", "ANDROID_USER_HOME"}) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
  }
  KW_TRY(link->pid_, start_program({.words = words,
                                    .variables = variables,
                                    .in = to.read_end.get(),
                                    .out = from.write_end.get(),
                                    .err = link->said_.get()}));
  link->in_ = std::move(to.write_end);
  link->out_ = std::move(from.read_end);
  for (const int file : {link->in_.get(), link->out_.get()}) ::fcntl(file, F_SETFL, O_NONBLOCK);
  return link;
}

Result<std::unique_ptr<Link>> Link::start_locked(const sandbox::Sandbox& sandbox, const std::string& agent,
                                                 const std::vector<std::string>& words) {
  KW_TRY(Pipe to, make_pipe());
  KW_TRY(Pipe from, make_pipe());
  std::unique_ptr<Link> link(new Link());
  KW_TRY(link->said_, place_for_words());
  KW_TRY(const Descriptor program, sandbox::memory_file(agent));
  std::string arguments;
  for (const std::string& word : words) arguments += word + '\0';
  const int descriptors[] = {program.get(), to.read_end.get(), from.write_end.get(), link->said_.get()};
  // Kernels get limits of their own from the agent; an emulator's processes have threads besides theirs.
  const sandbox::Limits limits{.memory_bytes = std::uint64_t{8} << 30,
                               .disk_bytes = std::uint64_t{8} << 30,
                               .processes = 256,
                               .cpu_seconds = 1'000'000};
  KW_TRY(link->child_, sandbox.run("agent", limits, std::as_bytes(std::span(arguments)), descriptors));
  link->in_ = std::move(to.write_end);
  link->out_ = std::move(from.read_end);
  for (const int file : {link->in_.get(), link->out_.get()}) ::fcntl(file, F_SETFL, O_NONBLOCK);
  return link;
}

std::unique_ptr<Link> Link::over(Descriptor in, Descriptor out) {
  std::unique_ptr<Link> link(new Link());
  link->in_ = std::move(in);
  link->out_ = std::move(out);
  return link;
}

Link::~Link() { end(); }

void Link::end() {
  failed_ = true;
  in_ = Descriptor();
  out_ = Descriptor();
  if (child_) child_->kill();
  child_.reset();
  if (pid_ <= 0) return;
  // It ends when its input does; one that does not is ended.
  for (int i = 0; i < 50; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = 0;
      return;
    }
    ::usleep(2'000);
  }
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = 0;
}

bool Link::send(std::span<const char> bytes, Clock::time_point deadline) {
  // A device that is gone must not end this program.
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  while (!bytes.empty() && !failed_) {
    const ssize_t sent = ::write(in_.get(), bytes.data(), bytes.size());
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      failed_ = !wait_for(in_.get(), POLLOUT, deadline);
    } else if (errno != EINTR) {
      failed_ = true;
    }
  }
  const timespec now{};
  if (failed_) ::sigtimedwait(&pipe, nullptr, &now);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !failed_;
}

bool Link::receive(std::span<char> bytes, Clock::time_point deadline) {
  while (!bytes.empty() && !failed_) {
    const ssize_t got = ::read(out_.get(), bytes.data(), bytes.size());
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      failed_ = !wait_for(out_.get(), POLLIN, deadline);
    } else if (got == 0 || errno != EINTR) {
      failed_ = true;
    }
  }
  return !failed_;
}

std::optional<std::string> Link::receive_line(Clock::time_point deadline) {
  std::string line;
  for (char one = 0; line.size() < kMostLineBytes;) {
    if (!receive({&one, 1}, deadline)) return std::nullopt;
    if (one == '\n') return line;
    line += one;
  }
  failed_ = true;
  return std::nullopt;
}

std::string Link::said() const {
  // The place is as long as what may come at most; the descriptor, which the program shares, knows how far it came.
  const off_t came = ::lseek(said_.get(), 0, SEEK_CUR);
  if (came <= 0) return {};
  const auto text =
      sandbox::content_of(said_, std::min<std::uint64_t>(static_cast<std::uint64_t>(came), kMostWordsBytes));
  if (!text.ok()) return {};
  std::string last = text->size() > kMostSaidBytes ? text->substr(text->size() - kMostSaidBytes) : *text;
  while (!last.empty() && (last.back() == '\n' || last.back() == '\r')) last.pop_back();
  // Programs say things in lines; those of adb's that begin with a star are no complaints.
  std::string joined;
  std::istringstream lines(last);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("* ")) joined += (joined.empty() ? "" : "; ") + line;
  }
  return fit_for_terminal(joined);
}

}  // namespace kw::remote
