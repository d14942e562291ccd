#include "rivals/worker.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
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
constexpr std::uint64_t kMostMemory = std::uint64_t{12} << 30;
// Of each file that it writes.
constexpr std::uint64_t kMostFile = std::uint64_t{2} << 30;
// One that has let go of its socket is ending, and how is told by the system when it is done: on a busy machine later.
constexpr std::chrono::seconds kMostEnding{5};
// Where the worker finds its end of the socket.
constexpr int kLink = 3;

}  // namespace

std::string LocalWorker::Process::end(std::chrono::milliseconds patience) {
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

Program confined_program(std::vector<std::string> words) {
  struct sysinfo system = {};
  ::sysinfo(&system);
  const std::uint64_t half = std::uint64_t{system.totalram} * system.mem_unit / 2;
  return {.words = std::move(words),
          .variables = {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "OMP_NUM_THREADS=1",
                        "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"},
          .only_these_variables = true,
          .off_network = true,
          .ends_with_us = true,
          .memory_bytes = std::min(kMostMemory, half),
          .file_bytes = kMostFile};
}

Result<std::unique_ptr<targets::Worker>> LocalWorker::start(const RivalFile& rival) {
  return start(confined_program({}), rival);
}

Result<std::unique_ptr<targets::Worker>> LocalWorker::start_on_gpu(const RivalFile& rival, int gpu,
                                                                   const std::filesystem::path& cache) {
  Program worker = confined_program({});
  worker.memory_bytes.reset();
  const std::string folder = cache.string();
  worker.variables = {"PATH=" + absolute_path_entries(std::getenv("PATH") ? std::getenv("PATH") : "/usr/bin:/bin"),
                      "HOME=" + folder,
                      "USER=kw",
                      "LANG=C.UTF-8",
                      "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                      fmt::format("CUDA_VISIBLE_DEVICES={}", gpu),
                      "TORCHINDUCTOR_CACHE_DIR=" + folder + "/inductor",
                      "TRITON_CACHE_DIR=" + folder + "/triton",
                      "TMPDIR=" + folder};
  // Where CUDA's libraries are, if not in the usual place.
  if (const char* libraries = std::getenv("LD_LIBRARY_PATH"); libraries != nullptr) {
    worker.variables.push_back("LD_LIBRARY_PATH=" + absolute_path_entries(libraries));
  }
  return start(std::move(worker), rival);
}

Result<std::unique_ptr<targets::Worker>> LocalWorker::start(Program worker, const RivalFile& rival) {
  KW_TRY(const std::filesystem::path program, worker_program());
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail("no socket for the rival {}: {}", rival.name, ::strerror(errno));
  }
  sandbox::Descriptor ours(ends[0]), theirs(ends[1]);
  // -I: nothing of the working folder, the environment or the user's own packages; where the latter are what is meant,
  // the last word names their folders. -B: nothing is written beside the sources.
  worker.words = {
      rival.python().string(),         "-I", "-B", program.string(), rival.file.string(), std::to_string(kLink),
      rival.own ? rival.own->path : ""};
  worker.third = theirs.get();
  const auto pid = start_program(worker);
  if (!pid.ok()) return fail("the rival {} cannot be started: {}", rival.name, pid.error().message);
  auto started = std::make_unique<LocalWorker>();
  started->process_ = std::make_unique<Process>();
  started->process_->pid = *pid;
  started->process_->link = std::move(ours);
  return std::unique_ptr<targets::Worker>(std::move(started));
}

targets::WorkerAnswer LocalWorker::ask(const std::string& command, const targets::SharedCalls* shared,
                                       Clock::time_point deadline) {
  using Kind = targets::WorkerAnswer::Kind;
  if (!alive()) return {Kind::gone, "its worker is gone"};
  const int link = process_->link.get();
  sandbox::Packet packet;
  std::vector<int> files;
  if (shared != nullptr) files = {shared->inputs_file, shared->outputs_file};
  if (sandbox::send_packet(link, std::as_bytes(std::span(command)), files)) {
    pollfd waiting{link, POLLIN, 0};
    int ready = 0;
    do {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left, 0, 3'600'000)));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
      process_.reset();
      return {Kind::slow, "did not answer in time"};
    }
    packet = sandbox::receive_packet(link);
  }
  if (packet.bytes.empty()) {
    const std::string how = process_->end(kMostEnding);
    process_.reset();
    return {Kind::gone, how.empty() ? "its worker is gone" : how};
  }
  return {Kind::answered, std::string(reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size())};
}

void LocalWorker::pin(int core) {
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
