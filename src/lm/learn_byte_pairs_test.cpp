#include "lm/learn_byte_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/random.h"
#include "base/scratch.h"
#include "lm/examples.h"
#include "lm/tokenizer.h"

namespace kw::lm {
namespace {

Json learnt(const std::vector<std::string>& texts, std::int64_t size, const std::vector<std::string>& specials = {}) {
  auto learner = BytePairLearner::begin();
  for (const std::string& text : texts) EXPECT_TRUE(learner->add(text).ok());
  const auto json = learner->learn(size, specials);
  EXPECT_TRUE(json.ok()) << json.error().message;
  return *json;
}

// Counts by hand: "lo" is there 5 times, "low" 3 times, " lo" and "ow" less often.
TEST(BytePairLearner, MergesWhatIsThereMostOften) {
  const Json json = learnt({"low low", "low", "lot", "lob"}, 260);
  std::vector<std::string> merges;
  for (const Json& merge : json["model"]["merges"]) merges.push_back(merge[0].text() + "+" + merge[1].text());
  ASSERT_GE(merges.size(), 2u);
  EXPECT_EQ(merges[0], "l+o");
  EXPECT_EQ(merges[1], "lo+w");
}

TEST(BytePairLearner, GivesEveryTextBackByteForByte) {
  const std::string source = "for (int i = 0; i < n; ++i) y[i] = x[i] * 2.5f;\n    return;\t// Größe ≤ 10\r\n";
  const Json json = learnt({source, source + source, "int i = 0;"}, 400, {"<|end|>"});
  const auto tokenizer = Tokenizer::from_json(json);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_LE(tokenizer->size(), 400);
  EXPECT_EQ(tokenizer->id_of("<|end|>"), tokenizer->size() - 1);
  const auto ids = tokenizer->encode(source);
  EXPECT_LT(ids->size(), source.size() * 2 / 3);  // most pieces are one token
  EXPECT_EQ(tokenizer->decode(*ids), source);
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    std::string text;
    for (int k = 0; k < 40; ++k) text += static_cast<char>(random.integer(1, 127));
    EXPECT_EQ(tokenizer->decode(*tokenizer->encode(text, Specials::as_text)), text);
  }
}

TEST(BytePairLearner, DoesNotDependOnTheOrderOfTexts) {
  std::vector<std::string> texts = {"abab abc", "bcbc", "cab cab cab", "aaaa aaaa", "x1y22z333"};
  const std::string first = learnt(texts, 300).dump();
  std::ranges::reverse(texts);
  EXPECT_EQ(learnt(texts, 300).dump(), first);
}

TEST(BytePairLearner, RefusesAVocabularyWithoutRoom) {
  EXPECT_EQ(BytePairLearner::begin()->learn(256, {"<|end|>"}).error().message,
            "a vocabulary of 256 has no room for 256 bytes and 1 special tokens");
}

std::string error_of_lines(const std::string& lines) {
  const ScratchFolder folder;
  EXPECT_TRUE(write_file(folder.path() / "corpus.jsonl", lines).ok());
  const Status read = read_example_texts({folder.path() / "corpus.jsonl"}, [](const ExampleText&) { return Status(); });
  if (read.ok()) return "";
  return read.error().message.substr(folder.path().string().size() + 1);
}

TEST(Examples, NamesTheLineThatIsWrong) {
  const std::string good = R"({"prompt": "a", "answer": "b", "origin": 3})"
                           "\n";
  EXPECT_EQ(error_of_lines(good + "\n" + good), "");
  EXPECT_EQ(error_of_lines(good + good.substr(0, 20)),
            "corpus.jsonl line 2: no whole JSON object (a line that was cut off?)");
  EXPECT_EQ(error_of_lines(good + R"({"prompt": "a"})"), R"(corpus.jsonl line 2: there is no "answer")");
  EXPECT_EQ(error_of_lines(R"({"prompt": 1, "answer": "b"})"), R"(corpus.jsonl line 1: "prompt" is no text)");
  EXPECT_EQ(error_of_lines(R"({"prompt": "", "answer": "b", "prefix": "x"})"),
            R"(corpus.jsonl line 1: there is no "suffix")");
}

TEST(Examples, AskForWhatStandsBetween) {
  const std::vector<std::string> specials = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|end|>"};
  const PromptForm form(*Tokenizer::from_json(learnt({"x"}, 260, specials)));
  const auto example = example_of({.prompt = "p", .answer = "<|end|>", .prefix = "a", .suffix = "b"}, form, 259);
  ASSERT_TRUE(example.ok()) << example.error().message;
  EXPECT_EQ(example->answer_begin, 6);
  const std::vector<std::int32_t> begin = {'p', 256, 'a', 257, 'b', 258, '<', '|'};
  EXPECT_EQ(std::vector(example->ids.begin(), example->ids.begin() + 8), begin);  // in an answer it is letters
  EXPECT_EQ(example->ids.back(), 259);
  const PromptForm without(*Tokenizer::from_json(learnt({"x"}, 256)));
  EXPECT_FALSE(example_of({.prompt = "p", .answer = "q", .prefix = "a", .suffix = "b"}, without, 0).ok());
}

// Every example once a round, each whole and in one row, whatever the batches.
TEST(Packer, PacksEveryExampleOnceARound) {
  std::vector<Example> examples;
  for (std::int32_t i = 0; i < 23; ++i) {
    examples.push_back({.ids = std::vector<std::int32_t>(static_cast<std::size_t>(1 + i % 9), i), .answer_begin = 1});
  }
  examples.push_back({.ids = std::vector<std::int32_t>(17, 99), .answer_begin = 1});
  Packer packer(examples, 2, 16, 4, 500, 3);
  EXPECT_EQ(packer.left_out(), 1);
  EXPECT_EQ(packer.examples(), 23);
  std::map<std::int32_t, int> seen;
  std::int64_t cursor = 0;
  while (cursor < 23 * 4) {
    const PackedBatch batch = packer.batch(cursor);
    ASSERT_GT(batch.examples, 0);
    EXPECT_EQ(batch.rows.size(), 2u);
    for (const PackedRow& row : batch.rows) {
      EXPECT_LE(row.size(), 16u);
      EXPECT_EQ(row.size() % 4, 0u);
      for (std::size_t i = 0; i < row.size(); ++i) {
        EXPECT_EQ(row[i].filling, row[i].id == 500);
        EXPECT_EQ(row[i].learnt, row[i].place >= 1);
        if (row[i].place > 0) {
          EXPECT_EQ(row[i].example, row[i - 1].example);
        }
        if (row[i].place == 0 && cursor + row[i].example < 23 * 4) ++seen[row[i].id];
      }
    }
    cursor += batch.examples;
  }
  EXPECT_EQ(seen.size(), 23u);
  for (const auto& [id, count] : seen) EXPECT_EQ(count, 4) << id;
}

}  // namespace
}  // namespace kw::lm
