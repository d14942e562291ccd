// Where tokenizers come from besides tokenizer.json: GGUF's metadata and tiktoken's files, written as a tokenizer.json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/files.h"
#include "lm/byte_pairs.h"
#include "lm/pattern.h"
#include "lm/tokenizer.h"

namespace kw::lm {
namespace {

Json byte_level(bool by_pattern) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", by_pattern}};
}

Json split_by(const std::string& pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json sequence(std::initializer_list<Json> steps) {
  return {{"type", "Sequence"}, {"pretokenizers", Json::array(steps)}};
}

struct Splitting {
  Json steps;
  bool nfc = false;
  bool whole_first = false;
};

// By the name that llama.cpp gives to a way of splitting.
Result<Splitting> splitting_named(const std::string& name) {
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* one) { return name == one; });
  };
  if (is_one_of({"gpt-2", "gpt2", "default"})) return Splitting{.steps = byte_level(true)};
  if (is_one_of({"smollm", "starcoder", "refact", "command-r", "codeshell"})) {
    return Splitting{.steps = sequence({{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)})};
  }
  if (is_one_of({"llama-bpe", "llama3", "llama-v3"})) {
    return Splitting{.steps = sequence({split_by(kLlama3Pattern), byte_level(false)}), .whole_first = true};
  }
  if (is_one_of({"qwen2", "deepseek-r1-qwen"})) {
    return Splitting{.steps = sequence({split_by(kQwen2Pattern), byte_level(false)}), .nfc = true};
  }
  return fail("the pre-tokenizer '{}' is not supported (gpt-2, smollm, llama-bpe and qwen2 are)", name);
}

Json whole_json(Splitting splitting, Json added, Json vocabulary, Json merges) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", splitting.nfc ? Json{{"type", "NFC"}} : Json()},
          {"pre_tokenizer", std::move(splitting.steps)},
          {"post_processor", nullptr},
          {"decoder", byte_level(true)},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", splitting.whole_first},
            {"vocab", std::move(vocabulary)},
            {"merges", std::move(merges)}}}};
}

Json added_token(std::int64_t id, const std::string& text, bool special) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

// An object of many names: looking each up before it is added would take their square.
class Vocabulary {
 public:
  Status add(const std::string& token, std::int64_t id) {
    if (!seen_.emplace(token, id).second) return fail("the token '{}' is there twice", token);
    json_.items().emplace_back(token, Json(id));
    return {};
  }
  bool has(const std::string& token) const { return seen_.contains(token); }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
  std::unordered_map<std::string, std::int64_t> seen_;
};

Result<Json> read_gguf(const Gguf& gguf) {
  const auto need = [&](const char* name) -> Result<const Json*> {
    const Json* found = gguf.find(name);
    if (found == nullptr) return fail("its metadata lack {}", name);
    return found;
  };
  KW_TRY(const Json* model, need("tokenizer.ggml.model"));
  if (model->text() != "gpt2")
    return fail("tokenizers of type '{}' are not supported (gpt2, that is byte pairs, is)", model->text());
  const Json* pre = gguf.find("tokenizer.ggml.pre");
  KW_TRY(Splitting splitting, splitting_named(pre == nullptr ? "default" : pre->text()));
  KW_TRY(const Json* tokens, need("tokenizer.ggml.tokens"));
  KW_TRY(const Json* merges, need("tokenizer.ggml.merges"));
  const Json* types = gguf.find("tokenizer.ggml.token_type");
  constexpr std::int64_t kControl = 3, kUserDefined = 4;
  Vocabulary vocabulary;
  Json added = Json::array();
  std::int64_t id = 0;
  for (const Json& token : *tokens) {
    const std::int64_t kind =
        types != nullptr && id < static_cast<std::int64_t>(types->size()) ? types->at(id).get<std::int64_t>() : 1;
    KW_CHECK(vocabulary.add(token.text(), id));
    if (kind == kControl || kind == kUserDefined) added.push_back(added_token(id, token.text(), kind == kControl));
    ++id;
  }
  Json json = whole_json(std::move(splitting), std::move(added), vocabulary.take(), *merges);
  const Json* adds_begin = gguf.find("tokenizer.ggml.add_bos_token");
  const Json* begin = gguf.find("tokenizer.ggml.bos_token_id");
  if (adds_begin != nullptr && begin != nullptr && adds_begin->get<bool>()) {
    const std::string name = tokens->at(begin->get<std::int64_t>()).text();
    json["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", Json::array({{{"SpecialToken", {{"id", name}, {"type_id", 0}}}},
                                {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})},
        {"pair", Json::array()},
        {"special_tokens", {{name, {{"id", name}, {"ids", Json::array({*begin})}, {"tokens", Json::array({name})}}}}}};
  }
  return json;
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Result<std::string> from_base64(std::string_view text) {
  std::string bytes;
  unsigned gathered = 0;
  int bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const int value = base64_value(c);
    if (value < 0) return fail("'{}' is no base64", text);
    gathered = (gathered << 6 | static_cast<unsigned>(value)) & 0xFFFFFF;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(gathered >> bits & 0xFF);
    }
  }
  return bytes;
}

}  // namespace

Result<Json> tokenizer_json_of(const Gguf& gguf) {
  try {
    return read_gguf(gguf);
  } catch (const JsonError& error) {
    return fail("the tokenizer's metadata: {}", error.what());
  }
}

Result<Json> tokenizer_json_of_tiktoken(std::string_view file, const std::string& pattern, bool nfc,
                                        const std::vector<std::string>& specials) {
  std::vector<std::string> tokens;  // by rank
  std::unordered_map<std::string, std::int64_t> ranks;
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(line.size() + 1, file.size()));
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    std::int64_t rank = -1;
    if (space != std::string_view::npos) std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    if (rank != std::ssize(tokens)) return fail("line {}: not a token and its rank", tokens.size() + 1);
    KW_TRY(tokens.emplace_back(), from_base64(line.substr(0, space)));
    ranks[tokens.back()] = rank;
  }
  Vocabulary vocabulary;
  Json merges = Json::array(), added = Json::array();
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    KW_CHECK(vocabulary.add(as_byte_characters(tokens[rank]), static_cast<std::int64_t>(rank)));
    // Every way to make it of two tokens may come to be used; those of earlier tokens are tried first.
    std::vector<std::array<std::int64_t, 2>> ways;
    for (std::size_t cut = 1; cut < tokens[rank].size(); ++cut) {
      const auto left = ranks.find(tokens[rank].substr(0, cut)), right = ranks.find(tokens[rank].substr(cut));
      if (left != ranks.end() && right != ranks.end()) ways.push_back({left->second, right->second});
    }
    std::ranges::sort(ways);
    for (const auto& [left, right] : ways) {
      merges.push_back(Json::array({as_byte_characters(tokens[static_cast<std::size_t>(left)]),
                                    as_byte_characters(tokens[static_cast<std::size_t>(right)])}));
    }
  }
  auto id = std::ssize(tokens);
  for (const std::string& special : specials) added.push_back(added_token(id++, special, true));
  Splitting splitting{.steps = sequence({split_by(pattern), byte_level(false)}), .nfc = nfc};
  return whole_json(std::move(splitting), std::move(added), vocabulary.take(), std::move(merges));
}

Result<Json> tokenizer_json_of_merges(const std::vector<std::string>& tokens, const std::vector<TokenPair>& merges,
                                      const std::string& pattern, const std::vector<std::string>& specials) {
  Vocabulary vocabulary;
  Json pairs = Json::array(), added = Json::array();
  std::int64_t id = 0;
  for (const std::string& token : tokens) KW_CHECK(vocabulary.add(as_byte_characters(token), id++));
  for (const auto& [left, right] : merges) {
    pairs.push_back(Json::array({as_byte_characters(tokens[static_cast<std::size_t>(left)]),
                                 as_byte_characters(tokens[static_cast<std::size_t>(right)])}));
  }
  for (const std::string& special : specials) added.push_back(added_token(id++, special, true));
  return whole_json({.steps = sequence({split_by(pattern), byte_level(false)})}, std::move(added), vocabulary.take(),
                    std::move(pairs));
}

Result<Json> tokenizer_json_of(const ModelFiles& files) {
  if (files.gguf) {
    auto json = tokenizer_json_of(*files.gguf);
    if (!json.ok()) return at(files.path.string(), json.error());
    return json;
  }
  const auto path = files.path / "tokenizer.json";
  KW_TRY(const std::string text, read_file(path));
  try {
    return Json::parse(text);
  } catch (const JsonError& error) {
    return fail("{}: {}", path.string(), error.what());
  }
}

}  // namespace kw::lm
