#include "targets/remote/connection.h"

#include <cstring>

namespace kw::remote {
namespace {

using namespace std::chrono_literals;

// How much longer than the kernel a request may take: for the link in both directions, and a busy device.
constexpr auto kMostLinkTime = 20s;
// A batch of requests that is larger than this is sent without waiting for more.
constexpr std::size_t kMostWaitingBytes = 1 << 20;
constexpr std::uint64_t kMostTextBytes = 1 << 20;

}  // namespace

Result<std::shared_ptr<Connection>> Connection::meet(std::unique_ptr<Link> link, const std::string& device,
                                                     Clock::time_point deadline) {
  std::shared_ptr<Connection> connection(new Connection());
  connection->device_ = device;
  connection->link_ = std::move(link);
  std::string greeting(sizeof kGreeting - 1, '\0');
  const bool came = connection->link_->receive(greeting, deadline);
  if (!came || greeting != kGreeting) {
    const std::string said = connection->link_->said();
    return fail("{}: kw's agent there does not answer{}{}", device, said.empty() ? "" : ": ", said);
  }
  const auto facts = connection->receive_text(deadline);
  if (!facts) return fail("{}: kw's agent there answered once and then no more", device);
  connection->facts_ = Said(*facts);
  return connection;
}

Result<Said> Connection::tell(Ask ask, std::span<const char> bytes, Clock::duration most) {
  const std::lock_guard guard(lock_);
  const auto deadline = Clock::now() + most + kMostLinkTime;
  put(ask, 0, bytes, {});
  const auto text = flush(deadline) ? receive_text(deadline) : std::nullopt;
  if (!text) return fail("{}: the link is broken", device_);
  return Said(*text);
}

std::optional<std::string> Connection::receive_text(Clock::time_point deadline) {
  std::uint64_t size = 0;
  if (!link_->receive({reinterpret_cast<char*>(&size), sizeof size}, deadline) || size > kMostTextBytes) {
    link_->end();
    return std::nullopt;
  }
  std::string text(size, '\0');
  if (!link_->receive(text, deadline)) return std::nullopt;
  return text;
}

void Connection::put(Ask ask, std::uint32_t id, std::span<const char> bytes, std::span<const char> more) {
  const Head head{.ask = ask, .id = id, .size = bytes.size() + more.size()};
  const auto* begin = reinterpret_cast<const char*>(&head);
  waiting_.insert(waiting_.end(), begin, begin + sizeof head);
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
  waiting_.insert(waiting_.end(), more.begin(), more.end());
}

bool Connection::flush(Clock::time_point deadline) {
  const bool sent = link_->send(waiting_, deadline);
  waiting_.clear();
  return sent;
}

void Connection::post(Ask ask, std::uint32_t id, std::span<const char> bytes, std::span<const char> more) {
  const std::lock_guard guard(lock_);
  if (link_->failed()) return;  // the next request that is waited for says so
  put(ask, id, bytes, more);
  // As long as a slow link may need for it.
  if (waiting_.size() > kMostWaitingBytes) {
    flush(Clock::now() + kMostLinkTime + std::chrono::milliseconds(waiting_.size() / 500));
  }
}

std::optional<Answer> Connection::ask(Ask ask, std::uint32_t id, std::span<const char> bytes, Clock::duration most,
                                      std::uint64_t most_read) {
  const std::lock_guard guard(lock_);
  if (link_->failed()) return std::nullopt;
  put(ask, id, bytes, {});
  const auto sending = std::chrono::milliseconds(waiting_.size() / 500);
  const auto deadline = Clock::now() + most + kMostLinkTime + sending;
  std::optional<Answer> answer(std::in_place);
  Report& report = answer->report;
  if (!flush(deadline) || !link_->receive({reinterpret_cast<char*>(&report), sizeof report}, deadline)) {
    link_->end();
    return std::nullopt;
  }
  report.message[sizeof report.message - 1] = '\0';
  // Other sizes than what was asked for: not our agent any more.
  const std::uint64_t more =
      std::uint64_t{report.statuses} * sizeof(std::int32_t) + std::uint64_t{report.shapes} * sizeof(host::FoundShapes);
  if (report.statuses > host::kMostCalls || report.shapes > host::kMostCalls || report.read_bytes > most_read) {
    link_->end();
    return std::nullopt;
  }
  answer->more.resize(more + report.read_bytes);
  if (!link_->receive(answer->more, deadline + std::chrono::milliseconds(report.read_bytes / 500))) {
    link_->end();
    return std::nullopt;
  }
  return answer;
}

bool Connection::note_program(std::uint64_t number) {
  const std::lock_guard guard(lock_);
  return programs_.insert(number).second;
}

bool Connection::broken() {
  const std::lock_guard guard(lock_);
  return link_->failed();
}

}  // namespace kw::remote
