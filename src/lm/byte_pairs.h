// Byte-pair encoding: a piece of text begins as its bytes, and the pair of neighbours that was learnt first is merged
// until none is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::lm {

// Vocabularies write bytes as printable characters ("Ġthe" is " the"); these go there and back. Text with a character
// that stands for no byte gives nothing.
std::string as_byte_characters(std::string_view bytes);
std::optional<std::string> bytes_of_characters(std::string_view text);

struct BytePairs {
  std::vector<std::string> bytes;                     // of each token; empty where an id has none
  std::unordered_map<std::string, std::int32_t> ids;  // by their bytes
  struct Merge {
    std::int32_t rank, id;
  };
  std::unordered_map<std::uint64_t, Merge> merges;  // by the two ids
  bool whole_first = false;                         // a piece that is a token stays one, whatever the merges say
  std::optional<std::int32_t> unknown;              // for a byte that no token has; without it such bytes vanish

  static std::uint64_t pair(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  void encode(std::string_view piece, std::vector<std::int32_t>& out) const;
};

}  // namespace kw::lm
