#include "mcp/gate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "base/descriptor.h"
#include "base/random.h"
#include "mcp/http.h"

namespace kw::mcp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(Origin, IsThisMachineOnlyWhereNothingElseStandsInIt) {
  for (const char* own : {"http://localhost", "http://localhost:80", "https://127.0.0.1:8765", "http://[::1]:1"}) {
    EXPECT_TRUE(is_own_origin(own)) << own;
  }
  for (const char* other :
       {"http://localhost:80@evil.com", "http://localhost@evil.com", "http://localhost:", "http://localhost:80/x",
        "http://localhost:8o", "http://localhost.evil.com", "http://127.0.0.1.evil.com", "http://127.0.0.1:80:80",
        "http://[::1]evil", "http://[::1].evil:80", "http://evil.com#http://localhost", "null", "", "file://",
        "ftp://localhost", "http://LOCALHOST@x", "http://localhost\t:80", "http://localhost:123456"}) {
    EXPECT_FALSE(is_own_origin(other)) << other;
  }
}

TEST(RequestHead, IsReadStrictly) {
  const auto head = read_head("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Y:  a b \r\nEmpty:");
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "/mcp");
  EXPECT_EQ(*head->find("x-y"), "a b");
  EXPECT_EQ(*head->find("EMPTY"), "");
  for (const std::string wrong :
       {"", "POST", "POST /", "POST / HTTP/2", "POST  HTTP/1.1", "P(ST / HTTP/1.1", "POST / HTTP/1.1\r\nno colon",
        "POST / HTTP/1.1\r\nHost : x", "POST / HTTP/1.1\r\n folded: x", "POST / HTTP/1.1\r\nA: b\nC: d",
        "POST / HTTP/1.1\r\nHost: a\r\nhost: b", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        "POST / HTTP/1.1\r\nA: \x01", "POST / x HTTP/1.1"}) {
    EXPECT_FALSE(read_head(wrong).ok()) << wrong;
  }
}

TEST(ChunkReader, PutsTogetherWhateverThePieces) {
  const std::string text = "4\r\nWiki\r\n6;x=y\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nT: x\r\n\r\nnext";
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    ChunkReader reader(100);
    std::string raw, body;
    auto state = ChunkReader::State::wants_more;
    for (std::size_t at = 0; at < text.size() && state == ChunkReader::State::wants_more;) {
      const auto count = static_cast<std::size_t>(random.integer(1, 9));
      raw += text.substr(at, count);
      at += count;
      state = reader.take(raw, body);
    }
    EXPECT_EQ(state, ChunkReader::State::done);
    EXPECT_EQ(body, "Wikipedia in \r\n\r\nchunks.");
  }
}

TEST(ChunkReader, HoldsItsLimit) {
  const auto state_after = [](std::string raw, std::size_t most) {
    std::string body;
    return ChunkReader(most).take(raw, body);
  };
  EXPECT_EQ(state_after("5\r\nhello\r\n0\r\n\r\n", 5), ChunkReader::State::done);
  EXPECT_EQ(state_after("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 5), ChunkReader::State::too_large);
  EXPECT_EQ(state_after("ffffffff\r\n", 5), ChunkReader::State::too_large);
  for (const std::string wrong : {"ffffffffffffffff\r\n", "-1\r\n", "\r\n", "g\r\n", "1\r\nab\r\n", "0x1\r\n"}) {
    EXPECT_EQ(state_after(wrong, 5), ChunkReader::State::malformed) << wrong;
  }
  EXPECT_EQ(state_after(std::string(1000, '1'), 5), ChunkReader::State::malformed);
}

// A gate with a made-up service behind it, which answers with the request's body.
class GateTest : public testing::Test {
 protected:
  void begin(GateLimits limits) {
    GateRules rules{
        .limits = limits,
        .refuses = [](const RequestHead& head) -> std::optional<Refusal> {
          const std::string* token = head.find("Token");
          if (token != nullptr && *token == "right") return std::nullopt;
          return Refusal{401, "no token"};
        },
        .body_of = [](const Refusal& refusal) { return refusal.why; },
        .serve =
            [this](const std::string& request, int socket) {
              ++served_;
              const std::string body = request.substr(request.find("\r\n\r\n") + 4);
              if (body == "throw") throw std::bad_alloc();
              request_ = request;
              return send_all(
                  socket, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body, 1s);
            }};
    auto gate = Gate::open(0, std::move(rules));
    ASSERT_TRUE(gate.ok()) << gate.error().message;
    gate_.emplace(std::move(*gate));
    thread_ = std::thread([this] { gate_->run(); });
  }
  ~GateTest() override {
    if (gate_) gate_->stop();
    if (thread_.joinable()) thread_.join();
  }

  Descriptor connected() const {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(gate_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
    return socket;
  }
  // All that comes until the connection is closed or nothing comes for a while.
  static std::string answer_on(int socket, int patience_ms = 3000) {
    std::string text;
    char bytes[4096];
    for (pollfd waits{socket, POLLIN, 0}; ::poll(&waits, 1, patience_ms) > 0;) {
      const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
      if (got <= 0) break;
      text.append(bytes, static_cast<std::size_t>(got));
      patience_ms = 300;
    }
    return text;
  }
  std::string answer_to(const std::string& request) const {
    const Descriptor socket = connected();
    send_all(socket.get(), request, 2s);
    return answer_on(socket.get());
  }

  std::optional<Gate> gate_;
  std::thread thread_;
  std::atomic<int> served_ = 0;
  std::string request_;  // the last one
};

const std::string kHead = "POST / HTTP/1.1\r\nToken: right\r\n";

TEST_F(GateTest, ServesBodiesOfBothEncodingsAndManyRequestsOfOneConnection) {
  begin({});
  EXPECT_TRUE(answer_to(kHead + "Content-Length: 2\r\n\r\nhi").ends_with("\r\n\r\nhi"));
  EXPECT_TRUE(answer_to(kHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n").ends_with("\r\n\r\nhi"));
  const std::string both = answer_to(kHead + "Content-Length: 1\r\n\r\n1" + kHead + "Content-Length: 1\r\n\r\n2");
  EXPECT_NE(both.find("\r\n\r\n1HTTP/1.1 200"), std::string::npos) << both;
  EXPECT_EQ(served_, 4);
}

TEST_F(GateTest, HandsOverNoHeaderThatIsOfNoUse) {
  begin({});
  answer_to(kHead + "Range: bytes=0-,0-,0-\r\nAccept-Encoding: gzip\r\nAccept: */*\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(request_, "POST / HTTP/1.1\r\nAccept: */*\r\nContent-Length: 2\r\n\r\nhi");
}

TEST_F(GateTest, OutlivesAServiceThatThrows) {
  begin({});
  EXPECT_EQ(answer_to(kHead + "Content-Length: 5\r\n\r\nthrow"), "");
  EXPECT_TRUE(answer_to(kHead + "Content-Length: 2\r\n\r\nhi").ends_with("\r\n\r\nhi"));
}

TEST_F(GateTest, RefusesBeforeItReadsABody) {
  begin({.body_bytes = 1000});
  EXPECT_TRUE(answer_to("POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n").starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(answer_to(kHead + "Content-Length: 1001\r\n\r\n").starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(answer_to(kHead + "Content-Length: -1\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(answer_to(kHead + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(answer_to(kHead + "Transfer-Encoding: gzip\r\n\r\n").starts_with("HTTP/1.1 501"));
  EXPECT_TRUE(answer_to(kHead + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx").starts_with("HTTP/1.1 415"));
  EXPECT_TRUE(answer_to(kHead + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n").starts_with("HTTP/1.1 413"));
  std::string drops = kHead + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 1001; ++i) drops += "1\r\nx\r\n";
  EXPECT_TRUE(answer_to(drops).starts_with("HTTP/1.1 413"));
  EXPECT_EQ(served_, 0);
}

TEST_F(GateTest, RefusesLongHeaders) {
  begin({.header_bytes = 4096});
  EXPECT_TRUE(answer_to("POST / HTTP/1.1\r\nX: " + std::string(5000, 'x')).starts_with("HTTP/1.1 431"));
  std::string many = "POST / HTTP/1.1\r\n";
  for (int i = 0; i < 1000; ++i) many += "A: b\r\n";
  EXPECT_TRUE(answer_to(many).starts_with("HTTP/1.1 431"));
  EXPECT_TRUE(answer_to(kHead + "Content-Length: 2\r\n\r\nhi").ends_with("hi"));
}

TEST_F(GateTest, EndsSlowClients) {
  begin({.header_time = 300ms, .body_time = 300ms, .idle_time = 300ms});
  const Descriptor silent = connected(), half = connected(), without_body = connected();
  send_all(half.get(), "POST / HT", 1s);
  send_all(without_body.get(), kHead + "Content-Length: 2\r\n\r\nh", 1s);
  const auto begin_time = Clock::now();
  EXPECT_EQ(answer_on(silent.get()), "");
  EXPECT_TRUE(answer_on(half.get()).starts_with("HTTP/1.1 408"));
  EXPECT_TRUE(answer_on(without_body.get()).starts_with("HTTP/1.1 408"));
  EXPECT_LT(Clock::now() - begin_time, 3s);
}

TEST_F(GateTest, AnHonestClientIsServedBesideAThousandSlowOnes) {
  begin({});
  std::vector<Descriptor> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(connected());
    if (!slow.back()) GTEST_SKIP() << "this system allows only " << i << " connections";
    send_all(slow.back().get(), "POST / HTTP/1.1\r\nX: ", 1s);
  }
  for (int i = 0; i < 5; ++i) {
    const auto begin_time = Clock::now();
    const Descriptor socket = connected();
    send_all(socket.get(), kHead + "Content-Length: 2\r\nConnection: close\r\n\r\nhi", 1s);
    pollfd waits{socket.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 1000), 1);
    EXPECT_LT(Clock::now() - begin_time, 1s);
    EXPECT_TRUE(answer_on(socket.get(), 1000).ends_with("hi"));
  }
}

TEST_F(GateTest, ANewcomerTakesThePlaceOfTheOneWhoWaitsLongest) {
  begin({.connections = 4});
  std::vector<Descriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connected());
  EXPECT_TRUE(answer_to(kHead + "Content-Length: 2\r\n\r\nhi").ends_with("hi"));
}

// Damaged requests: whatever comes, the reader says yes or no and holds its limits.
TEST(RequestHead, BearsDamage) {
  const std::string head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 2";
  const std::string chunks = "4\r\nWiki\r\n6;x=y\r\npedia \r\n0\r\nT: x\r\n\r\n";
  Random random(11);
  const auto damaged = [&](std::string text) {
    for (std::int64_t i = random.integer(1, 6); i > 0 && !text.empty(); --i) {
      const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1));
      switch (random.integer(0, 3)) {
        case 0:
          text[at] = static_cast<char>(random.bits());
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(random.integer(1, 9)));
          break;
        case 2:
          text.insert(at, text.substr(at / 2, 12));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    return text;
  };
  for (int i = 0; i < 50'000; ++i) {
    if (const auto read = read_head(damaged(head)); read.ok()) {
      for (const auto& [name, value] : read->headers)
        EXPECT_EQ((name + value).find_first_of("\r\n"), std::string::npos);
    }
    std::string raw = damaged(chunks), body;
    ChunkReader(64).take(raw, body);
    EXPECT_LE(body.size(), 64u);
  }
}

}  // namespace
}  // namespace kw::mcp
