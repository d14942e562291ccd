// One kernel in a process of its own on the device: started with limits, spoken to through shared memory
// (host/control.h), watched, ended.
#pragma once

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "targets/cpu/host/control.h"
#include "targets/cpu/host/rest.h"
#include "targets/cpu/host/warmth.h"
#include "targets/remote/agent/facts.h"
#include "targets/remote/agent/protocol.h"
#include "targets/remote/agent/session_folder.h"
#include "targets/remote/agent/shared_file.h"

namespace kw::remote {

inline std::uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

inline void move_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

inline long times_interrupted() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

class KernelProcess {
 public:
  // What is besides scratch memory, what is kept and the tensors.
  static constexpr std::uint64_t kOwnMemory = std::uint64_t{1} << 30;
  // How long threads that wait for work may spin before they sleep.
  static constexpr std::uint64_t kMostRestlessNs = 10'000'000, kMostRestlessTimeNs = 2'000'000'000;
  // The write end of a pipe that is never written to: it closes when the process ends.
  static constexpr int kLife = 9;

  KernelProcess(std::shared_ptr<const SharedFile> inputs, int threads)
      : inputs_(std::move(inputs)), threads_(threads) {}
  KernelProcess(const KernelProcess&) = delete;
  KernelProcess& operator=(const KernelProcess&) = delete;
  ~KernelProcess() {
    end();
    for (int fd : {command_, answer_, life_}) {
      if (fd >= 0) ::close(fd);
    }
  }

  // `words`: the program, after whatever it has to be started with. Null, or what could not be had.
  const char* start(const std::vector<std::string>& words, const std::string& folder, const std::string& filters,
                    std::uint64_t memory_bytes) {
    SharedFile programs;
    if (!outputs_.make(folder) || !shared_.make(folder) || !shared_.resize(sizeof(host::Control)) ||
        !programs.make(folder) || !outputs_.resize(4096)) {
      return "memory to share with a kernel";
    }
    control_ = reinterpret_cast<host::Control*>(shared_.at(0, sizeof(host::Control)));
    control_->threads = static_cast<std::uint32_t>(threads_);
    command_ = ::eventfd(0, EFD_CLOEXEC);
    answer_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int life[2];
    if (command_ < 0 || answer_ < 0 || ::pipe2(life, O_CLOEXEC) != 0) return "descriptors for a kernel";
    life_ = life[0];
    if (::write(programs.file(), filters.data(), filters.size()) != static_cast<ssize_t>(filters.size())) {
      return "room for the filters of a kernel";
    }
    ::lseek(programs.file(), 0, SEEK_SET);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int descriptors[] = {command_,        answer_,         shared_.file(), inputs_->read_only(),
                                 outputs_.file(), programs.file(), life[1]};
      be_child(descriptors, std::size(descriptors), arguments.data(), memory_bytes);
    }
    ::close(life[1]);
    return pid_ > 0 ? nullptr : "a process for a kernel";
  }

  void command(host::Command command) {
    control_->command = command;
    control_->sequence = ++sequence_;
    const std::uint64_t one = 1;
    if (::write(command_, &one, sizeof one) != sizeof one) return;
  }

  // Waits for the answer to a command, and for its end, and for kw's.
  void answer(std::uint64_t deadline_ns, Report& report) {
    if (!lives()) return ended(report);
    pollfd waiting[] = {{answer_, POLLIN, 0}, {life_, POLLIN, 0}, {0, 0, 0}};
    for (;;) {
      const std::uint64_t now = now_ns();
      const std::uint64_t left = deadline_ns > now ? (deadline_ns - now + 999'999) / 1'000'000 : 0;
      const int ready = ::poll(waiting, 3, static_cast<int>(std::min<std::uint64_t>(left, 1'000'000)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) {
        note(report);
        end();
        report.outcome = Outcome::timed_out;
        return;
      }
      if (waiting[0].revents & POLLIN) {
        std::uint64_t ignored = 0;
        if (::read(answer_, &ignored, sizeof ignored) < 0) continue;
        note(report);
        return;
      }
      if (waiting[2].revents & (POLLHUP | POLLERR | POLLNVAL)) leave(0);
      if (waiting[1].revents != 0) return ended(report);
    }
  }

  // What the process says of itself; nothing of it is to be trusted.
  void note(Report& report) const {
    report.stage = control_->stage;
    report.failed = control_->failed;
    report.prepares = control_->prepares;
    report.varies = control_->varies;
    report.registers_changed = control_->registers_changed;
    report.rewritten = control_->rewritten;
    report.stack_end = control_->stack_end;
    report.fault = control_->fault;
    std::memcpy(report.message, control_->message, sizeof report.message);
    report.message[sizeof report.message - 1] = '\0';
  }

  void ended(Report& report) {
    if (control_ != nullptr) note(report);
    report.outcome = Outcome::ended;
    // It said that it has ended; if that is not so, it is ended now.
    for (int i = 0; i < 100 && lives(); ++i) ::usleep(1000);
    end();
    report.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
    report.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  }

  bool lives() {
    if (pid_ <= 0) return false;
    const pid_t gone = ::waitpid(pid_, &status_, WNOHANG);
    if (gone == 0 || (gone < 0 && errno == EINTR)) return true;
    pid_ = 0;
    return false;
  }

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::kill(pid_, SIGCONT);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
  }

  std::uint64_t cpu_ns() const {
    clockid_t clock{};
    return pid_ > 0 && ::clock_getcpuclockid(pid_, &clock) == 0 ? now_ns(clock) : 0;
  }

  // Waits until it sleeps, as it must when it has answered. False: it works on.
  bool comes_to_rest() const {
    const std::uint64_t before = cpu_ns(), begin = now_ns();
    std::uint64_t last = before;
    while (now_ns() - begin < kMostRestlessTimeNs) {
      const int asleep = all_asleep();
      if (asleep > 0) return true;
      ::usleep(100);
      const std::uint64_t now = cpu_ns();
      // Where the system does not say which threads sleep, those that use no time do.
      if (asleep < 0 && now == last) return true;
      if (now - before > kMostRestlessNs) return false;
      last = now;
    }
    return true;
  }

  void pin(int core) const {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<unsigned>(core), &cores);
    if (threads_ == 1) ::sched_setaffinity(pid_, sizeof cores, &cores);
  }

  void stop() const {
    if (threads_ > 1) ::kill(pid_, SIGSTOP);
  }
  void go_on() const {
    if (threads_ > 1) ::kill(pid_, SIGCONT);
  }

  // -1: not known.
  int entries(const char* what) const {
    DIR* folder = ::opendir(("/proc/" + std::to_string(pid_) + "/" + what).c_str());
    if (folder == nullptr) return -1;
    int count = 0;
    while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
    ::closedir(folder);
    return count;
  }

  // 0: not known.
  std::uint64_t memory_held() const {
    const long long kilobytes = status_number(std::to_string(pid_), "VmData:");
    return kilobytes > 0 ? static_cast<std::uint64_t>(kilobytes) << 10 : 0;
  }

  // How many filters of system calls lie on it beyond those on this process; -1: the system does not say.
  int filter_count() const {
    const long long ours = status_number("self", "Seccomp_filters:");
    const long long theirs = status_number(std::to_string(pid_), "Seccomp_filters:");
    return ours < 0 || theirs < 0 ? -1 : static_cast<int>(theirs - ours);
  }

  // The bytes of a call's tensors, as far as their pages go, in this process.
  std::vector<host::Block> tensors_of(std::uint32_t call) const {
    std::vector<host::Block> blocks;
    for (std::uint32_t i = 0; i < tensor_count_; ++i) {
      const std::uint64_t address = addresses_[call * tensor_count_ + i];
      for (const host::Region& region : regions_) {
        if (address < region.address || address >= region.address + region.size_bytes) continue;
        const std::uint64_t inside = address - region.address;
        const SharedFile& file = region.writable ? outputs_ : *inputs_;
        const unsigned char* at = file.at(region.offset, region.size_bytes);
        if (at != nullptr) blocks.push_back({at + inside, region.size_bytes - inside});
      }
    }
    return blocks;
  }

  void arranged(std::vector<host::Region> regions, std::vector<std::uint64_t> addresses, std::uint32_t tensor_count) {
    regions_ = std::move(regions);
    addresses_ = std::move(addresses);
    tensor_count_ = tensor_count;
  }
  std::uint32_t call_count() const {
    return tensor_count_ > 0 ? static_cast<std::uint32_t>(addresses_.size()) / tensor_count_ : 0;
  }

  host::Control& control() { return *control_; }
  SharedFile& outputs() { return outputs_; }
  std::uint32_t sequence() const { return sequence_; }
  int threads() const { return threads_; }

 private:
  [[noreturn]] static void be_child(const int* descriptors, std::size_t count, char** words,
                                    std::uint64_t memory_bytes) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int high[16];
    for (std::size_t i = 0; i < count; ++i) high[i] = ::fcntl(descriptors[i], F_DUPFD, 100);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
    for (std::size_t i = 0; i < count; ++i) ::dup2(high[i], 3 + static_cast<int>(i));
    for (int fd = 3 + static_cast<int>(count); fd < 256; ++fd) ::close(fd);
    const auto limit = [](int which, rlim_t most) {
      const rlimit both{most, most};
      ::setrlimit(static_cast<__rlimit_resource_t>(which), &both);
    };
    limit(RLIMIT_DATA, memory_bytes + kOwnMemory);
    // With a larger one, systems of 32 bits map from the middle of the addresses up, where tensors lie.
    constexpr rlim_t kMostStack = 8 << 20;
    rlimit stack{};
    if (::getrlimit(RLIMIT_STACK, &stack) == 0) limit(RLIMIT_STACK, std::min(stack.rlim_cur, kMostStack));
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, 600);
    limit(RLIMIT_NOFILE, 64);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const char* none[] = {nullptr};
    ::execve(words[0], words, const_cast<char**>(none));
    ::_exit(127);
  }

  // A number of /proc/PROCESS/status; -1: not there.
  static long long status_number(const std::string& process, const char* name) {
    const int fd = ::open(("/proc/" + process + "/status").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    char text[8192];
    const ssize_t size = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char* line = std::strstr(text, name);
    return line != nullptr ? std::atoll(line + std::strlen(name)) : -1;
  }

  // 1: all, 0: not all, -1: the system does not say.
  int all_asleep() const {
    const std::string folder = "/proc/" + std::to_string(pid_) + "/task";
    DIR* tasks = ::opendir(folder.c_str());
    if (tasks == nullptr) return -1;
    int asleep = 1;
    while (const dirent* entry = ::readdir(tasks)) {
      if (entry->d_name[0] == '.') continue;
      const std::string stat = line_of(folder + "/" + entry->d_name + "/stat");
      const std::size_t name_end = stat.rfind(')');
      if (name_end != std::string::npos && stat.compare(name_end, 3, ") R") == 0) asleep = 0;
    }
    ::closedir(tasks);
    return asleep;
  }

  std::shared_ptr<const SharedFile> inputs_;
  SharedFile outputs_, shared_;
  host::Control* control_ = nullptr;
  int threads_;
  pid_t pid_ = 0;
  int status_ = 0;
  int command_ = -1, answer_ = -1, life_ = -1;
  std::uint32_t sequence_ = 0;
  std::vector<host::Region> regions_;
  std::vector<std::uint64_t> addresses_;
  std::uint32_t tensor_count_ = 0;
};

}  // namespace kw::remote
