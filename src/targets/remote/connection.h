// An agent on a device, connected: requests and answers (agent/protocol.h). Requests that need no answer are kept until
// one does, and travel with it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "targets/remote/agent/protocol.h"
#include "targets/remote/architecture.h"
#include "targets/remote/link.h"

namespace kw::remote {

struct Answer {
  Report report = {};
  std::vector<char> more;  // what the report says follows it
};

// Bytes of a request, put together.
class Message {
 public:
  template <class T>
  Message& add(const T& value) {
    return add(&value, sizeof value);
  }
  Message& add(const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const char*>(from);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
    return *this;
  }
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

// May be used from several threads: one request at a time.
class Connection {
 public:
  // Over a link at whose end an agent has just been started: waits for its greeting and its facts.
  static Result<std::shared_ptr<Connection>> meet(std::unique_ptr<Link> link, const std::string& device,
                                                  Clock::time_point deadline);

  const Said& facts() const { return facts_; }
  // A question that is answered with text.
  Result<Said> tell(Ask ask, std::span<const char> bytes, Clock::duration most);

  void post(Ask ask, std::uint32_t id, std::span<const char> bytes, std::span<const char> more = {});
  // None: the link is broken, now or before. `most`: what the kernel may take; `most_read`: bytes that may come back.
  std::optional<Answer> ask(Ask ask, std::uint32_t id, std::span<const char> bytes, Clock::duration most,
                            std::uint64_t most_read = 0);

  // Of kernels and inputs.
  std::uint32_t new_id() { return ++last_id_; }
  // True the first time.
  bool note_program(std::uint64_t number);

  bool broken();
  const std::string& device() const { return device_; }

 private:
  Connection() = default;
  void put(Ask ask, std::uint32_t id, std::span<const char> bytes, std::span<const char> more);
  bool flush(Clock::time_point deadline);
  std::optional<std::string> receive_text(Clock::time_point deadline);

  std::string device_;
  Said facts_;
  std::mutex lock_;  // of what follows
  std::unique_ptr<Link> link_;
  std::vector<char> waiting_;
  std::set<std::uint64_t> programs_;  // that the device has
  std::atomic<std::uint32_t> last_id_ = 0;
};

}  // namespace kw::remote
