#include "llm/engine.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/process.h"

namespace kw::llm {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;
constexpr int kLook_ms = 200;          // how often a stop is looked for
constexpr int kLooksBeforeKill = 100;  // of 10 ms each

Error too_late(double most_s) { return fail("no whole answer within {} s", most_s); }

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

std::string path_for_engine(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

Result<std::unique_ptr<Engine>> Engine::start(const std::filesystem::path& program, int threads) {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail("no socket could be made");
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  const std::string count = std::to_string(threads > 0 ? static_cast<unsigned>(threads) : cores);
  // Not `ends_with_us`, which means the thread: kw-lm itself sees that the socket has no other end any more.
  KW_TRY(const pid_t id, start_program({.words = {program.string()},
                                        .variables = {"OPENBLAS_NUM_THREADS=" + count, "OMP_NUM_THREADS=" + count},
                                        .in = theirs.get(),
                                        .out = theirs.get(),
                                        .err = STDERR_FILENO}));
  return std::unique_ptr<Engine>(new Engine(id, std::move(ours)));
}

Engine::~Engine() {
  if (id_ <= 0) return;
  ::kill(-id_, SIGKILL);
  wait();
}

// Of one that has closed its side and is about to end; where it does not, it is made to.
int Engine::wait() {
  int status = 0;
  for (int looked = 0; ::waitpid(id_, &status, WNOHANG) == 0; ++looked) {
    if (looked == kLooksBeforeKill) ::kill(-id_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  id_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Engine::Answer Engine::ask(const Json& request, const std::function<void(const Json&)>& tell,
                           const std::stop_token& stop, double most_s) {
  if (id_ <= 0) return {fail("kw-lm has ended"), false};
  const std::string line = request.dump() + "\n";
  const auto begin = Clock::now();
  std::array<char, 65536> buffer = {};
  for (std::size_t sent = 0;;) {
    if (stop.stop_requested()) return {fail("cancelled"), false};
    if (seconds_since(begin) > most_s) return {too_late(most_s), false};
    const bool sending = sent < line.size();
    const auto wanted = static_cast<short>(sending ? POLLIN | POLLOUT : POLLIN);
    struct pollfd waiting = {.fd = socket_.get(), .events = wanted, .revents = 0};
    if (::poll(&waiting, 1, kLook_ms) <= 0) continue;
    if (sending && (waiting.revents & POLLOUT) != 0) {
      const ssize_t put = ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0 && errno != EINTR && errno != EAGAIN) {
        return {fail("kw-lm ended with {} before it was asked", wait()), false};
      }
      if (put > 0) sent += static_cast<std::size_t>(put);
      continue;
    }
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {fail("kw-lm ended with {} without an answer", wait()), false};
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
    if (pending_.size() > kMostLineBytes) return {fail("a line of kw-lm is too long"), false};
    for (std::size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      const Json answer = Json::parse_quietly(std::string_view(pending_).substr(0, end));
      pending_.erase(0, end + 1);
      if (const Json* done = answer.find("done")) return {*done};
      if (const Json* error = answer.find("error")) return {fail("{}", error->get<std::string>())};
      if (tell) tell(answer);
    }
  }
}

Result<Json> ask_engine(const Json& request, int threads, const std::function<void(const Json&)>& tell,
                        const std::stop_token& stop, double most_s) {
  KW_TRY(const auto program, find_engine());
  KW_TRY(const auto engine, Engine::start(program, threads));
  return engine->ask(request, tell, stop, most_s).done;
}

struct KeptEngines::Kept {
  std::timed_mutex turn;
  std::unique_ptr<Engine> engine;
};

struct KeptEngines::State {
  std::function<Result<std::filesystem::path>()> find;
  std::mutex lock;
  std::map<std::string, std::shared_ptr<Kept>> by_model;
};

KeptEngines::KeptEngines(std::function<Result<std::filesystem::path>()> find) : state_(std::make_unique<State>()) {
  state_->find = std::move(find);
}

KeptEngines::~KeptEngines() = default;

Result<Json> KeptEngines::ask(const std::string& model, const Json& request, const std::stop_token& stop,
                              double most_s) {
  std::shared_ptr<Kept> kept;
  {
    const std::lock_guard guard(state_->lock);
    std::shared_ptr<Kept>& place = state_->by_model[model];
    if (!place) place = std::make_shared<Kept>();
    kept = place;
  }
  const auto begin = Clock::now();
  std::unique_lock turn(kept->turn, std::defer_lock);
  while (!turn.try_lock_for(std::chrono::milliseconds(kLook_ms))) {
    if (stop.stop_requested()) return fail("cancelled");
    if (seconds_since(begin) > most_s) return too_late(most_s);
  }
  for (;;) {
    const bool kept_from_before = kept->engine != nullptr;
    if (!kept_from_before) {
      KW_TRY(const auto program, state_->find());
      KW_TRY(kept->engine, Engine::start(program, 0));
    }
    Engine::Answer answer = kept->engine->ask(request, {}, stop, most_s - seconds_since(begin));
    const bool died = kept->engine->has_ended();
    if (!answer.usable) kept->engine.reset();
    // One that was killed since the last question says nothing about this one.
    if (!(died && kept_from_before)) return std::move(answer.done);
  }
}

}  // namespace kw::llm
