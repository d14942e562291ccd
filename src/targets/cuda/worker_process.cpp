#include "targets/cuda/worker_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "targets/cpu/workshop.h"
#include "targets/cuda/worker_protocol.h"

namespace kw::cuda {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kStandReady = 2;
constexpr std::size_t kMostKept = 6;

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(int device, const std::vector<std::string>& under,
                                                            int out) {
  KW_TRY(const std::filesystem::path program, cpu::find_part("kw-cuda-worker"));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail("no socket for a worker");
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  std::vector<std::string> words = under;
  words.insert(words.end(), {program.string(), std::to_string(device)});
  KW_TRY(const pid_t pid, start_program({.words = std::move(words),
                                         .variables = {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_CACHE_DISABLE=0"},
                                         .out = out,
                                         .third = theirs.get()}));
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess());
  worker->pid_ = pid;
  worker->socket_ = std::move(ours);
  return worker;
}

WorkerProcess::~WorkerProcess() { end(); }

void WorkerProcess::finish(Clock::time_point deadline) {
  if (pid_ <= 0) return;
  socket_ = Descriptor();
  int status = 0;
  while (Clock::now() < deadline) {
    if (::waitpid(pid_, &status, WNOHANG) != 0) {
      pid_ = 0;
      return;
    }
    ::usleep(10'000);
  }
  end();
}

void WorkerProcess::end() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);  // with what it was run by, which is of its group
  // The driver takes back a hanging kernel's context before the process is gone, which may take seconds: it is waited
  // for, or the next kernel would find the GPU busy.
  int status = 0;
  for (int i = 0; i < 1000; ++i) {
    if (::waitpid(pid_, &status, WNOHANG) != 0) break;
    ::usleep(10'000);
  }
  pid_ = 0;
  socket_ = Descriptor();
}

std::optional<Json> WorkerProcess::receive(Clock::time_point deadline) {
  if (pid_ <= 0) return std::nullopt;
  pollfd one{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready > 0) break;
    if (ready == 0) {
      timed_out_ = true;
      end();
      return std::nullopt;
    }
  }
  std::optional<Message> message = receive_json(socket_.get());
  if (!message) {
    end();
    return std::nullopt;
  }
  if (const Json* lost = message->json.find("lost"); lost != nullptr) end();
  return std::move(message->json);
}

Result<Json> WorkerProcess::facts(Clock::time_point deadline) {
  if (!facts_) {
    std::optional<Json> hello = receive(deadline);
    if (!hello) return fail("the GPU's driver does not answer");
    if (const Json* error = hello->find("error"); error != nullptr) return fail("{}", error->get<std::string>());
    facts_ = std::move(*hello);
  }
  return *facts_;
}

std::optional<Json> WorkerProcess::ask(const Json& request, std::span<const int> files, Clock::time_point deadline) {
  timed_out_ = false;
  if (pid_ <= 0 || !facts(deadline).ok()) return std::nullopt;
  if (!send_json(socket_.get(), request, files)) {
    end();
    return std::nullopt;
  }
  return receive(deadline);
}

Result<std::unique_ptr<WorkerProcess>> WorkerPool::take() {
  const std::lock_guard guard(lock_);
  std::unique_ptr<WorkerProcess> taken;
  if (!ready_.empty()) {
    taken = std::move(ready_.front());
    ready_.erase(ready_.begin());
  } else {
    KW_TRY(taken, WorkerProcess::start(device_));
  }
  while (ready_.size() < kStandReady) {
    auto next = WorkerProcess::start(device_);
    if (!next.ok()) break;
    ready_.push_back(std::move(*next));
  }
  return taken;
}

void WorkerPool::give_back(std::unique_ptr<WorkerProcess> worker) {
  if (worker == nullptr || !worker->alive()) return;
  const auto answer = worker->ask({{"ask", "reset"}}, {}, Clock::now() + 2s);
  if (!answer || !answer->empty()) return;
  const std::lock_guard guard(lock_);
  if (ready_.size() < kMostKept) ready_.insert(ready_.begin(), std::move(worker));
}

}  // namespace kw::cuda
