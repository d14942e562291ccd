// Chat templates: how a conversation becomes the text that a model was trained on, in the template language of Jinja.
//
// A subset, chosen from the templates of the models that we run: text, {{ expressions }}, {# comments #}, for with
// loop.*, if, set (also of a namespace's member), whitespace control; literals, members, slices, calls of a few methods
// and filters, tests, arithmetic, comparison, in, and, or, not, inline if. Blocks are trimmed as Hugging Face does it
// (trim_blocks, lstrip_blocks). Anything else is an Error that names it and its line; a template that loops for too
// long or nests too deeply is stopped.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "lm/model_files.h"

namespace kw::lm {

class ChatTemplate {
 public:
  static Result<ChatTemplate> parse(std::string_view text);
  // `variables`: messages ([{"role": ..., "content": ...}]), add_generation_prompt, bos_token, eos_token, ...
  Result<std::string> render(const Json& variables) const;

 private:
  struct Block;
  friend class TemplateParser;
  explicit ChatTemplate(std::shared_ptr<const Block> body) : body_(std::move(body)) {}
  std::shared_ptr<const Block> body_;
};

// The template of a model, with its bos_token and eos_token; an Error where it has none.
struct ModelChat {
  ChatTemplate shape;
  Json tokens;  // {"bos_token": "...", "eos_token": "..."}

  Result<std::string> render(const Json& messages) const;  // ready for the model's answer
};
Result<ModelChat> chat_of(const ModelFiles& files);

}  // namespace kw::lm
