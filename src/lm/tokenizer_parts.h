// What a tokenizer consists of, as its reader (tokenizer_json.cpp) makes it and its encoder (tokenizer.cpp) uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "lm/byte_pairs.h"
#include "lm/pattern.h"
#include "lm/tokenizer.h"

namespace kw::lm {

struct AddedToken {
  std::int32_t id = 0;
  std::string text;
  bool special = false;
  bool normalised = false;  // it is looked for in the normalised text
  bool takes_space_before = false, takes_space_after = false;
  bool single_word = false;
};

// Finds the longest of its tokens at the first place where one stands.
class AddedTokens {
 public:
  void add(AddedToken token);
  struct Found {
    const AddedToken* token = nullptr;  // null: text up to the next token
    std::string_view text;
  };
  // The text in order: tokens, and what lies between them.
  std::vector<Found> split(std::string_view text, Specials specials) const;
  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<char, std::vector<std::size_t>> by_first_;  // longest first
};

// A word by the longest pieces that begin it: "un", "##know", "##n".
struct WordPiece {
  std::vector<std::string> texts;  // by id
  std::unordered_map<std::string, std::int32_t> ids;
  std::string continuing = "##";
  std::int32_t unknown = 0;
  std::int64_t most_characters = 100;  // of a word; a longer one is unknown

  void encode(std::string_view word, std::vector<std::int32_t>& out) const;
};

using Change = std::function<std::string(std::string)>;
// Pieces of a piece.
using Split = std::function<Result<std::vector<std::string>>(const std::string&)>;

struct Tokenizer::Parts {
  AddedTokens raw, in_normalised;
  std::vector<Change> changes;
  std::vector<Split> splits;
  std::variant<BytePairs, WordPiece> model;
  std::vector<std::int32_t> before, after;
  std::int64_t size = 0;
};

}  // namespace kw::lm
