#include "mcp/gate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "base/descriptor.h"

namespace kw::mcp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr std::size_t kMostChunkLine = 256;
constexpr std::size_t kMostTrailer = 8 << 10;
// A refused client is listened to this long, so that it gets to read why.
constexpr auto kDrain = 2s;
constexpr auto kRefusalTime = 100ms;
constexpr std::size_t kSpareDescriptors = 128;  // for the judge and its files

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool is_name_letter(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_name(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_name_letter); }

bool is_value(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

const char* words_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    default:
      return "Service Unavailable";
  }
}

// How long the body is that the head announces; no number: it is chunked.
Result<std::optional<std::size_t>> body_length(const RequestHead& head, Refusal& refusal) {
  const std::string* length = head.find("Content-Length");
  const std::string* encoding = head.find("Transfer-Encoding");
  if (const std::string* content = head.find("Content-Encoding"); content && !same_name(*content, "identity")) {
    refusal = {415, "a compressed body is not read"};
    return fail("");
  }
  if (encoding != nullptr) {
    if (length != nullptr) return fail("a body has either a length or an encoding");
    if (!same_name(*encoding, "chunked")) {
      refusal = {501, "of the encodings of a transfer only chunked is known"};
      return fail("");
    }
    return std::optional<std::size_t>();
  }
  if (length == nullptr) return std::optional<std::size_t>(0);
  if (length->empty() || length->size() > 18 || length->find_first_not_of("0123456789") != std::string::npos) {
    return fail("the body's length is no number");
  }
  return std::optional<std::size_t>(std::stoull(*length));
}

// For httplib: the same request with a body of a known length, and with those headers alone that are of use here.
// Others cause needless work: a Range of a thousand ranges makes an answer of a thousand parts.
std::string whole_request(const RequestHead& head, const std::string& body) {
  constexpr std::string_view kOfUse[] = {"Host",           "Connection", "Content-Type", "Accept",
                                         "Mcp-Session-Id", "Mcp-Method", "Mcp-Name",     "MCP-Protocol-Version"};
  std::string text = head.method + " " + head.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : head.headers) {
    const bool of_use = std::ranges::any_of(kOfUse, [&](std::string_view one) { return same_name(name, one); });
    if (of_use) text += name + ": " + value + "\r\n";
  }
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct Connection {
  enum class State { head, body, at_work, draining };
  Descriptor socket;
  State state = State::head;
  Clock::time_point since;  // it keeps us waiting
  Clock::time_point deadline;
  std::string raw;            // came, and is not understood yet
  std::size_t looked_at = 0;  // of it, for the head's end
  RequestHead head;
  std::optional<std::size_t> length;  // of the body; none: chunked
  std::optional<ChunkReader> chunks;
  std::string body;
};

}  // namespace

const std::string* RequestHead::find(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (same_name(each, name)) return &value;
  }
  return nullptr;
}

std::size_t RequestHead::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [&](const auto& one) { return same_name(one.first, name); }));
}

Result<RequestHead> read_head(std::string_view text) {
  RequestHead head;
  bool first = true;
  while (!text.empty() || first) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    if (!is_value(line)) return fail("a header holds a control character");
    if (first) {
      first = false;
      const std::size_t space = line.find(' '), last = line.rfind(' ');
      if (space == std::string_view::npos || space == last) return fail("the first line is no request");
      head.method = line.substr(0, space);
      head.target = line.substr(space + 1, last - space - 1);
      const std::string_view version = line.substr(last + 1);
      if (!is_name(head.method) || head.target.empty() || head.target.find(' ') != std::string::npos) {
        return fail("the first line is no request");
      }
      if (version != "HTTP/1.1" && version != "HTTP/1.0") return fail("this version of HTTP is not spoken here");
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_name(line.substr(0, colon))) return fail("a header has no name");
    head.headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  // Said twice they mean one thing to us and another to a proxy before or after us.
  for (const char* name :
       {"Host", "Origin", "Authorization", "Content-Length", "Transfer-Encoding", "Content-Encoding"}) {
    if (head.count(name) > 1) return fail("the header {} is there twice", name);
  }
  return head;
}

ChunkReader::State ChunkReader::take(std::string& raw, std::string& body) {
  std::size_t at = 0;
  const auto stop = [&](State state) {
    raw.erase(0, at);
    return state;
  };
  for (;;) {
    if (part_ == Part::data) {
      const std::size_t count = std::min(left_, raw.size() - at);
      body.append(raw, at, count);
      at += count;
      left_ -= count;
      if (left_ > 0) return stop(State::wants_more);
      part_ = Part::data_end;
    }
    const std::size_t end = raw.find("\r\n", at);
    if (end == std::string::npos) {
      return stop(raw.size() - at > (part_ == Part::data_end ? 2 : kMostChunkLine) ? State::malformed
                                                                                   : State::wants_more);
    }
    const std::string line = raw.substr(at, end - at);
    if (line.size() > kMostChunkLine) return stop(State::malformed);
    at = end + 2;
    if (part_ == Part::data_end) {
      if (!line.empty()) return stop(State::malformed);
      part_ = Part::size;
    } else if (part_ == Part::trailer) {
      if (line.empty()) return stop(State::done);
      if ((trailer_bytes_ += line.size()) > kMostTrailer) return stop(State::malformed);
    } else {
      const std::string digits = line.substr(0, line.find_first_of("; \t"));
      if (digits.empty() || digits.size() > 8 ||
          digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
        return stop(State::malformed);
      }
      left_ = std::stoull(digits, nullptr, 16);
      if (left_ > most_bytes_ - body.size()) return stop(State::too_large);
      part_ = left_ == 0 ? Part::trailer : Part::data;
    }
  }
}

bool send_all(int socket, std::string_view text, std::chrono::milliseconds most_time) {
  const auto deadline = Clock::now() + most_time;
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waits{socket, POLLOUT, 0};
    if (left <= 0 || ::poll(&waits, 1, static_cast<int>(left)) <= 0) return false;
  }
  return true;
}

struct Gate::Inside {
  using Connections = std::list<Connection>;

  GateRules rules;
  Descriptor listener;
  Descriptor wake;
  int port = 0;
  std::atomic<bool> stopped = false;
  Connections connections;
  std::size_t body_bytes = 0;  // of all connections

  std::mutex lock;  // of what threads at work share with the gate's
  std::condition_variable changed;
  std::size_t at_work = 0;
  std::deque<std::pair<Connection*, std::string>> waiting;
  std::vector<std::pair<Connection*, bool>> served;  // and whether the connection may go on

  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t rung = ::write(wake.get(), &one, sizeof one);
  }

  // --- one connection ----------------------------------------------------------------------------------------------
  void refuse(Connection& one, const Refusal& refusal) {
    const std::string body = rules.body_of(refusal);
    std::string text = "HTTP/1.1 " + std::to_string(refusal.status) + " " + words_of(refusal.status) + "\r\n";
    if (!refusal.header.empty()) text += refusal.header + "\r\n";
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\nConnection: close\r\n\r\n" + body;
    // It fits into the socket's buffer unless the client has filled that by not reading.
    send_all(one.socket.get(), text, kRefusalTime);
    ::shutdown(one.socket.get(), SHUT_WR);
    forget_request(one);
    one.state = Connection::State::draining;
    one.deadline = Clock::now() + kDrain;
  }

  void forget_request(Connection& one) {
    body_bytes -= one.body.size();
    one.body = {};
    one.raw = {};
    one.head = {};
    one.chunks.reset();
  }

  void expect_head(Connection& one, std::chrono::milliseconds time) const {
    one.state = Connection::State::head;
    one.looked_at = 0;
    one.since = Clock::now();
    one.deadline = one.since + time;
  }

  // False: it is closed.
  bool read_from(Connection& one) {
    char bytes[kReadAtOnce];
    const ssize_t got = ::recv(one.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    if (one.state == Connection::State::draining) return true;
    one.raw.append(bytes, static_cast<std::size_t>(got));
    understand(one);
    return true;
  }

  void understand(Connection& one) {
    if (one.state == Connection::State::head && !understand_head(one)) return;
    if (one.state == Connection::State::body) understand_body(one);
  }

  bool understand_head(Connection& one) {
    // Empty lines before a request are passed over.
    while (one.looked_at == 0 && one.raw.starts_with("\r\n")) one.raw.erase(0, 2);
    const std::size_t end = one.raw.find("\r\n\r\n", one.looked_at);
    if (std::min(end, one.raw.size()) > rules.limits.header_bytes) {
      refuse(one, {431, "the headers are longer than " + std::to_string(rules.limits.header_bytes) + " bytes"});
      return false;
    }
    if (end == std::string::npos) {
      one.looked_at = one.raw.size() < 3 ? 0 : one.raw.size() - 3;
      return false;
    }
    auto head = read_head(std::string_view(one.raw).substr(0, end));
    one.raw.erase(0, end + 4);
    if (!head.ok()) {
      refuse(one, {400, head.error().message});
      return false;
    }
    one.head = *std::move(head);
    if (const auto refusal = rules.refuses(one.head)) {
      refuse(one, *refusal);
      return false;
    }
    Refusal refusal;
    const auto length = body_length(one.head, refusal);
    if (!length.ok()) {
      refuse(one, refusal.why.empty() ? Refusal{400, length.error().message} : refusal);
      return false;
    }
    one.length = *length;
    if (one.length && *one.length > rules.limits.body_bytes) {
      refuse(one, too_large());
      return false;
    }
    if (!one.length) one.chunks.emplace(rules.limits.body_bytes);
    if (const std::string* expects = one.head.find("Expect"); expects && same_name(*expects, "100-continue")) {
      send_all(one.socket.get(), "HTTP/1.1 100 Continue\r\n\r\n", kRefusalTime);
    }
    one.state = Connection::State::body;
    one.deadline = Clock::now() + rules.limits.body_time;
    return true;
  }

  Refusal too_large() const {
    return {413, "a message has at most " + std::to_string(rules.limits.body_bytes) + " bytes"};
  }

  void understand_body(Connection& one) {
    const std::size_t before = one.body.size();
    bool whole = false;
    if (one.length) {
      const std::size_t count = std::min(*one.length - one.body.size(), one.raw.size());
      one.body.append(one.raw, 0, count);
      one.raw.erase(0, count);
      whole = one.body.size() == *one.length;
    } else {
      const ChunkReader::State state = one.chunks->take(one.raw, one.body);
      whole = state == ChunkReader::State::done;
      if (state == ChunkReader::State::too_large || state == ChunkReader::State::malformed) {
        body_bytes += one.body.size() - before;
        return refuse(one,
                      state == ChunkReader::State::too_large ? too_large() : Refusal{400, "the chunks are malformed"});
      }
    }
    body_bytes += one.body.size() - before;
    if (body_bytes > rules.limits.all_bodies_bytes) return refuse(one, {503, "too many large messages at once"});
    if (whole) hand_over(one);
  }

  void hand_over(Connection& one) {
    const std::lock_guard guard(lock);
    if (at_work >= rules.limits.at_work && waiting.size() >= rules.limits.at_work) {
      return refuse(one, {503, "too many requests at once"});
    }
    one.state = Connection::State::at_work;
    std::string request = whole_request(one.head, one.body);
    one.head = {};
    if (at_work < rules.limits.at_work) {
      begin(&one, std::move(request));
    } else {
      waiting.emplace_back(&one, std::move(request));
    }
  }

  // A request for which memory runs out costs its connection, not the server.
  bool serve(const std::string& request, int socket) const {
    try {
      return rules.serve(request, socket);
    } catch (const std::exception&) {
      return false;
    }
  }

  // With the lock held.
  void begin(Connection* one, std::string request) {
    ++at_work;
    std::thread([this, one, socket = one->socket.get(), request = std::move(request)] {
      const bool goes_on = serve(request, socket);
      const std::lock_guard guard(lock);
      --at_work;
      served.emplace_back(one, goes_on);
      if (!waiting.empty()) {
        auto [next, its_request] = std::move(waiting.front());
        waiting.pop_front();
        begin(next, std::move(its_request));
      }
      changed.notify_all();
      ring();
    }).detach();
  }

  // --- all connections ---------------------------------------------------------------------------------------------
  void close(Connections::iterator one) {
    body_bytes -= one->body.size();
    connections.erase(one);
  }

  // Room for another: one that was refused goes, else of those that have not been admitted the one that has kept us
  // waiting longest, else of those whose body does not come.
  bool make_room() {
    for (const auto state : {Connection::State::draining, Connection::State::head, Connection::State::body}) {
      auto oldest = connections.end();
      for (auto one = connections.begin(); one != connections.end(); ++one) {
        if (one->state == state && (oldest == connections.end() || one->since < oldest->since)) oldest = one;
      }
      if (oldest == connections.end()) continue;
      close(oldest);
      return true;
    }
    return false;
  }

  void accept_all() {
    for (int count = 0; count < 256; ++count) {
      Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket && (errno == EMFILE || errno == ENFILE) && make_room()) continue;
      if (!socket) return;
      if (connections.size() >= rules.limits.connections && !make_room()) return;
      const int now = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
      Connection& one = connections.emplace_back();
      one.socket = std::move(socket);
      expect_head(one, rules.limits.header_time);
    }
  }

  void take_back_served() {
    std::vector<std::pair<Connection*, bool>> done;
    {
      const std::lock_guard guard(lock);
      done.swap(served);
    }
    for (const auto& [connection, goes_on] : done) {
      const auto one =
          std::ranges::find_if(connections, [&, c = connection](const Connection& each) { return &each == c; });
      if (one == connections.end()) continue;
      if (!goes_on) {
        close(one);
        continue;
      }
      std::string rest = std::move(one->raw);
      forget_request(*one);
      one->raw = std::move(rest);
      expect_head(*one, rules.limits.idle_time);
      if (!one->raw.empty()) understand(*one);
    }
  }

  void end_late_ones() {
    const auto now = Clock::now();
    for (auto next = connections.begin(); next != connections.end();) {
      const auto one = next++;
      if (one->state == Connection::State::at_work || now < one->deadline) continue;
      const bool has_begun = one->state == Connection::State::body || !one->raw.empty();
      if (one->state != Connection::State::draining && has_begun) {
        refuse(*one, {408, "the request took too long to come"});
      } else {
        close(one);
      }
    }
  }

  void run() {
    std::vector<pollfd> waits;
    std::vector<Connections::iterator> of;
    while (!stopped) {
      waits = {{listener.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}};
      of.clear();
      for (auto one = connections.begin(); one != connections.end(); ++one) {
        if (one->state == Connection::State::at_work) continue;
        waits.push_back({one->socket.get(), POLLIN, 0});
        of.push_back(one);
      }
      if (::poll(waits.data(), waits.size(), 200) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake.get(), &count, sizeof count);
      }
      for (std::size_t i = 0; i < of.size(); ++i) {
        if (waits[i + 2].revents != 0 && !read_from(*of[i])) close(of[i]);
      }
      take_back_served();
      end_late_ones();
      if (waits[0].revents != 0) accept_all();
    }
    listener.close_now();
    std::unique_lock guard(lock);
    waiting.clear();
    changed.wait(guard, [&] { return at_work == 0; });
    connections.clear();
  }
};

Gate::Gate(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Gate::Gate(Gate&&) noexcept = default;
Gate::~Gate() = default;

Result<Gate> Gate::open(int port, GateRules rules) {
  auto inside = std::make_unique<Inside>();
  inside->rules = std::move(rules);
  // A connection is a descriptor, and a shell allows 1,024 unless asked for more.
  rlimit files{};
  std::size_t& connections = inside->rules.limits.connections;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    const rlim_t wanted = connections + 2 * kSpareDescriptors;
    if (files.rlim_cur < wanted) {
      files.rlim_cur = std::min(files.rlim_max, wanted);
      ::setrlimit(RLIMIT_NOFILE, &files);
    }
    connections = std::min<std::size_t>(
        connections, std::max<std::size_t>(files.rlim_cur, 2 * kSpareDescriptors) - kSpareDescriptors);
  }
  inside->wake = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  inside->listener = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  ::setsockopt(inside->listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* place = reinterpret_cast<sockaddr*>(&address);
  if (!inside->listener || !inside->wake || ::bind(inside->listener.get(), place, size) != 0 ||
      ::listen(inside->listener.get(), SOMAXCONN) != 0 || ::getsockname(inside->listener.get(), place, &size) != 0) {
    return fail("port {} of 127.0.0.1 cannot be had: another program may use it", port);
  }
  inside->port = ntohs(address.sin_port);
  return Gate(std::move(inside));
}

int Gate::port() const { return inside_->port; }
void Gate::run() { inside_->run(); }

void Gate::stop() {
  inside_->stopped = true;
  inside_->ring();
}

}  // namespace kw::mcp
