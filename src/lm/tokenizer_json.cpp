// Reads tokenizer.json of Hugging Face's `tokenizers`: each of its steps becomes a function, or an Error that names it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lm/tokenizer.h"
#include "lm/tokenizer_parts.h"
#include "lm/unicode.h"

namespace kw::lm {

class TokenizerReader {
 public:
  static Result<Tokenizer> read(const Json& json) {
    TokenizerReader reader;
    KW_CHECK(reader.read_model(json["model"]));
    KW_CHECK(reader.read_normalizer(optional(json, "normalizer")));
    KW_CHECK(reader.read_pre_tokenizer(optional(json, "pre_tokenizer")));
    if (!reader.is_word_piece() && !reader.byte_level_) {
      return fail("the tokenizer is not byte-level: byte pairs of other kinds are not supported");
    }
    KW_CHECK(reader.read_added(optional(json, "added_tokens")));
    KW_CHECK(reader.read_post_processor(optional(json, "post_processor")));
    return Tokenizer(std::move(reader.parts_));
  }

 private:
  static constexpr std::int32_t kMostId = 10'000'000;

  static const Json& optional(const Json& json, const char* name) {
    static const Json null;
    const Json* found = json.find(name);
    return found == nullptr ? null : *found;
  }

  static bool flag(const Json& json, const char* name, bool otherwise = false) {
    const Json& value = optional(json, name);
    return value.is_boolean() ? value.get<bool>() : otherwise;
  }

  bool is_word_piece() const { return std::holds_alternative<WordPiece>(parts_->model); }

  Result<std::int32_t> id_in_range(const std::string& token, const Json& value) {
    const auto id = value.get<std::int64_t>();
    if (id < 0 || id > kMostId) return fail("{} has the id {}", token, id);
    parts_->size = std::max<std::int64_t>(parts_->size, id + 1);
    return static_cast<std::int32_t>(id);
  }

  Status read_model(const Json& model) {
    const std::string type = model.value("type", model.contains("merges") ? "BPE" : "");
    if (type == "BPE") return read_byte_pairs(model);
    if (type == "WordPiece") return read_word_piece(model);
    return fail("tokenizers of type '{}' are not supported (BPE and WordPiece are)", type);
  }

  Status read_byte_pairs(const Json& model) {
    if (flag(model, "byte_fallback")) return fail("byte pairs with byte_fallback are not supported");
    if (optional(model, "dropout").is_number()) return fail("byte pairs with dropout are not supported");
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = optional(model, name);
      if (value.is_string() && !value.text().empty()) return fail("byte pairs with {} are not supported", name);
    }
    BytePairs pairs;
    std::unordered_map<std::string, std::int32_t> by_text;
    for (const auto& [token, value] : model["vocab"].items()) {
      KW_TRY(const std::int32_t id, id_in_range(token, value));
      by_text[token] = id;
      const auto bytes = bytes_of_characters(token);
      if (!bytes) continue;  // an added token: it is read as such
      if (pairs.bytes.size() <= static_cast<std::size_t>(id)) pairs.bytes.resize(static_cast<std::size_t>(id) + 1);
      pairs.bytes[static_cast<std::size_t>(id)] = *bytes;
      pairs.ids[*bytes] = id;
    }
    std::int32_t rank = 0;
    pairs.merges.reserve(model["merges"].size());
    for (const Json& merge : model["merges"]) {
      std::string left, right;
      if (merge.is_string()) {
        const std::size_t space = merge.text().find(' ');
        if (space == std::string::npos) return fail("the merge '{}' has one part", merge.text());
        left = merge.text().substr(0, space);
        right = merge.text().substr(space + 1);
      } else {
        if (merge.size() != 2) return fail("a merge has {} parts", merge.size());
        left = merge[0].text();
        right = merge[1].text();
      }
      const auto a = by_text.find(left), b = by_text.find(right), made = by_text.find(left + right);
      if (a == by_text.end() || b == by_text.end() || made == by_text.end()) {
        return fail("the merge of '{}' and '{}' is not in the vocabulary", left, right);
      }
      pairs.merges.try_emplace(BytePairs::pair(a->second, b->second), BytePairs::Merge{rank, made->second});
      ++rank;
    }
    pairs.whole_first = flag(model, "ignore_merges");
    if (const Json& unknown = optional(model, "unk_token"); unknown.is_string()) {
      const auto found = by_text.find(unknown.text());
      if (found != by_text.end()) pairs.unknown = found->second;
    }
    parts_->model = std::move(pairs);
    return {};
  }

  Status read_word_piece(const Json& model) {
    WordPiece words;
    for (const auto& [token, value] : model["vocab"].items()) {
      KW_TRY(const std::int32_t id, id_in_range(token, value));
      words.ids[token] = id;
      if (words.texts.size() <= static_cast<std::size_t>(id)) words.texts.resize(static_cast<std::size_t>(id) + 1);
      words.texts[static_cast<std::size_t>(id)] = token;
    }
    const std::string unknown = model["unk_token"].get<std::string>();
    const auto found = words.ids.find(unknown);
    if (found == words.ids.end()) return fail("the unknown token '{}' is not in the vocabulary", unknown);
    words.unknown = found->second;
    words.continuing = model.value("continuing_subword_prefix", "##");
    words.most_characters = model.value("max_input_chars_per_word", std::int64_t{100});
    parts_->model = std::move(words);
    return {};
  }

  Status read_normalizer(const Json& step) {
    if (step.is_null()) return {};
    const std::string type = step["type"].get<std::string>();
    const auto add = [&](Change change) { parts_->changes.push_back(std::move(change)); };
    static constexpr std::array kForms = {std::pair{"NFC", NormalForm::nfc}, std::pair{"NFD", NormalForm::nfd},
                                          std::pair{"NFKC", NormalForm::nfkc}, std::pair{"NFKD", NormalForm::nfkd}};
    for (const auto& [name, form] : kForms) {
      if (type != name) continue;
      add([form = form](std::string text) { return normalised(text, form); });
      return {};
    }
    if (type == "Sequence") {
      for (const Json& one : step["normalizers"]) KW_CHECK(read_normalizer(one));
    } else if (type == "Lowercase") {
      add(lower_case);
    } else if (type == "StripAccents") {
      add(without_marks);
    } else if (type == "BertNormalizer") {
      const bool lower = flag(step, "lowercase", true);
      if (flag(step, "clean_text", true)) add(cleaned);
      if (flag(step, "handle_chinese_chars", true)) add(spaced_chinese);
      if (flag(step, "strip_accents", lower)) {
        add([](std::string text) { return without_marks(normalised(text, NormalForm::nfd)); });
      }
      if (lower) add(lower_case);
    } else {
      return fail("the normalizer '{}' is not supported", type);
    }
    return {};
  }

  static std::string cleaned(std::string text) {
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
      const std::int32_t character = next_character(text, at);
      if (character == 0 || character == 0xFFFD || is_control(character)) continue;
      is_white_space(character) ? append_character(made, ' ') : append_character(made, character);
    }
    return made;
  }

  static std::string spaced_chinese(std::string text) {
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
      const std::int32_t character = next_character(text, at);
      if (is_chinese(character)) made += ' ';
      append_character(made, character);
      if (is_chinese(character)) made += ' ';
    }
    return made;
  }

  Status add_pattern(Result<Pattern> pattern, Pattern::Matches matches = Pattern::Matches::keep,
                     Pattern::Gaps gaps = Pattern::Gaps::keep) {
    if (!pattern.ok()) return pattern.error();
    parts_->splits.push_back(
        [pattern = *pattern, matches, gaps](const std::string& text) -> Result<std::vector<std::string>> {
          KW_TRY(const auto parts, pattern.split(text, matches, gaps));
          return std::vector<std::string>(parts.begin(), parts.end());
        });
    return {};
  }

  Status read_pre_tokenizer(const Json& step) {
    if (step.is_null()) return {};
    const std::string type = step["type"].get<std::string>();
    if (type == "Sequence") {
      for (const Json& one : step["pretokenizers"]) KW_CHECK(read_pre_tokenizer(one));
      return {};
    }
    if (type == "Digits") return add_pattern(Pattern::compile(flag(step, "individual_digits") ? "\\p{N}" : "\\p{N}+"));
    if (type == "Split") return read_split(step);
    if (type == "BertPreTokenizer") {
      parts_->splits.push_back(bert_words);
      return {};
    }
    if (type == "ByteLevel") {
      byte_level_ = true;
      if (flag(step, "add_prefix_space", true)) {
        parts_->splits.push_back([](const std::string& text) -> Result<std::vector<std::string>> {
          return std::vector{text.starts_with(' ') ? text : " " + text};
        });
      }
      if (flag(step, "use_regex", true)) return add_pattern(Pattern::compile(kGpt2Pattern));
      return {};
    }
    return fail("the pre-tokenizer '{}' is not supported", type);
  }

  Status read_split(const Json& step) {
    const Json& pattern = step["pattern"];
    const auto compiled = pattern.contains("Regex") ? Pattern::compile(pattern["Regex"].get<std::string>())
                                                    : Pattern::literal(pattern["String"].get<std::string>());
    const std::string behaviour = step["behavior"].get<std::string>();
    using Keep = Pattern::Matches;
    if (flag(step, "invert")) {
      if (behaviour == "Isolated") return add_pattern(compiled);
      if (behaviour == "Removed") return add_pattern(compiled, Keep::keep, Pattern::Gaps::drop);
    } else {
      if (behaviour == "Isolated") return add_pattern(compiled);
      if (behaviour == "Removed") return add_pattern(compiled, Keep::drop);
    }
    return fail("splitting with the behaviour '{}' is not supported", behaviour);
  }

  static Result<std::vector<std::string>> bert_words(const std::string& text) {
    std::vector<std::string> words;
    bool open = false;  // the last word goes on
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const std::int32_t character = next_character(text, at);
      if (is_white_space(character)) {
        open = false;
      } else if (is_punctuation(character)) {
        words.push_back(text.substr(begin, at - begin));
        open = false;
      } else {
        if (!open) words.emplace_back();
        words.back() += text.substr(begin, at - begin);
        open = true;
      }
    }
    return words;
  }

  Status read_added(const Json& tokens) {
    if (tokens.is_null()) return {};
    for (const Json& one : tokens) {
      AddedToken token{.text = one["content"].get<std::string>(),
                       .special = flag(one, "special"),
                       .normalised = flag(one, "normalized"),
                       .takes_space_before = flag(one, "lstrip"),
                       .takes_space_after = flag(one, "rstrip"),
                       .single_word = flag(one, "single_word")};
      KW_TRY(token.id, id_in_range(token.text, one["id"]));
      if (token.normalised) {
        for (const Change& change : parts_->changes) token.text = change(token.text);
      }
      (token.normalised ? parts_->in_normalised : parts_->raw).add(token);
    }
    return {};
  }

  Status read_post_processor(const Json& step) {
    if (step.is_null()) return {};
    const std::string type = step["type"].get<std::string>();
    if (type == "ByteLevel") return {};  // moves offsets only
    if (type == "Sequence") {
      for (const Json& one : step["processors"]) KW_CHECK(read_post_processor(one));
      return {};
    }
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      KW_TRY(const std::int32_t first, id_in_range("cls", step["cls"][1]));
      KW_TRY(const std::int32_t last, id_in_range("sep", step["sep"][1]));
      parts_->before = {first};
      parts_->after = {last};
      return {};
    }
    if (type != "TemplateProcessing") return fail("the post-processor '{}' is not supported", type);
    bool after = false;
    for (const Json& part : step["single"]) {
      if (part.contains("Sequence")) {
        after = true;
        continue;
      }
      const std::string name = part["SpecialToken"]["id"].get<std::string>();
      for (const Json& id : step["special_tokens"][name]["ids"]) {
        KW_TRY(const std::int32_t known, id_in_range(name, id));
        (after ? parts_->after : parts_->before).push_back(known);
      }
    }
    return {};
  }

  std::shared_ptr<Tokenizer::Parts> parts_ = std::make_shared<Tokenizer::Parts>();
  bool byte_level_ = false;
};

Result<Tokenizer> Tokenizer::from_json(const Json& json) {
  try {
    return TokenizerReader::read(json);
  } catch (const JsonError& error) {
    return fail("the tokenizer: {}", error.what());
  }
}

}  // namespace kw::lm
