#include "rivals/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace kw::rivals {
namespace {

// A framework that needs more than this for an operator has gone astray; nor may it take more than half the machine's.
constexpr rlim_t kMostMemory = rlim_t{12} << 30;
// Of each file that it writes.
constexpr rlim_t kMostFile = rlim_t{2} << 30;
// One that has let go of its socket is ending, and how is told by the system when it is done: on a busy machine later.
constexpr std::chrono::seconds kMostEnding{5};
// Where the worker finds its end of the socket.
constexpr int kLink = 3;

// Between fork and exec: only what a signal handler may do.
[[noreturn]] void become(const char* const* words, const char* const* environment, int link, rlim_t most_memory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  if (link == kLink) {
    ::fcntl(link, F_SETFD, 0);
  } else {
    ::dup2(link, kLink);
  }
  if (::unshare(CLONE_NEWNET) != 0) {
    // Without the right to do so, as the only user of a world of its own.
    [[maybe_unused]] const int off = ::unshare(CLONE_NEWUSER | CLONE_NEWNET);
  }
  const rlimit memory{most_memory, most_memory}, file{kMostFile, kMostFile}, core{0, 0};
  ::setrlimit(RLIMIT_DATA, &memory);
  ::setrlimit(RLIMIT_FSIZE, &file);
  ::setrlimit(RLIMIT_CORE, &core);
  ::execve(words[0], const_cast<char* const*>(words), const_cast<char* const*>(environment));
  ::_exit(127);
}

}  // namespace

std::string Worker::Process::end(std::chrono::milliseconds patience) {
  if (pid == 0) return {};
  link.close_now();
  int status = 0;
  pid_t ended = ::waitpid(pid, &status, WNOHANG);
  for (const auto deadline = Clock::now() + patience; ended == 0 && Clock::now() < deadline;) {
    ::usleep(1000);
    ended = ::waitpid(pid, &status, WNOHANG);
  }
  std::string how;
  if (ended == pid && WIFSIGNALED(status)) how = fmt::format("crashed ({})", ::strsignal(WTERMSIG(status)));
  if (ended == pid && WIFEXITED(status)) how = fmt::format("ended by itself ({})", WEXITSTATUS(status));
  ::kill(-pid, SIGKILL);
  if (ended != pid) {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid = 0;
  return how;
}

Result<Worker> Worker::start(const RivalFile& rival) {
  KW_TRY(const std::filesystem::path program, worker_program());
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail("no socket for the rival {}: {}", rival.name, ::strerror(errno));
  }
  sandbox::Descriptor ours(ends[0]), theirs(ends[1]);
  const std::string python = rival.python().string(), file = rival.file.string();
  const std::string link = std::to_string(kLink), worker = program.string();
  const std::string path = "PYTHONPATH=" + (rival.own ? rival.own->path : "");
  // -s: nothing of the user's own packages, unless they are what is meant: then the path names them; -B: nothing is
  // written beside the sources.
  const char* const words[] = {python.c_str(), "-s", "-B", worker.c_str(), file.c_str(), link.c_str(), nullptr};
  const char* const environment[] = {
      "PATH=/usr/bin:/bin", "HOME=/nonexistent",      "LANG=C.UTF-8", "OMP_NUM_THREADS=1",
      "MKL_NUM_THREADS=1",  "OPENBLAS_NUM_THREADS=1", path.c_str(),   nullptr};
  const rlim_t half = static_cast<rlim_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) / 2;
  const rlim_t most_memory = std::min(kMostMemory, half);
  const pid_t pid = ::fork();
  if (pid < 0) return fail("the rival {} cannot be started: {}", rival.name, ::strerror(errno));
  if (pid == 0) become(words, environment, theirs.get(), most_memory);
  Worker started;
  started.process_ = std::make_unique<Process>();
  started.process_->pid = pid;
  started.process_->link = std::move(ours);
  return started;
}

Result<std::string> Worker::ask(const std::string& command, std::span<const int> descriptors,
                                Clock::time_point deadline) {
  if (!alive()) return fail("its worker is gone");
  const int link = process_->link.get();
  sandbox::Packet packet;
  if (sandbox::send_packet(link, std::as_bytes(std::span(command)), descriptors)) {
    pollfd waiting{link, POLLIN, 0};
    int ready = 0;
    do {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left, 0, 3'600'000)));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
      process_.reset();
      return fail("{}", kNoAnswer);
    }
    packet = sandbox::receive_packet(link);
  }
  if (packet.bytes.empty()) {
    const std::string how = process_->end(kMostEnding);
    process_.reset();
    return fail("{}", how.empty() ? "its worker is gone" : how);
  }
  return std::string(reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size());
}

void Worker::pin(int core) const {
  if (!alive()) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  std::error_code error;
  const std::string folder = fmt::format("/proc/{}/task", process_->pid);
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    ::sched_setaffinity(std::atoi(entry->path().filename().c_str()), sizeof cores, &cores);
  }
}

}  // namespace kw::rivals
