#include "mcp/http.h"

#include <fmt/core.h>
#include <httplib.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "mcp/desk.h"
#include "mcp/gate.h"
#include "mcp/protocol.h"

namespace kw::mcp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// For a client that does not read what it asked for.
constexpr auto kMostWriting = 10s;
constexpr std::size_t kMostSessions = 64;
constexpr auto kIdleSession = 1h;
// A reply that is ready by then is sent whole, a later one as a stream.
constexpr auto kWholeReply = 500ms;
constexpr auto kPing = 2s;

constexpr char kJsonType[] = "application/json";
constexpr char kStreamType[] = "text/event-stream";
constexpr char kSessionHeader[] = "Mcp-Session-Id";

// The time it takes says nothing of where they differ.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

}  // namespace

bool is_this_machine(std::string_view host) {
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    std::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    if (rest.front() != ':') continue;
    rest.remove_prefix(1);
    return !rest.empty() && rest.size() <= 5 && rest.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

bool is_own_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return is_this_machine(origin.substr(scheme.size()));
  }
  return false;
}

namespace {

std::optional<std::string> header_of(const httplib::Request& request, const char* name) {
  if (!request.has_header(name)) return std::nullopt;
  return request.get_header_value(name);
}

// "=?base64?...?=" holds what a header may not.
std::string plain_header(const std::string& value) {
  if (!value.starts_with("=?base64?") || !value.ends_with("?=") || value.size() < 11) return value;
  static const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  unsigned bits = 0;
  int count = 0;
  for (const char c : value.substr(9, value.size() - 11)) {
    if (c == '=') break;
    const std::size_t at = letters.find(c);
    if (at == std::string::npos) return value;
    bits = bits << 6 | static_cast<unsigned>(at);
    if ((count += 6) >= 8) result += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return result;
}

int status_of(const Reply& reply, bool stateless) {
  switch (reply.error) {
    case 0:
      return 200;
    case kParseError:
    case kInvalidRequest:
    case kHeaderMismatch:
    case kUnsupportedVersion:
      return 400;
    case kTooBusy:
      return 429;
    case kInvalidParams:
      return stateless ? 400 : 200;
    case kMethodNotFound:
      return stateless ? 404 : 200;
    default:
      return 200;
  }
}

// What a request's thread and its connection share.
struct Running {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::string> notifications;
  bool done = false;
  std::optional<Reply> reply;
  std::shared_ptr<Work> work;
  std::shared_ptr<Conversation> conversation;  // lives as long as its request
};

std::string event(const std::string& message) { return "event: message\ndata: " + message + "\n\n"; }

// A request that lies whole in memory, and the socket to which the answer goes.
class WholeRequest : public httplib::Stream {
 public:
  WholeRequest(std::string_view text, int socket) : left_(text), socket_(socket) {}

  bool is_readable() const override { return !left_.empty(); }
  bool is_writable() const override {
    char byte = 0;
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }
  ssize_t read(char* into, std::size_t size) override {
    const std::size_t count = left_.copy(into, size);
    left_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* text, std::size_t size) override {
    return send_all(socket_, {text, size}, kMostWriting) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip = "127.0.0.1", port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = "127.0.0.1", port = 0; }
  socket_t socket() const override { return socket_; }

 private:
  std::string_view left_;
  int socket_;
};

// httplib for what it is good at: routes, responses and streams. Connections are the gate's.
class Routes : public httplib::Server {
 public:
  // It takes a server without a listening socket for one that is shutting down, and cuts its streams off. Any number
  // will do: it is never used.
  Routes() { svr_sock_ = 0; }

  // True: the connection may go on.
  bool serve(const std::string& request, int socket) {
    WholeRequest stream(request, socket);
    bool closed = false;
    return process_request(stream, false, closed, nullptr) && !closed;
  }
};

struct Session {
  std::shared_ptr<Conversation> conversation;
  Clock::time_point used;
};

}  // namespace

struct HttpServer::Inside {
  Inside(Desk& its_desk, HttpRules its_rules) : desk(its_desk), rules(std::move(its_rules)) {}

  Desk& desk;
  const HttpRules rules;
  Routes server;
  std::optional<Gate> gate;
  std::mutex lock;  // of the sessions
  std::map<std::string, Session> sessions;

  void set_up() {
    server.set_payload_max_length(kMostMessageBytes);
    server.set_keep_alive_max_count(100000);
    server.Post("/mcp", [this](const auto& request, auto& response) { post(request, response); });
    server.Delete("/mcp", [this](const auto& request, auto& response) { end_session(request, response); });
    // We never speak first, so that there is nothing to listen to.
    server.Get("/mcp", [](const auto&, auto& response) {
      response.set_header("Allow", "POST, DELETE");
      refuse(response, 405, "nothing is sent that was not asked for: POST your messages");
    });
    server.set_exception_handler([](const auto&, auto& response, std::exception_ptr) {
      response.status = 500;
      response.set_content(Conversation::refusal(kInternalError, "internal error").text, kJsonType);
    });
  }

  static void refuse(httplib::Response& response, int status, const std::string& why, int code = kInvalidRequest) {
    response.status = status;
    response.set_content(Conversation::refusal(code, why).text, kJsonType);
  }

  std::optional<Refusal> refuses(const RequestHead& head) const {
    const auto text_of = [&](const char* name) { return head.find(name) ? *head.find(name) : std::string(); };
    if (!is_this_machine(text_of("Host"))) return Refusal{403, "this address is not served"};
    if (const std::string* origin = head.find("Origin"); origin != nullptr && !is_own_origin(*origin)) {
      return Refusal{403, "pages of other places may not call this"};
    }
    if (same_secret(text_of("Authorization"), "Bearer " + rules.token)) return std::nullopt;
    return Refusal{401, "a token is needed: Authorization: Bearer TOKEN; `kw mcp --http` printed it when it began",
                   "WWW-Authenticate: Bearer"};
  }

  std::shared_ptr<Conversation> session_of(const std::string& id) {
    const std::lock_guard guard(lock);
    const auto found = sessions.find(id);
    if (found == sessions.end()) return nullptr;
    found->second.used = Clock::now();
    return found->second.conversation;
  }

  // Its id, or nothing where there are too many.
  std::optional<std::string> add_session(std::shared_ptr<Conversation> conversation) {
    const std::lock_guard guard(lock);
    std::erase_if(sessions, [](const auto& one) { return Clock::now() - one.second.used > kIdleSession; });
    if (sessions.size() >= kMostSessions) return std::nullopt;
    std::string id = new_token();
    sessions[id] = {std::move(conversation), Clock::now()};
    return id;
  }

  void end_session(const httplib::Request& request, httplib::Response& response) {
    const std::lock_guard guard(lock);
    if (sessions.erase(request.get_header_value(kSessionHeader)) == 0) return refuse(response, 404, "no such session");
    response.status = 204;
  }

  void post(const httplib::Request& request, httplib::Response& response) {
    if (!request.get_header_value("Content-Type").starts_with(kJsonType)) {
      return refuse(response, 415, "a message is sent as application/json");
    }
    const std::string accepted = request.get_header_value("Accept");
    const bool takes_streams = accepted.find(kStreamType) != std::string::npos;
    const bool takes_all = accepted.empty() || accepted.find("*/*") != std::string::npos;
    if (!takes_all && accepted.find(kJsonType) == std::string::npos) {
      return refuse(response, 406, "answers are application/json or text/event-stream");
    }
    MessageHeaders headers{header_of(request, "MCP-Protocol-Version"), header_of(request, "Mcp-Method"),
                           header_of(request, "Mcp-Name")};
    if (headers.name) headers.name = plain_header(*headers.name);
    for (const char* name : {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}) {
      if (request.get_header_value_count(name) > 1) {
        return refuse(response, 400, fmt::format("the header {} is there twice", name), kHeaderMismatch);
      }
    }
    const bool stateless = headers.version && !begins_with_initialize(*headers.version);
    std::shared_ptr<Conversation> conversation;
    const auto session = header_of(request, kSessionHeader);
    if (session && !stateless) {
      conversation = session_of(*session);
      if (!conversation) return refuse(response, 404, "no such session: begin with initialize");
      if (headers.version && !is_spoken(*headers.version)) {
        return refuse(response, 400, "this version of the protocol is not spoken here");
      }
    } else {
      conversation = std::make_shared<Conversation>(desk);
    }
    Taken taken = conversation->take(request.body, &headers);
    if (taken.opened) {
      const auto id = add_session(conversation);
      if (!id) return refuse(response, 503, "too many sessions are open");
      response.set_header(kSessionHeader, *id);
    }
    if (taken.reply) {
      response.status = status_of(*taken.reply, stateless);
      response.set_content(taken.reply->text, kJsonType);
    } else if (!taken.work) {
      response.status = 202;
    } else {
      run(std::move(taken.work), std::move(conversation), takes_streams, stateless, response);
    }
  }

  static void run(std::shared_ptr<Work> work, std::shared_ptr<Conversation> conversation, bool takes_streams,
                  bool stateless, httplib::Response& response) {
    const auto running = std::make_shared<Running>();
    running->work = std::move(work);
    running->conversation = std::move(conversation);
    std::thread([running] {
      auto reply = running->work->run([&](const std::string& notification) {
        const std::lock_guard guard(running->lock);
        running->notifications.push_back(notification);
        running->changed.notify_all();
      });
      const std::lock_guard guard(running->lock);
      running->reply = std::move(reply);
      running->done = true;
      running->changed.notify_all();
    }).detach();
    std::unique_lock guard(running->lock);
    const auto is_done = [&] { return running->done; };
    if (!takes_streams) running->changed.wait(guard, is_done);
    if (running->changed.wait_for(guard, kWholeReply, is_done) && (running->notifications.empty() || !takes_streams)) {
      // Who cancels is not answered, but HTTP must be.
      if (!running->reply) {
        response.status = 202;
        return;
      }
      response.status = status_of(*running->reply, stateless);
      response.set_content(running->reply->text, kJsonType);
      return;
    }
    response.set_header("Cache-Control", "no-cache");
    response.set_chunked_content_provider(
        kStreamType, [running](std::size_t, httplib::DataSink& sink) { return stream(*running, sink); },
        [running](bool) { running->work->cancel(); });
  }

  // A piece of the stream; false: the client is gone.
  static bool stream(Running& running, httplib::DataSink& sink) {
    std::string piece;
    bool done = false;
    {
      std::unique_lock guard(running.lock);
      running.changed.wait_for(guard, kPing, [&] { return running.done || !running.notifications.empty(); });
      for (; !running.notifications.empty(); running.notifications.pop_front()) {
        piece += event(running.notifications.front());
      }
      done = running.done;
      if (done && running.reply) piece += event(running.reply->text);
    }
    if (piece.empty() && !done) piece = ": still at it\n\n";
    if (!sink.is_writable()) return false;
    if (!piece.empty() && !sink.write(piece.data(), piece.size())) return false;
    if (done) sink.done();
    return true;
  }
};

HttpServer::HttpServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::open(Desk& desk, HttpRules rules) {
  auto inside = std::make_unique<Inside>(desk, std::move(rules));
  inside->set_up();
  Inside& self = *inside;
  GateRules gate{
      .limits = {.body_bytes = kMostMessageBytes},
      .refuses = [&self](const RequestHead& head) { return self.refuses(head); },
      .body_of = [](const Refusal& refusal) { return Conversation::refusal(kInvalidRequest, refusal.why).text; },
      .serve = [&self](const std::string& request, int socket) { return self.server.serve(request, socket); }};
  KW_TRY(Gate opened, Gate::open(inside->rules.port, std::move(gate)));
  inside->gate.emplace(std::move(opened));
  return HttpServer(std::move(inside));
}

int HttpServer::port() const { return inside_->gate->port(); }
std::string HttpServer::url() const { return fmt::format("http://127.0.0.1:{}/mcp", port()); }
void HttpServer::serve() { inside_->gate->run(); }
void HttpServer::stop() { inside_->gate->stop(); }

std::string new_token() {
  unsigned char bytes[16];
  [[maybe_unused]] const ssize_t got = ::getrandom(bytes, sizeof bytes, 0);
  assert(got == sizeof bytes);
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace kw::mcp
