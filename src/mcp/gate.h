// What stands before the HTTP server: it takes connections, reads requests, and hands over only whole ones.
//
// A server that gives every connection a thread is shut by a few dozen clients that send a byte now and then. Here one
// thread reads from all connections as bytes come, so that a slow one costs its buffer and nothing else. Limits hold
// before anybody has shown a token: 64 KiB of headers, 10 seconds for them, 1,024 connections (then the one that has
// kept us waiting longest makes room). A body is read only after its headers were admitted, up to 8 MiB however it is
// encoded, and within 30 seconds. The gate knows HTTP's form and nothing of what is asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::mcp {

struct RequestHead {
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;  // names as they were sent

  // The first of this name in any case; null: there is none.
  const std::string* find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
};

struct Refusal {
  int status = 400;
  std::string why;
  std::string header = {};  // "Name: value", where one is needed
};

// Where the head is not as HTTP wants it: why. Without the empty line at its end.
Result<RequestHead> read_head(std::string_view text);

// Chunked encoding, piece by piece.
class ChunkReader {
 public:
  explicit ChunkReader(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  enum class State { wants_more, done, too_large, malformed };
  // Takes from the front of `raw` what it understands.
  State take(std::string& raw, std::string& body);

 private:
  enum class Part { size, data, data_end, trailer };
  std::size_t most_bytes_;
  Part part_ = Part::size;
  std::size_t left_ = 0;
  std::size_t trailer_bytes_ = 0;
};

struct GateLimits {
  std::size_t header_bytes = 64 << 10;
  std::size_t body_bytes = 8 << 20;
  std::size_t all_bodies_bytes = 32 << 20;  // of all requests that are being read or served
  std::size_t connections = 1024;
  std::size_t at_work = 48;  // requests that are served at once; as many more wait
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds idle_time{5'000};  // between two requests
};

struct GateRules {
  GateLimits limits = {};
  // Nothing: its body may be read, and it may be served.
  std::function<std::optional<Refusal>(const RequestHead&)> refuses;
  // What is sent with a refusal.
  std::function<std::string(const Refusal&)> body_of;
  // Serves a whole request, in a thread of its own, writing to the socket; true: the connection may go on.
  std::function<bool(const std::string& request, int socket)> serve;
};

class Gate {
 public:
  // On 127.0.0.1; port 0 takes any that is free.
  static Result<Gate> open(int port, GateRules rules);
  Gate(Gate&&) noexcept;
  ~Gate();

  int port() const;
  // Until stop() is called from another thread; then it waits for those who are at work.
  void run();
  void stop();

 private:
  struct Inside;
  explicit Gate(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

// Writes all of it, waiting at most this time for a client that does not read; false: the client is gone.
bool send_all(int socket, std::string_view text, std::chrono::milliseconds most_time);

}  // namespace kw::mcp
