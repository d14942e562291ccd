// Keys must not be seen: not in messages, not in the record, not in cassettes. Whatever leaves this room passes here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/endpoint.h"

namespace kw::llm {

class Secrets {
 public:
  Secrets() = default;
  // The endpoint's key, and the password and the query of its address.
  explicit Secrets(const Endpoint& endpoint);

  void add(std::string secret);
  // The text with every secret, and everything that looks like a key ("sk-...", "Bearer ..."), blacked out.
  std::string hidden(std::string text) const;

 private:
  std::vector<std::string> secrets_;  // the longest first
};

}  // namespace kw::llm
