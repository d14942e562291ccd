// A framework's process on the device: it runs operators beside the kernels that they are compared with, and answers
// commands over a socket (rivals/shared/worker.py). It is trusted as far as the framework is: it reads the clock
// itself.
#pragma once

#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cctype>
#include <string>
#include <vector>

#include "targets/remote/agent/kernel_process.h"
#include "targets/remote/agent/stream.h"

namespace kw::remote {

// `path` in the folder `home`, with all folders on the way made; empty where it would lead elsewhere.
inline std::string made_way(const std::string& home, const std::string& path) {
  const bool plain = !path.empty() && std::all_of(path.begin(), path.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-/", c) != nullptr;
  });
  if (!plain || path[0] == '/' || ("/" + path + "/").find("/../") != std::string::npos) {
    errno = EINVAL;
    return {};
  }
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir((home + "/" + path.substr(0, at)).c_str(), 0700);
  }
  return home + "/" + path;
}

// Those that are left, each ended by a zero.
inline std::vector<std::string> texts_in(const Pieces& pieces) {
  std::vector<std::string> texts;
  const char* at = pieces.rest();
  for (const char* end = at + pieces.left(); at < end;) {
    texts.emplace_back(at, ::strnlen(at, static_cast<std::size_t>(end - at)));
    at += texts.back().size() + 1;
  }
  return texts;
}

class WorkerProcess {
 public:
  // Where it finds its end of the socket.
  static constexpr int kLink = 3;
  static constexpr std::size_t kMostAnswerBytes = 1 << 20;
  // One that has let go of its socket is ending.
  static constexpr int kMostEndingMs = 5000;

  WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() {
    if (link_ >= 0) ::close(link_);
    end();
  }

  // Empty, or why it could not be started.
  std::string start(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                    std::uint64_t memory_bytes, const std::vector<int>& cores) {
    int ends[2], trouble[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return "no socket for a framework";
    link_ = ends[0];
    if (::pipe2(trouble, O_CLOEXEC) != 0) return "no descriptors for a framework";
    pid_ = ::fork();
    if (pid_ == 0) be_child(ends[1], trouble[1], pointers(words), pointers(variables), memory_bytes, cores);
    ::close(ends[1]);
    ::close(trouble[1]);
    int why = pid_ < 0 ? errno : 0;
    // Nothing comes where the program was found and runs.
    while (pid_ > 0 && ::read(trouble[0], &why, sizeof why) < 0 && errno == EINTR) continue;
    ::close(trouble[0]);
    return why == 0 ? std::string() : words[0] + ": " + std::strerror(why);
  }

  // Where it does not answer in time, or has ended, it is gone.
  void ask(const std::string& command, const std::vector<int>& files, std::uint64_t deadline_ns, Report& report,
           std::vector<char>& more) {
    if (!send_with(command, files)) return ended(report);
    pollfd waiting[] = {{link_, POLLIN, 0}, {0, 0, 0}};
    for (;;) {
      const std::uint64_t now = now_ns(), left = deadline_ns > now ? (deadline_ns - now + 999'999) / 1'000'000 : 0;
      const int ready = ::poll(waiting, 2, static_cast<int>(std::min<std::uint64_t>(left, 1'000'000)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) {
        report.outcome = Outcome::timed_out;
        return end();
      }
      if (waiting[1].revents & (POLLHUP | POLLERR | POLLNVAL)) leave(0);
      if (waiting[0].revents != 0) break;
    }
    more.resize(kMostAnswerBytes);
    ssize_t got = 0;
    while ((got = ::recv(link_, more.data(), more.size(), 0)) < 0 && errno == EINTR) continue;
    more.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (more.empty()) ended(report);
  }

  // All its threads.
  void pin(int core) const {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<unsigned>(core), &cores);
    DIR* threads = ::opendir(("/proc/" + std::to_string(pid_) + "/task").c_str());
    if (threads == nullptr) return;
    while (const dirent* entry = ::readdir(threads)) {
      if (const int thread = std::atoi(entry->d_name); thread > 0) ::sched_setaffinity(thread, sizeof cores, &cores);
    }
    ::closedir(threads);
  }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
  }

  bool send_with(const std::string& text, const std::vector<int>& files) const {
    iovec bytes{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (!files.empty()) {
      message.msg_control = room;
      message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
      std::memcpy(CMSG_DATA(head), files.data(), files.size() * sizeof(int));
    }
    ssize_t sent = 0;
    while ((sent = ::sendmsg(link_, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
    return sent == static_cast<ssize_t>(text.size());
  }

  void ended(Report& report) {
    report.outcome = Outcome::ended;
    int status = 0;
    pid_t gone = 0;
    for (int i = 0; i < kMostEndingMs && gone == 0 && pid_ > 0; ++i) {
      gone = ::waitpid(pid_, &status, WNOHANG);
      if (gone == 0) ::usleep(1000);
    }
    if (gone != pid_) return end();
    ::kill(-pid_, SIGKILL);
    pid_ = 0;
    report.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    report.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  // With what it has started itself, as converters.
  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
  }

  [[noreturn]] static void be_child(int link, int trouble, std::vector<char*> words, std::vector<char*> variables,
                                    std::uint64_t memory_bytes, const std::vector<int>& cores) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int high_link = ::fcntl(link, F_DUPFD, 100), high_trouble = ::fcntl(trouble, F_DUPFD_CLOEXEC, 100);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
    ::dup2(high_link, kLink);
    for (int fd = kLink + 1; fd < 256; ++fd) {
      if (fd != high_trouble) ::close(fd);
    }
    // The agent's own core is no matter of the framework's.
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) CPU_SET(static_cast<unsigned>(core), &set);
    ::sched_setaffinity(0, sizeof set, &set);
    const rlimit memory{memory_bytes, memory_bytes}, none{0, 0};
    if (memory_bytes > 0) ::setrlimit(RLIMIT_DATA, &memory);
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // Off the network where the system allows it.
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) errno = 0;
    ::execvpe(words[0], words.data(), variables.data());
    const int why = errno;
    if (::write(high_trouble, &why, sizeof why) < 0) ::_exit(126);
    ::_exit(127);
  }

  pid_t pid_ = 0;
  int link_ = -1;
};

}  // namespace kw::remote
