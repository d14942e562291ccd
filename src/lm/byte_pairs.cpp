#include "lm/byte_pairs.h"

#include <array>
#include <queue>
#include <tuple>

#include "lm/unicode.h"

namespace kw::lm {
namespace {

// Bytes that print as themselves keep their place; the others follow from U+0100 in order.
const std::array<std::int32_t, 256>& characters_of_bytes() {
  static const std::array<std::int32_t, 256> all = [] {
    std::array<std::int32_t, 256> made = {};
    std::int32_t next = 0x100;
    for (std::int32_t byte = 0; byte < 256; ++byte) {
      const bool prints = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      made[static_cast<std::size_t>(byte)] = prints ? byte : next++;
    }
    return made;
  }();
  return all;
}

struct Symbol {
  std::int32_t id;
  std::int32_t previous, next;  // -1: none
};

struct Candidate {
  std::int32_t rank, left, right, left_id, right_id, made;
  bool operator<(const Candidate& other) const { return std::tie(other.rank, other.left) < std::tie(rank, left); }
};

}  // namespace

std::string as_byte_characters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_character(text, characters_of_bytes()[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  static const std::unordered_map<std::int32_t, char> byte_of = [] {
    std::unordered_map<std::int32_t, char> made;
    for (std::size_t byte = 0; byte < 256; ++byte) made[characters_of_bytes()[byte]] = static_cast<char>(byte);
    return made;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = byte_of.find(next_character(text, at));
    if (found == byte_of.end()) return std::nullopt;
    bytes += found->second;
  }
  return bytes;
}

void BytePairs::encode(std::string_view piece, std::vector<std::int32_t>& out) const {
  if (whole_first) {
    if (const auto found = ids.find(std::string(piece)); found != ids.end()) {
      out.push_back(found->second);
      return;
    }
  }
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (const char byte : piece) {
    const auto found = ids.find(std::string(1, byte));
    if (found == ids.end() && !unknown) continue;
    const auto place = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({found == ids.end() ? *unknown : found->second, place - 1, place + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::int32_t left) {
    const std::int32_t right = left < 0 ? -1 : symbols[static_cast<std::size_t>(left)].next;
    if (right < 0) return;
    const std::int32_t left_id = symbols[static_cast<std::size_t>(left)].id,
                       right_id = symbols[static_cast<std::size_t>(right)].id;
    const auto found = merges.find(pair(left_id, right_id));
    if (found != merges.end()) queue.push({found->second.rank, left, right, left_id, right_id, found->second.id});
  };
  for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(symbols.size()); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol &left = symbols[static_cast<std::size_t>(best.left)], &right = symbols[static_cast<std::size_t>(best.right)];
    // A symbol that was merged since has another id or neighbour.
    if (left.id != best.left_id || right.id != best.right_id || left.next != best.right) continue;
    left.id = best.made;
    left.next = right.next;
    right.id = -1;
    if (right.next >= 0) symbols[static_cast<std::size_t>(right.next)].previous = best.left;
    offer(left.previous);
    offer(best.left);
  }
  for (std::int32_t at = 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].next) {
    out.push_back(symbols[static_cast<std::size_t>(at)].id);
  }
}

}  // namespace kw::lm
