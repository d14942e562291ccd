// The protocol over HTTP, on this machine alone: POST /mcp on 127.0.0.1.
//
// A client must show a token, and a page in a browser must come from this machine: any site that a person looks at
// could send requests here. Conversations that begin with `initialize` get a session's id; stateless requests stand
// alone. A reply that takes a while is sent as a stream of events, with progress on the way, and a client that closes
// it cancels its request.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::mcp {

class Desk;

struct HttpRules {
  int port = 0;  // 0: any that is free
  std::string token;
};

class HttpServer {
 public:
  // Bound, and not yet serving.
  static Result<HttpServer> open(Desk& desk, HttpRules rules);
  HttpServer(HttpServer&&) noexcept;
  ~HttpServer();

  int port() const;
  std::string url() const;
  // Until stop() is called from another thread.
  void serve();
  void stop();

 private:
  struct Inside;
  explicit HttpServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

// "localhost:8000", "127.0.0.1", "[::1]:80" and nothing else: no user before the name, no path after the port.
bool is_this_machine(std::string_view host);
// "http://localhost:8000"
bool is_own_origin(std::string_view origin);

// 32 random letters.
std::string new_token();

}  // namespace kw::mcp
