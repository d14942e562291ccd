// The Model Context Protocol as rules on messages: a text comes in, and what has to go out is said. Nothing here reads,
// writes or waits; the transports do.
//
// Two ways of talking are served side by side, as each request says. A conversation that began with `initialize` goes
// on in the version that was agreed on (2025-06-18, 2025-11-25). A request that says all about itself in its _meta
// (2026-07-28) stands alone. Whatever comes in, a request is answered exactly once, by its result or by an error,
// unless its client cancels it; a notification never is; what is neither gets an error without an id.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kw::mcp {

class Desk;

// The errors that JSON-RPC and the protocol name.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;  // up to 2025-11-25
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kUnsupportedVersion = -32022;
inline constexpr int kTooBusy = -32000;

// What is longer is no message.
inline constexpr std::size_t kMostMessageBytes = std::size_t{8} << 20;
// The number of requests of one client that are worked on at once; more are refused.
inline constexpr std::size_t kMostAtOnce = 32;

// A message that goes out; `error` is the code of the error in it, if any.
struct Reply {
  std::string text;
  int error = 0;
};

// Takes notifications on the way to the reply.
using Tell = std::function<void(const std::string& notification)>;

// A request that has to be worked on, which may take a while: on any thread, once.
class Work {
 public:
  virtual ~Work() = default;
  // None where it was cancelled: then nothing is sent.
  virtual std::optional<Reply> run(const Tell& tell) = 0;
  virtual void cancel() = 0;
};

// What has to happen for a message: a reply now, or work that makes one, or nothing.
struct Taken {
  std::optional<Reply> reply;
  std::shared_ptr<Work> work;
  bool opened = false;  // the reply to an `initialize` that began the conversation
};

// What an HTTP request says of its message besides.
struct MessageHeaders {
  std::optional<std::string> version;  // MCP-Protocol-Version
  std::optional<std::string> method;   // Mcp-Method
  std::optional<std::string> name;     // Mcp-Name
};

// One client's, from beginning to end. May be used from several threads.
class Conversation {
 public:
  explicit Conversation(Desk& desk);
  // Cancels what is still worked on.
  ~Conversation();

  Taken take(std::string_view message, const MessageHeaders* headers = nullptr);
  // An error that answers no request: what came could not even be taken for a message.
  static Reply refusal(int code, const std::string& why);

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

// Whether a version is one of those that begin with `initialize`, ours or not.
bool begins_with_initialize(const std::string& version);
// Whether it is one that we speak.
bool is_spoken(const std::string& version);

}  // namespace kw::mcp
