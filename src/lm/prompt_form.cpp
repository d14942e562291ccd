#include "lm/prompt_form.h"

namespace kw::lm {

PromptForm::PromptForm(Tokenizer tokenizer, std::optional<ModelChat> chat)
    : tokenizer_(std::move(tokenizer)),
      chat_(std::move(chat)),
      before_(tokenizer_.id_of("<|fim_prefix|>")),
      after_(tokenizer_.id_of("<|fim_suffix|>")),
      between_(tokenizer_.id_of("<|fim_middle|>")) {}

Result<PromptForm> PromptForm::of(const ModelFiles& files) {
  KW_TRY(const Json json, tokenizer_json_of(files));
  auto tokenizer = Tokenizer::from_json(json);
  if (!tokenizer.ok()) return at(files.path.string(), tokenizer.error());
  auto chat = chat_of(files);
  return PromptForm(*std::move(tokenizer), chat.ok() ? std::optional(*std::move(chat)) : std::nullopt);
}

Result<std::string> PromptForm::text_of_messages(const Json& messages) const {
  if (chat_) return chat_->render(messages);
  std::string text;
  for (const Json& message : messages) text += message["content"].text();
  return text;
}

Result<std::vector<std::int32_t>> PromptForm::of_messages(const Json& messages) const {
  KW_TRY(const std::string text, text_of_messages(messages));
  KW_TRY(auto ids, tokenizer_.encode(text));
  return chat_ ? ids : tokenizer_.around(std::move(ids));
}

Result<std::vector<std::int32_t>> PromptForm::of_question(std::string_view question) const {
  return of_messages(Json::array({{{"role", "user"}, {"content", question}}}));
}

Result<std::vector<std::int32_t>> PromptForm::asking_between(std::vector<std::int32_t> ids, std::string_view before,
                                                             std::string_view after) const {
  if (!can_ask_between()) return fail("the tokenizer has no <|fim_prefix|>, <|fim_suffix|> and <|fim_middle|>");
  KW_TRY(const auto first, plain(before));
  KW_TRY(const auto last, plain(after));
  ids.push_back(*before_);
  ids.insert(ids.end(), first.begin(), first.end());
  ids.push_back(*after_);
  ids.insert(ids.end(), last.begin(), last.end());
  ids.push_back(*between_);
  return ids;
}

}  // namespace kw::lm
