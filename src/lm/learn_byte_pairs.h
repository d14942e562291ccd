// A byte-level vocabulary of one's own: which neighbours to merge, learnt from the texts that the model will see.
//
// Texts are cut into pieces as Qwen's are (words, single digits, runs of spaces), and within pieces the pair of tokens
// that is there most often becomes a token, again and again. Nothing is normalised, so that every text comes back byte
// for byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/pattern.h"

namespace kw::lm {

class BytePairLearner {
 public:
  static Result<BytePairLearner> begin();
  Status add(std::string_view text);
  // A tokenizer.json of at most `size` tokens: 256 bytes, what was learnt, then the special tokens. The same texts in
  // any order give the same one. Fails where `size` has no room for the bytes and special tokens.
  Result<Json> learn(std::int64_t size, const std::vector<std::string>& specials) const;

 private:
  explicit BytePairLearner(Pattern pattern) : pattern_(std::move(pattern)) {}
  Pattern pattern_;
  std::unordered_map<std::string, std::int64_t> pieces_;  // how often each is there
};

}  // namespace kw::lm
