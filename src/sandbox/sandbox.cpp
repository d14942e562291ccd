#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace kw::sandbox {
namespace {

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
}

bool becomes_readable(int fd, Clock::time_point deadline) {
  pollfd waiting{fd, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&waiting, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

}  // namespace

std::string Ending::text() const {
  if (signal == 0) return fmt::format("ended with {}", exit_code);
  return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
}

std::optional<Ending> Child::wait(Clock::time_point deadline) {
  if (ending_) return ending_;
  if (!becomes_readable(report_.get(), deadline)) return std::nullopt;
  const Packet packet = receive_packet(report_.get());
  Ending ending;
  EndReport report;
  if (!read_as(packet, report)) {
    ending.signal = SIGKILL;  // the warden is gone, and what it watched over with it
  } else {
    if (WIFEXITED(report.status)) ending.exit_code = WEXITSTATUS(report.status);
    if (WIFSIGNALED(report.status)) ending.signal = WTERMSIG(report.status);
    ending.cpu_ns = report.cpu_ns;
    ending.most_memory_bytes = report.most_memory_bytes;
  }
  ending_ = ending;
  return ending_;
}

void Child::kill() {
  if (!ending_ && watch_) ::syscall(SYS_pidfd_send_signal, watch_.get(), SIGKILL, nullptr, 0);
}

Sandbox::Process::~Process() {
  socket.close_now();
  if (pid > 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

Result<Sandbox> Sandbox::start(const std::filesystem::path& warden, const std::vector<Shown>& shown) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail("the sandbox has no socket: {}", ::strerror(errno));
  }
  Sandbox sandbox;
  sandbox.process_ = std::make_unique<Process>();
  sandbox.process_->socket = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);

  std::vector<std::string> words = {warden.string()};
  for (const Shown& one : shown) words.push_back(one.outside + "=" + one.inside);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  char path[] = "PATH=/usr/bin:/bin";
  char* environment[] = {path, nullptr};

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
  const int error =
      ::posix_spawn(&sandbox.process_->pid, warden.c_str(), &actions, nullptr, pointers.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    sandbox.process_->pid = 0;
    return fail("{}: could not be started ({}); it belongs beside kw", warden.string(), ::strerror(error));
  }
  if (!becomes_readable(ends[0], Clock::now() + std::chrono::seconds(20)) ||
      !read_as(receive_packet(ends[0]), sandbox.isolation_)) {
    ::kill(sandbox.process_->pid, SIGKILL);
    return fail("{}: started, but said nothing", warden.string());
  }
  return sandbox;
}

bool Sandbox::alive() const {
  pollfd end{process_->socket.get(), 0, 0};
  return ::poll(&end, 1, 0) == 0;
}

Result<Child> Sandbox::run(const std::string& role, const Limits& limits, std::span<const std::byte> arguments,
                           std::span<const int> descriptors) const {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail("the sandbox has no socket: {}", ::strerror(errno));
  }
  Child child;
  child.report_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);

  StartRequest request;
  role.copy(request.role, sizeof request.role - 1);
  request.limits = limits;
  std::vector<std::byte> bytes(bytes_of(request).begin(), bytes_of(request).end());
  bytes.insert(bytes.end(), arguments.begin(), arguments.end());
  if (bytes.size() > kMostPacketBytes || descriptors.size() + 1 > kMostDescriptors) {
    return fail("the sandbox takes {} bytes of arguments at most", kMostPacketBytes);
  }
  std::vector<int> all = {theirs.get()};
  all.insert(all.end(), descriptors.begin(), descriptors.end());
  if (!send_packet(process_->socket.get(), bytes, all)) return fail("the sandbox's warden is gone");
  if (!becomes_readable(ends[0], Clock::now() + std::chrono::seconds(20))) return fail("the sandbox does not answer");
  Packet packet = receive_packet(ends[0]);
  StartReport report;
  if (!read_as(packet, report)) return fail("the sandbox's warden is gone");
  if (report.pid == 0 || packet.descriptors.empty()) {
    return fail("the sandbox could not start a process: {}", ::strerror(report.error));
  }
  child.pid_ = report.pid;
  child.watch_ = std::move(packet.descriptors[0]);
  return child;
}

Result<Descriptor> memory_file(std::uint64_t size_bytes) {
  Descriptor file(::memfd_create("kw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0) {
    return fail("no file of {} bytes in memory: {}", size_bytes, ::strerror(errno));
  }
  return file;
}

Result<Descriptor> memory_file(std::string_view content) {
  KW_TRY(Descriptor file, memory_file(std::uint64_t{0}));
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t written =
        ::pwrite(file.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (written <= 0) return fail("no file of {} bytes in memory: {}", content.size(), ::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
  return file;
}

Result<std::string> content_of(const Descriptor& file, std::uint64_t most_bytes) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return fail("a file in memory is gone: {}", ::strerror(errno));
  std::string content(std::min<std::uint64_t>(static_cast<std::uint64_t>(about.st_size), most_bytes), '\0');
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t got = ::pread(file.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got <= 0) return fail("a file in memory could not be read");
    done += static_cast<std::size_t>(got);
  }
  return content;
}

}  // namespace kw::sandbox
