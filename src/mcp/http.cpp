#include "mcp/http.h"

#include <fmt/core.h>
#include <httplib.h>
#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "mcp/desk.h"
#include "mcp/protocol.h"

namespace kw::mcp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// So many connections are served at once; others wait in the system's queue.
constexpr std::size_t kMostConnections = 48;
constexpr std::size_t kMostSessions = 64;
constexpr auto kIdleSession = 1h;
// A reply that is ready by then is sent whole, a later one as a stream.
constexpr auto kWholeReply = 500ms;
constexpr auto kPing = 2s;

constexpr char kJsonType[] = "application/json";
constexpr char kStreamType[] = "text/event-stream";
constexpr char kSessionHeader[] = "Mcp-Session-Id";

// A thread a connection, and no more than kMostConnections: whoever accepts them waits for a place.
class Connections : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> serve) override {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return count_ < kMostConnections; });
    ++count_;
    std::thread([this, serve = std::move(serve)] {
      serve();
      const std::lock_guard done(lock_);
      --count_;
      changed_.notify_all();
    }).detach();
  }
  void shutdown() override {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return count_ == 0; });
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

// The time it takes says nothing of where they differ.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

// "localhost:8000", "127.0.0.1", "[::1]:80"
bool is_this_machine(std::string host) {
  if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
  host = host.substr(0, host.find(':'));
  return host == "localhost" || host == "127.0.0.1";
}

bool is_own_origin(const std::string& origin) {
  for (const std::string scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return is_this_machine(origin.substr(scheme.size()));
  }
  return false;
}

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

struct Session {
  std::shared_ptr<Conversation> conversation;
  Clock::time_point used;
};

}  // namespace

struct HttpServer::Inside {
  Inside(Desk& its_desk, HttpRules its_rules) : desk(its_desk), rules(std::move(its_rules)) {}

  Desk& desk;
  const HttpRules rules;
  httplib::Server server;
  int port = 0;
  std::mutex lock;  // of the sessions
  std::map<std::string, Session> sessions;

  void set_up() {
    server.new_task_queue = [] { return new Connections; };
    server.set_payload_max_length(kMostMessageBytes);
    server.set_read_timeout(10s);
    server.set_write_timeout(10s);
    server.set_keep_alive_timeout(5);
    server.set_keep_alive_max_count(100000);
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return admits(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                       : httplib::Server::HandlerResponse::Handled;
    });
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

  bool admits(const httplib::Request& request, httplib::Response& response) const {
    if (!is_this_machine(request.get_header_value("Host"))) {
      refuse(response, 403, "this address is not served");
    } else if (const auto origin = header_of(request, "Origin"); origin && !is_own_origin(*origin)) {
      refuse(response, 403, "pages of other places may not call this");
    } else if (!same_secret(request.get_header_value("Authorization"), "Bearer " + rules.token)) {
      response.set_header("WWW-Authenticate", "Bearer");
      refuse(response, 401, "a token is needed: Authorization: Bearer TOKEN; `kw mcp --http` printed it when it began");
    } else {
      return true;
    }
    return false;
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
  const int wanted = inside->rules.port;
  if (wanted == 0) {
    inside->port = inside->server.bind_to_any_port("127.0.0.1");
  } else {
    inside->port = inside->server.bind_to_port("127.0.0.1", wanted) ? wanted : -1;
  }
  if (inside->port <= 0) return fail("port {} of 127.0.0.1 cannot be had: another program may use it", wanted);
  return HttpServer(std::move(inside));
}

int HttpServer::port() const { return inside_->port; }
std::string HttpServer::url() const { return fmt::format("http://127.0.0.1:{}/mcp", inside_->port); }
void HttpServer::serve() { inside_->server.listen_after_bind(); }
void HttpServer::stop() { inside_->server.stop(); }

std::string new_token() {
  unsigned char bytes[16];
  [[maybe_unused]] const ssize_t got = ::getrandom(bytes, sizeof bytes, 0);
  assert(got == sizeof bytes);
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace kw::mcp
