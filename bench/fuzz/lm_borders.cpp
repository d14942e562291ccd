// The borders of language models: their files, and the lines that they learn from.
#include <algorithm>

#include "base/files.h"
#include "fuzz/borders.h"
#include "lm/chat_template.h"
#include "lm/examples.h"
#include "lm/gguf.h"
#include "lm/model_config.h"
#include "lm/safetensors.h"
#include "lm/tokenizer.h"

namespace kw::fuzz {
namespace {

namespace fs = std::filesystem;

void take_tensors(const lm::StoredTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    (void)lm::to_floats(tensor, values).ok();
  }
}

void take_safetensors(std::string_view bytes) {
  const auto tensors = lm::parse_safetensors(std::as_bytes(std::span(bytes)), nullptr);
  if (tensors.ok()) take_tensors(*tensors);
}

void take_gguf(std::string_view bytes) {
  const auto gguf = lm::parse_gguf(std::as_bytes(std::span(bytes)), nullptr);
  if (!gguf.ok()) return;
  (void)lm::config_from_gguf(*gguf).ok();
  if (const auto json = lm::tokenizer_json_of(*gguf); json.ok()) (void)lm::Tokenizer::from_json(*json).ok();
  take_tensors(gguf->tensors);
}

void take_config(std::string_view text) {
  const auto config = lm::config_from_json(Json::parse_quietly(text));
  if (config.ok()) (void)lm::check_tensors(*config, {}).ok();
}

void take_tokenizer(std::string_view text) {
  const auto tokenizer = lm::Tokenizer::from_json(Json::parse_quietly(text));
  if (!tokenizer.ok()) return;
  const auto ids = tokenizer->encode("Hello, \xc3\xa4 world 123 <|im_end|>\n");
  if (!ids.ok()) return;
  for (const std::int32_t id : *ids) promise(id >= 0 && id < tokenizer->size());
  (void)tokenizer->decode(*ids, lm::Tokenizer::Show::all);
}

void take_template(std::string_view text) {
  const auto parsed = lm::ChatTemplate::parse(text);
  if (!parsed.ok()) return;
  const Json messages =
      Json::array({{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "Yes"}}});
  (void)parsed->render({{"messages", messages}, {"add_generation_prompt", true}, {"bos_token", "<s>"}}).ok();
}

Take examples(const fs::path& scratch) {
  return [file = scratch / "examples.jsonl"](std::string_view text) {
    if (!write_file(file, text).ok()) return;
    (void)lm::read_example_texts({file}, [](const lm::ExampleText& one) -> Status {
      promise(one.prefix.has_value() == one.suffix.has_value());
      return {};
    }).ok();
  };
}

}  // namespace

std::vector<Border> lm_borders(const fs::path& project) {
  std::vector<std::string> tokenizers, templates;
  for (const char* name : {"byte_pairs", "words"}) {
    const std::string all = *read_file(project / "tests/corpus/tokenizer_json" / name);
    tokenizers.push_back(all.substr(0, all.find('\0')));
  }
  const Json recorded = Json::parse(*read_file(project / "tests/lm/chat_templates.json"));
  for (const Json& one : recorded["cases"]) templates.push_back(one["template"].text());
  std::vector<std::string> configs;
  for (const auto& entry : fs::directory_iterator(project / "tests/lm/tiny")) {
    if (fs::exists(entry.path() / "config.json")) configs.push_back(*read_file(entry.path() / "config.json"));
  }
  std::ranges::sort(configs);
  return {
      without_state("safetensors", 60, {*read_file(project / "tests/corpus/safetensors/small.safetensors")},
                    take_safetensors),
      without_state("GGUF files", 40, {*read_file(project / "tests/corpus/gguf/quantised.gguf")}, take_gguf),
      without_state("configurations of models", 40, configs, take_config),
      without_state("tokenizers", 30, tokenizers, take_tokenizer),
      without_state("chat templates", 40, templates, take_template),
      {"lines to train on",
       20,
       {"{\"prompt\":\"a\",\"answer\":\"b\"}\n{\"prompt\":\"a\",\"prefix\":\"x\",\"answer\":\"y\",\"suffix\":\"z\"}\n"},
       examples}};
}

}  // namespace kw::fuzz
