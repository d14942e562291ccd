#include "llm/model.h"

#include <string_view>

namespace kw::llm {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::tool:
      return "tool";
    case Role::assistant:
      break;
  }
  return "assistant";
}

std::string_view name_of(Trouble::Kind kind) {
  using Kind = Trouble::Kind;
  switch (kind) {
    case Kind::key:
      return "key";
    case Kind::request:
      return "request";
    case Kind::unreachable:
      return "unreachable";
    case Kind::slow:
      return "slow";
    case Kind::busy:
      return "busy";
    case Kind::garbled:
      return "garbled";
    case Kind::too_large:
      return "too large";
    case Kind::refused:
      return "refused";
    case Kind::cut_off:
      return "cut off";
    case Kind::budget:
      return "budget";
    case Kind::cancelled:
      return "cancelled";
    case Kind::unknown:
      return "unknown";
    case Kind::program:
      break;
  }
  return "program";
}

bool Trouble::ends_the_run() const {
  return kind == Kind::key || kind == Kind::request || kind == Kind::unreachable || kind == Kind::budget ||
         kind == Kind::cancelled || kind == Kind::unknown;
}

Usage& Usage::operator+=(const Usage& other) {
  input_tokens += other.input_tokens;
  cached_tokens += other.cached_tokens;
  output_tokens += other.output_tokens;
  guessed = guessed || other.guessed;
  return *this;
}

std::int64_t guessed_tokens(std::string_view text) { return (static_cast<std::int64_t>(text.size()) + 3) / 4; }

std::string measured(const std::string& fact) { return "\x02" + fact + "\x03"; }

Answer troubled(Trouble::Kind kind, std::string message) {
  Answer answer;
  answer.trouble = Trouble{.kind = kind, .message = std::move(message)};
  return answer;
}

}  // namespace kw::llm
