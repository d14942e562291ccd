// How a question, and a hole that is to be filled, become tokens: the same for training a model and for asking it.
//
// A question goes through the model's chat template, where it has one. A hole is asked for with the three tokens that
// models of code are trained with, before ... after ... what is between: <|fim_prefix|>, <|fim_suffix|>,
// <|fim_middle|>. What stands before and after the hole is text: special tokens in it are letters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/chat_template.h"
#include "lm/tokenizer.h"

namespace kw::lm {

class PromptForm {
 public:
  explicit PromptForm(Tokenizer tokenizer, std::optional<ModelChat> chat = {});
  // Of a folder or a GGUF file; a chat template that cannot be read is none.
  static Result<PromptForm> of(const ModelFiles& files);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  // [{"role": ..., "content": ...}], ready for the answer. Without a template, the contents one after the other.
  Result<std::vector<std::int32_t>> of_messages(const Json& messages) const;
  Result<std::string> text_of_messages(const Json& messages) const;
  Result<std::vector<std::int32_t>> of_question(std::string_view question) const;
  // `ids`, then a request to write what stands between.
  Result<std::vector<std::int32_t>> asking_between(std::vector<std::int32_t> ids, std::string_view before,
                                                   std::string_view after) const;
  bool can_ask_between() const { return before_ && after_ && between_; }
  Result<std::vector<std::int32_t>> plain(std::string_view text) const {
    return tokenizer_.encode(text, Specials::as_text);
  }

 private:
  Tokenizer tokenizer_;
  std::optional<ModelChat> chat_;
  std::optional<std::int32_t> before_, after_, between_;
};

}  // namespace kw::lm
