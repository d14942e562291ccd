// One POST over HTTP, given up as soon as the other side is too slow, says too much, or the answer is not wanted any
// more.
//
// libcurl's own time-outs know nothing of the first byte and of pieces that stop coming; so the transfer is stepped
// here, with every deadline looked at between steps.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "llm/endpoint.h"
#include "llm/model.h"

namespace kw::llm {

struct Post {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
};

struct Response {
  int status = 0;
  std::string content_type;
  std::optional<double> retry_after_s;
  std::string body;
};

// Called with each piece of a good (2xx) answer's body as it comes; `true` ends the transfer well: all was said.
using Piece = std::function<bool(const Response& so_far, std::string_view piece)>;

// The response, of whatever status, or the Trouble that kept it from coming.
struct Posted {
  Response response;
  std::optional<Trouble> trouble;
};
Posted post(const Post& what, const Endpoint& endpoint, const std::stop_token& stop, const Piece& piece = {});

// What a status above 299 means, with the endpoint's own words as far as they can be found in its body.
Trouble trouble_of_status(const Response& response, const Endpoint& endpoint);

// "Retry-After: 3" or a date, in seconds from now; none where it is neither.
std::optional<double> retry_after(std::string_view value);

}  // namespace kw::llm
