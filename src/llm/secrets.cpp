#include "llm/secrets.h"

#include <algorithm>
#include <cctype>

namespace kw::llm {
namespace {

constexpr std::string_view kBlack = "[hidden]";
constexpr std::size_t kShortestSecret = 4;  // shorter ones would black out ordinary words

bool part_of_a_key(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '*';
}

// Blacks out the word behind `mark` where it is long enough to be a key.
void hide_behind(std::string& text, std::string_view mark, std::size_t least, bool with_mark) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    const bool begins_a_word = at == 0 || !part_of_a_key(text[at - 1]);
    const std::size_t begin = at + mark.size();
    std::size_t end = begin;
    while (end < text.size() && part_of_a_key(text[end])) ++end;
    at = begin;
    if (!begins_a_word || end - begin < least) continue;
    const std::size_t from = with_mark ? begin - mark.size() : begin;
    text.replace(from, end - from, kBlack);
    at = from + kBlack.size();
  }
}

}  // namespace

Secrets::Secrets(const Endpoint& endpoint) {
  add(endpoint.key);
  const std::string& url = endpoint.url;
  const std::size_t host = url.find("://");
  if (host == std::string::npos) return;
  const std::size_t path = url.find('/', host + 3);
  const std::size_t at = url.rfind('@', path);
  if (at != std::string::npos && at > host) {
    const std::size_t colon = url.find(':', host + 3);
    if (colon < at) add(url.substr(colon + 1, at - colon - 1));
  }
  if (const std::size_t query = url.find('?'); query != std::string::npos) add(url.substr(query + 1));
}

void Secrets::add(std::string secret) {
  if (secret.size() < kShortestSecret) return;
  secrets_.push_back(std::move(secret));
  std::ranges::sort(secrets_, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string Secrets::hidden(std::string text) const {
  for (const std::string& secret : secrets_) {
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kBlack.size())) {
      text.replace(at, secret.size(), kBlack);
    }
  }
  hide_behind(text, "sk-", 8, true);
  hide_behind(text, "Bearer ", 8, false);
  return text;
}

}  // namespace kw::llm
