#include "llm/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/clock.h"
#include "base/json.h"

namespace kw::llm {
namespace {

// libcurl brings some thirty other libraries: loading them would double the time in which every command of kw starts,
// and few commands talk to a model. It is opened when the first one does.
struct Library {
  void* handle = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  decltype(&::curl_global_init) curl_global_init = function<decltype(&::curl_global_init)>("curl_global_init");
  decltype(&::curl_easy_init) curl_easy_init = function<decltype(&::curl_easy_init)>("curl_easy_init");
  decltype(&::curl_easy_cleanup) curl_easy_cleanup = function<decltype(&::curl_easy_cleanup)>("curl_easy_cleanup");
  decltype(&::curl_easy_setopt) curl_easy_setopt = function<decltype(&::curl_easy_setopt)>("curl_easy_setopt");
  decltype(&::curl_easy_getinfo) curl_easy_getinfo = function<decltype(&::curl_easy_getinfo)>("curl_easy_getinfo");
  decltype(&::curl_easy_strerror) curl_easy_strerror = function<decltype(&::curl_easy_strerror)>("curl_easy_strerror");
  decltype(&::curl_multi_init) curl_multi_init = function<decltype(&::curl_multi_init)>("curl_multi_init");
  decltype(&::curl_multi_cleanup) curl_multi_cleanup = function<decltype(&::curl_multi_cleanup)>("curl_multi_cleanup");
  decltype(&::curl_multi_add_handle) curl_multi_add_handle =
      function<decltype(&::curl_multi_add_handle)>("curl_multi_add_handle");
  decltype(&::curl_multi_remove_handle) curl_multi_remove_handle =
      function<decltype(&::curl_multi_remove_handle)>("curl_multi_remove_handle");
  decltype(&::curl_multi_perform) curl_multi_perform = function<decltype(&::curl_multi_perform)>("curl_multi_perform");
  decltype(&::curl_multi_poll) curl_multi_poll = function<decltype(&::curl_multi_poll)>("curl_multi_poll");
  decltype(&::curl_multi_info_read) curl_multi_info_read =
      function<decltype(&::curl_multi_info_read)>("curl_multi_info_read");
  decltype(&::curl_slist_append) curl_slist_append = function<decltype(&::curl_slist_append)>("curl_slist_append");
  decltype(&::curl_slist_free_all) curl_slist_free_all =
      function<decltype(&::curl_slist_free_all)>("curl_slist_free_all");
  decltype(&::curl_getdate) curl_getdate = function<decltype(&::curl_getdate)>("curl_getdate");

  bool is_there() const { return handle != nullptr && curl_getdate != nullptr; }

 private:
  template <class Function>
  Function function(const char* name) const {
    return handle == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(handle, name));
  }
};

const Library& lib() {
  static const Library library;
  return library;
}

constexpr int kStep_ms = 50;  // how long a wish to stop may go unseen
constexpr std::size_t kMostHeaders = 64 << 10;

// What the callbacks of one transfer write to.
struct Transfer {
  Response response;
  const Piece* piece = nullptr;
  std::size_t most_bytes = 0;
  std::size_t header_bytes = 0;
  Clock::time_point last_byte;  // of the answer
  bool any_byte = false;
  bool all_said = false;
  bool too_large = false;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.any_byte = true;
  transfer.last_byte = Clock::now();
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kMostHeaders) {
    transfer.too_large = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    const std::size_t space = line.find(' ');
    transfer.response = {};
    if (space != std::string_view::npos)
      transfer.response.status = std::atoi(std::string(line.substr(space + 1)).c_str());
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  const std::string name = lower(std::string(line.substr(0, colon)));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "content-type") transfer.response.content_type = lower(std::string(value));
  if (name == "retry-after" && !transfer.response.retry_after_s) transfer.response.retry_after_s = retry_after(value);
  if (name == "retry-after-ms") {
    if (const auto parsed = retry_after(value)) transfer.response.retry_after_s = *parsed / 1000;
  }
  return line.size();
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view piece(data, size * count);
  transfer.any_byte = true;
  transfer.last_byte = Clock::now();
  transfer.response.body += piece;
  if (transfer.response.body.size() > transfer.most_bytes) {
    transfer.too_large = true;
    return 0;
  }
  const bool good = transfer.response.status >= 200 && transfer.response.status < 300;
  if (good && transfer.piece != nullptr && *transfer.piece && (*transfer.piece)(transfer.response, piece)) {
    transfer.all_said = true;
    return 0;
  }
  return piece.size();
}

bool is_loopback(const std::string& url) {
  const std::size_t begin = url.find("://");
  const std::string host = begin == std::string::npos ? url : url.substr(begin + 3);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

struct Curl {
  Curl() {
    static const CURLcode once = lib().curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)once;
    easy = lib().curl_easy_init();
    multi = lib().curl_multi_init();
  }
  ~Curl() {
    if (added) lib().curl_multi_remove_handle(multi, easy);
    lib().curl_easy_cleanup(easy);
    lib().curl_multi_cleanup(multi);
    lib().curl_slist_free_all(headers);
  }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;

  CURL* easy = nullptr;
  CURLM* multi = nullptr;
  curl_slist* headers = nullptr;
  bool added = false;
};

void prepare(Curl& curl, const Post& what, const Endpoint& endpoint, Transfer& transfer) {
  CURL* easy = curl.easy;
  for (const std::string& header : what.headers) curl.headers = lib().curl_slist_append(curl.headers, header.c_str());
  curl.headers = lib().curl_slist_append(curl.headers, "Content-Type: application/json");
  curl.headers = lib().curl_slist_append(curl.headers, "Expect:");  // no pause before a large body
  lib().curl_easy_setopt(easy, CURLOPT_URL, what.url.c_str());
  lib().curl_easy_setopt(easy, CURLOPT_HTTPHEADER, curl.headers);
  lib().curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(what.body.size()));
  lib().curl_easy_setopt(easy, CURLOPT_POSTFIELDS, what.body.c_str());
  lib().curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  lib().curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);  // a key goes to the address it was meant for
  lib().curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  lib().curl_easy_setopt(easy, CURLOPT_USERAGENT, "kernelwright");
  lib().curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
  lib().curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(endpoint.patience.connect_s * 1000));
  lib().curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  lib().curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  lib().curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  lib().curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  if (is_loopback(what.url)) lib().curl_easy_setopt(easy, CURLOPT_PROXY, "");
  lib().curl_multi_add_handle(curl.multi, easy);
  curl.added = true;
}

Trouble slow(std::string message) {
  return {.kind = Trouble::Kind::slow, .message = std::move(message), .try_again = true};
}

Trouble too_large(const Endpoint& endpoint) {
  return {.kind = Trouble::Kind::too_large,
          .message = fmt::format("{} sent more than {} MB for one answer", endpoint.name(), endpoint.most_bytes >> 20)};
}

Trouble trouble_of(CURLcode code, const Endpoint& endpoint) {
  const std::string what = fmt::format("{} at {}: {}", endpoint.name(), endpoint.url, lib().curl_easy_strerror(code));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return slow(fmt::format("{} at {}: no connection within {} s", endpoint.name(), endpoint.url,
                              endpoint.patience.connect_s));
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9: something there that speaks no HTTP
      return {.kind = Trouble::Kind::garbled, .message = what, .try_again = true};
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return {.kind = Trouble::Kind::unreachable, .message = what, .try_again = true};
    default:
      return {.kind = Trouble::Kind::unreachable, .message = what};
  }
}

}  // namespace

Posted post(const Post& what, const Endpoint& endpoint, const std::stop_token& stop, const Piece& piece) {
  Posted posted;
  if (!lib().is_there()) {
    posted.trouble = Trouble{.kind = Trouble::Kind::unreachable,
                             .message = "libcurl.so.4 is not here; on Debian: apt-get install libcurl4"};
    return posted;
  }
  Transfer transfer;
  transfer.piece = &piece;
  transfer.most_bytes = endpoint.most_bytes;
  Curl curl;
  prepare(curl, what, endpoint, transfer);
  const Clock::time_point begin = Clock::now();
  transfer.last_byte = begin;
  const Patience& patience = endpoint.patience;

  for (int running = 1; running > 0;) {
    if (lib().curl_multi_perform(curl.multi, &running) != CURLM_OK) break;
    if (stop.stop_requested()) {
      posted.trouble = Trouble{.kind = Trouble::Kind::cancelled, .message = "cancelled"};
      return posted;
    }
    if (running == 0) break;
    if (seconds_since(begin) > patience.whole_s) {
      posted.trouble = slow(fmt::format("{}: no whole answer within {} s", endpoint.name(), patience.whole_s));
      return posted;
    }
    // Connecting has its own time-out; until then the clock of the first byte stands still.
    curl_off_t connected_us = 0;
    lib().curl_easy_getinfo(curl.easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    if (connected_us == 0 && !transfer.any_byte) transfer.last_byte = Clock::now();
    if (seconds_since(transfer.last_byte) > patience.first_byte_s) {
      posted.trouble = slow(transfer.any_byte
                                ? fmt::format("{}: the answer stopped for {} s", endpoint.name(), patience.first_byte_s)
                                : fmt::format("{}: nothing came for {} s", endpoint.name(), patience.first_byte_s));
      return posted;
    }
    lib().curl_multi_poll(curl.multi, nullptr, 0, kStep_ms, nullptr);
  }

  posted.response = std::move(transfer.response);
  if (transfer.too_large) {
    posted.trouble = too_large(endpoint);
    return posted;
  }
  int left = 0;
  while (const CURLMsg* message = lib().curl_multi_info_read(curl.multi, &left)) {
    if (message->msg == CURLMSG_DONE && message->data.result != CURLE_OK && !transfer.all_said) {
      posted.trouble = trouble_of(message->data.result, endpoint);
    }
  }
  return posted;
}

Trouble trouble_of_status(const Response& response, const Endpoint& endpoint) {
  const int status = response.status;
  std::string said;
  const auto json = Json::parse_quietly(response.body);
  if (json.is_object()) {
    const auto error = json.find("error");
    if (error != nullptr && error->is_object() && error->contains("message") && (*error)["message"].is_string()) {
      said = (*error)["message"].get<std::string>();
    } else if (error != nullptr && error->is_string()) {
      said = error->get<std::string>();
    } else if (json.contains("message") && json["message"].is_string()) {
      said = json["message"].get<std::string>();
    }
  }
  if (said.empty()) said = std::string(trimmed(response.body)).substr(0, 200);
  if (said.size() > 500) said = said.substr(0, 500) + "...";
  Trouble trouble{.message = fmt::format("{} answered {}{}{}", endpoint.name(), status, said.empty() ? "" : ": ", said),
                  .retry_after_s = response.retry_after_s};
  const bool busy = status == 408 || status == 409 || status == 429 || status >= 500;
  if (busy) {
    trouble.kind = Trouble::Kind::busy;
    trouble.try_again = true;
  } else if (status == 401 || status == 403) {
    trouble.kind = Trouble::Kind::key;
    if (endpoint.key.empty()) trouble.message += " (no key was given)";
  } else if (status >= 300 && status < 400) {
    trouble.kind = Trouble::Kind::request;
    trouble.message += " (a redirection, which is not followed: give the address it leads to)";
  } else {
    trouble.kind = Trouble::Kind::request;
  }
  return trouble;
}

std::optional<double> retry_after(std::string_view value) {
  const std::string text(trimmed(value));
  if (text.empty()) return std::nullopt;
  if (std::isdigit(static_cast<unsigned char>(text.front()))) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    return *end == '\0' && seconds < 1e9 ? std::optional(seconds) : std::nullopt;
  }
  if (!lib().is_there()) return std::nullopt;
  const std::time_t then = lib().curl_getdate(text.c_str(), nullptr);
  if (then < 0) return std::nullopt;
  return std::max(0.0, std::difftime(then, std::time(nullptr)));
}

}  // namespace kw::llm
