// Text to token ids and back, as the tokenizer of a model does it: special tokens are found first, the rest is
// normalised, split into pieces, and each piece becomes tokens by byte pairs or by WordPiece.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/gguf.h"
#include "lm/model_files.h"

namespace kw::lm {

enum class Specials {
  recognise,  // "<|im_end|>" in a text is that token
  as_text,    // it is twelve letters like any others: for texts that come from outside
};

class Tokenizer {
 public:
  // tokenizer.json of Hugging Face; what it asks for and we lack is an Error that names it.
  static Result<Tokenizer> from_json(const Json& json);

  // Without the tokens that a model wants around every text; see `around`.
  Result<std::vector<std::int32_t>> encode(std::string_view text, Specials specials = Specials::recognise) const;
  // What a model wants before and after every text, such as [CLS] and [SEP].
  std::vector<std::int32_t> around(std::vector<std::int32_t> ids) const;

  enum class Show { all, no_specials };
  // Bytes: a token may hold a part of a character.
  std::string decode(std::span<const std::int32_t> ids, Show show = Show::no_specials) const;

  std::int64_t size() const;                                          // one more than the largest id
  std::optional<std::int32_t> id_of(const std::string& token) const;  // of a special token by its text

 private:
  struct Parts;
  friend class TokenizerReader;
  explicit Tokenizer(std::shared_ptr<const Parts> parts);
  std::shared_ptr<const Parts> parts_;
};

// The tokenizer.json that says what a GGUF file's metadata, or a tiktoken file with this pattern and these special
// tokens after its own, say.
Result<Json> tokenizer_json_of(const Gguf& gguf);
Result<Json> tokenizer_json_of_tiktoken(std::string_view file, const std::string& pattern, bool nfc,
                                        const std::vector<std::string>& specials);
// Of byte-level tokens by id, the pairs of them that are merged in this order, and special tokens after them.
struct TokenPair {
  std::int32_t left = 0, right = 0;
};
Result<Json> tokenizer_json_of_merges(const std::vector<std::string>& tokens, const std::vector<TokenPair>& merges,
                                      const std::string& pattern, const std::vector<std::string>& specials);
// Where it lies in the folder or the file.
Result<Json> tokenizer_json_of(const ModelFiles& files);

}  // namespace kw::lm
