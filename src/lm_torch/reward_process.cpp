#include "lm_torch/reward_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "base/process.h"

namespace kw::lm {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;
constexpr int kLook_ms = 200;

}  // namespace

RewardProcess::RewardProcess(std::vector<std::string> words, RewardPatience patience)
    : words_(std::move(words)), patience_(patience) {}

RewardProcess::~RewardProcess() { end(); }

Status RewardProcess::start() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail("no socket could be made");
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  KW_TRY(id_, start_program({.words = words_,
                             .surroundings = Surroundings::users,
                             .in = theirs.get(),
                             .out = theirs.get(),
                             .err = STDERR_FILENO,
                             .ends_with_us = true}));
  socket_ = std::move(ours);
  pending_.clear();
  return {};
}

void RewardProcess::end() {
  if (id_ <= 0) return;
  socket_.close_now();
  ::kill(-id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
  id_ = 0;
}

void RewardProcess::take(const std::string& line, std::vector<bool>& answered,
                         std::vector<std::optional<double>>& made) {
  const Json answer = Json::parse_quietly(line);
  const Json *const id = answer.find("id"), *const reward = answer.find("reward");
  if (id == nullptr || !id->is_number_integer()) return;
  const std::int64_t index = id->get<std::int64_t>() - first_id_;
  if (index < 0 || index >= std::ssize(made) || answered[static_cast<std::size_t>(index)]) return;
  answered[static_cast<std::size_t>(index)] = true;
  if (reward != nullptr && reward->is_number() && std::isfinite(reward->get<double>())) {
    made[static_cast<std::size_t>(index)] = reward->get<double>();
  }
}

bool RewardProcess::exchange(const std::vector<Json>& requests, std::vector<bool>& answered,
                             std::vector<std::optional<double>>& made) {
  std::string out;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (answered[i]) continue;
    Json request = requests[i];
    request["id"] = first_id_ + static_cast<std::int64_t>(i);
    out += request.dump() + "\n";
  }
  std::size_t sent = 0;
  auto heard = Clock::now();
  std::array<char, 65536> buffer = {};
  while (std::ranges::find(answered, false) != answered.end()) {
    if (seconds_since(heard) > patience_.silence_s) return false;
    const bool sending = sent < out.size();
    struct pollfd waiting = {
        .fd = socket_.get(), .events = static_cast<short>(sending ? POLLIN | POLLOUT : POLLIN), .revents = 0};
    if (::poll(&waiting, 1, kLook_ms) <= 0) continue;
    if (sending && (waiting.revents & POLLOUT) != 0) {
      const ssize_t put = ::send(socket_.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (put > 0) sent += static_cast<std::size_t>(put);
    }
    if ((waiting.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    heard = Clock::now();
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
    if (pending_.size() > kMostLineBytes) return false;
    for (std::size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      take(pending_.substr(0, end), answered, made);
      pending_.erase(0, end + 1);
    }
  }
  return true;
}

Result<std::vector<std::optional<double>>> RewardProcess::rewards(const std::vector<Json>& requests) {
  std::vector<std::optional<double>> made(requests.size());
  std::vector<bool> answered(requests.size(), false);
  for (int tried = 0; std::ranges::find(answered, false) != answered.end();) {
    if (id_ <= 0) {
      // The first may be misspelt, and is told at once; later ones may be away for a while.
      if (const Status started = start(); !started.ok() && first_id_ == 0) return started.error();
    }
    const auto before = std::ranges::count(answered, true);
    if (id_ > 0 && exchange(requests, answered, made)) break;
    end();
    tried = std::ranges::count(answered, true) > before ? 1 : tried + 1;
    if (tried >= patience_.tries) {
      return fail("{} ended or was silent {} times without a reward; what was trained is kept", words_.front(), tried);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(patience_.pause_s));
  }
  first_id_ += std::ssize(requests);
  return made;
}

}  // namespace kw::lm
