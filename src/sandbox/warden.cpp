#include "sandbox/warden.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

namespace kw::sandbox {
namespace {

std::array<Program, 4> filters;

// Exit codes of a child that could not be confined; outside of what a role returns.
constexpr int kNotConfined = 120;

struct Running {
  pid_t pid = 0;
  int slot = 0;
  Descriptor report;
  std::string folder;  // on disk, to be removed
};

pid_t fork_with(std::uint64_t flags, int* pidfd) {
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
  arguments.exit_signal = SIGCHLD;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

// Moves the job's descriptors to 3, 4, ... and closes all others.
void arrange_descriptors(Job& job) {
  const int first = 3;
  const int count = static_cast<int>(job.descriptors.size());
  // First out of the way, then into place.
  for (int& fd : job.descriptors) fd = ::fcntl(fd, F_DUPFD, 100);
  for (int i = 0; i < count; ++i) {
    ::dup2(job.descriptors[static_cast<std::size_t>(i)], first + i);
    job.descriptors[static_cast<std::size_t>(i)] = first + i;
  }
  ::syscall(SYS_close_range, first + count, ~0u, 0);
}

[[noreturn]] void be_child(const Role& role, Job& job, Confinement& confinement, const Isolation& isolation) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  arrange_descriptors(job);
  job.work_folder = confinement.work_folder;
  if (!mount_work_folder(confinement, isolation)) ::_exit(kNotConfined);
  if (role.before != nullptr && !role.before(job)) ::_exit(kNotConfined + 1);
  if (!drop_rights(confinement, isolation)) ::_exit(kNotConfined + 2);
  // Becoming another user has undone this. A process that is orphaned by now would not be ended later.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!isolation.processes && ::getppid() == 1) ::_exit(kNotConfined);
  if (!filter_files(confinement, isolation)) ::_exit(kNotConfined + 3);
  if (!limit_resources(confinement.limits)) ::_exit(kNotConfined + 4);
  if (isolation.seccomp && !load_filter(filter_of(role.filter))) ::_exit(kNotConfined + 5);
  ::_exit(role.run(job));
}

class Warden {
 public:
  Warden(int socket, const std::vector<Shown>& shown, std::span<const Role> roles, const Isolation& isolation)
      : socket_(socket), roles_(roles), isolation_(isolation) {
    for (const Shown& one : shown) shown_.push_back(isolation.view ? one.inside : one.outside);
  }

  int serve() {
    // Clients stop and continue children between measurements; no process needs to wake up for that.
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    usual.sa_flags = SA_NOCLDSTOP;
    ::sigaction(SIGCHLD, &usual, nullptr);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    const Descriptor ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    for (;;) {
      std::vector<pollfd> waiting = {{socket_, POLLIN, 0}, {ended.get(), POLLIN, 0}};
      for (const Running& one : running_) waiting.push_back({one.report.get(), 0, 0});
      if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) break;
      if (waiting[1].revents != 0) {
        signalfd_siginfo about{};
        while (::read(ended.get(), &about, sizeof about) > 0) {
        }
      }
      // A client that closed its end wants no more of that one.
      for (std::size_t i = 2; i < waiting.size(); ++i) {
        if (waiting[i].revents & (POLLHUP | POLLERR)) end(running_[i - 2]);
      }
      reap();
      if (waiting[0].revents != 0 && !answer()) break;
    }
    for (const Running& one : running_) end(one);
    while (!running_.empty()) {
      ::usleep(500);
      reap();
    }
    return 0;
  }

 private:
  void end(const Running& one) const {
    ::kill(one.pid, SIGKILL);
    ::kill(-one.pid, SIGKILL);  // its session, where there is no namespace to end with it
  }

  void reap() {
    int status = 0;
    rusage usage{};
    for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
      const auto found = std::ranges::find(running_, pid, &Running::pid);
      if (found == running_.end()) continue;
      if (!isolation_.processes) ::kill(-pid, SIGKILL);
      const auto ns = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(time.tv_usec) * 1000;
      };
      const EndReport report{status, ns(usage.ru_utime) + ns(usage.ru_stime),
                             static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
      send_packet(found->report.get(), bytes_of(report), {});
      std::error_code ignored;
      if (!found->folder.empty()) std::filesystem::remove_all(found->folder, ignored);
      running_.erase(found);
    }
  }

  // One request; false when the client is gone.
  bool answer() {
    Packet packet = receive_packet(socket_);
    if (packet.bytes.empty()) return false;
    StartRequest request;
    if (!read_as(packet, request) || packet.descriptors.empty()) return true;
    request.role[sizeof request.role - 1] = '\0';
    Running one;
    one.report = std::move(packet.descriptors[0]);
    const auto role = std::ranges::find(roles_, std::string(request.role), &Role::name);
    if (role == roles_.end()) {
      send_packet(one.report.get(), bytes_of(StartReport{0, EINVAL}), {});
      return true;
    }
    while (std::ranges::find(running_, one.slot, &Running::slot) != running_.end()) ++one.slot;

    Job job;
    job.arguments.assign(packet.bytes.begin() + sizeof request, packet.bytes.end());
    for (std::size_t i = 1; i < packet.descriptors.size(); ++i) job.descriptors.push_back(packet.descriptors[i].get());
    job.isolation = &isolation_;
    Confinement confinement{request.limits, role->files, kWorkFolder, shown_, warden_, one.slot};
    if (!isolation_.view) {
      char folder[] = "/tmp/kw-work-XXXXXX";
      if (::mkdtemp(folder) == nullptr) {
        send_packet(one.report.get(), bytes_of(StartReport{0, errno}), {});
        return true;
      }
      ::chmod(folder, 0777);
      confinement.work_folder = one.folder = folder;
    }
    int pidfd = -1;
    std::uint64_t flags = 0;
    if (isolation_.processes) flags |= CLONE_NEWPID;
    if (isolation_.view) flags |= CLONE_NEWNS;
    one.pid = fork_with(flags, &pidfd);
    if (one.pid == 0) be_child(*role, job, confinement, isolation_);
    if (one.pid < 0) {
      send_packet(one.report.get(), bytes_of(StartReport{0, errno}), {});
      return true;
    }
    const Descriptor watch(pidfd);
    const int fd = watch.get();
    send_packet(one.report.get(), bytes_of(StartReport{one.pid, 0}), {&fd, 1});
    running_.push_back(std::move(one));
    return true;
  }

  int socket_;
  std::span<const Role> roles_;
  Isolation isolation_;
  std::vector<std::string> shown_;
  const int warden_ = ::getpid();
  std::vector<Running> running_;
};

}  // namespace

const Program& filter_of(Filter filter) { return filters[static_cast<std::size_t>(filter)]; }

int serve(int socket, const std::vector<Shown>& shown, std::span<const Role> roles) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Isolation isolation;
  isolation.landlock = landlock_version();
  for (Filter filter : {Filter::tools, Filter::load, Filter::kernel, Filter::threads}) {
    filters[static_cast<std::size_t>(filter)] = make_filter(filter);
  }
  isolation.seccomp = ::prctl(PR_GET_SECCOMP) >= 0 && !filter_of(Filter::load).empty();
  enter_view(shown, isolation);
  if (!send_packet(socket, bytes_of(isolation), {})) return 1;
  return Warden(socket, shown, roles, isolation).serve();
}

}  // namespace kw::sandbox
