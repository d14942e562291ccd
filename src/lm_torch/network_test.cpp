#include "lm_torch/network.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/generate.h"

namespace kw::lm {
namespace {

// tests/lm/make_tiny_models.py made them with transformers and recorded what they answer.
std::filesystem::path tiny(const std::string& name) {
  return std::filesystem::path(KW_SOURCE_DIR "/tests/lm/tiny") / name;
}

Network loaded(const std::string& name) {
  const auto files = open_model(tiny(name));
  EXPECT_TRUE(files.ok()) << files.error().message;
  auto network = Network::load(*files);
  EXPECT_TRUE(network.ok()) << network.error().message;
  return *std::move(network);
}

at::Tensor ids_of(const Json& rows) {
  std::vector<std::int32_t> all;
  for (const Json& row : rows) {
    for (const Json& id : row) all.push_back(id);
  }
  return tensor_of(all, static_cast<std::int64_t>(rows.size()));
}

class TinyModel : public testing::TestWithParam<const char*> {};

TEST_P(TinyModel, AnswersAsTransformersDoes) {
  const Network network = loaded(GetParam());
  const Json recorded = Json::parse(*read_file(tiny(GetParam()) / "answer.json"));
  const at::Tensor ids = ids_of(recorded["ids"]);
  const at::Tensor states = network.run(ids);
  const at::Tensor answer = network.config().is_causal() ? network.head(states) : states;
  double largest = 0;
  for (std::int64_t row = 0; row < answer.size(0); ++row) {
    for (std::int64_t token = 0; token < answer.size(1); ++token) {
      const Json& expected = recorded["answer"][row][token];
      ASSERT_EQ(static_cast<std::int64_t>(expected.size()), answer.size(2));
      for (std::int64_t i = 0; i < answer.size(2); ++i) {
        ASSERT_NEAR(answer[row][token][i].item<double>(), expected[i].get<double>(), 1e-4)
            << row << " " << token << " " << i;
        largest = std::max(largest, std::abs(expected[i].get<double>()));
      }
    }
  }
  EXPECT_GT(largest, 0.5);  // an answer of nothing would agree with anything near it
}

INSTANTIATE_TEST_SUITE_P(Families, TinyModel,
                         testing::Values("llama", "llama3", "linear", "qwen2", "qwen3", "sdar", "bert"));

TEST(Network, GivesTheSameWithAKeyValueCache) {
  const Network network = loaded("qwen3");
  const at::Tensor ids = ids_of(Json::parse("[[3,14,15,9,2,6,5,30,0,7]]"));
  const at::Tensor whole = network.run(ids);
  KeyValueCache cache;
  std::vector<at::Tensor> parts;
  for (const auto& [begin, end] : {std::pair{0, 4}, std::pair{4, 5}, std::pair{5, 10}}) {
    parts.push_back(network.run(ids.slice(1, begin, end), &cache));
  }
  EXPECT_TRUE(at::allclose(at::cat(parts, 1), whole, 1e-4, 1e-5));
}

// Token by token, after a prompt that the network has read, in a cache that both share.
void expect_same_steps(const ModelFiles& files) {
  auto decoder = Decoder::open(files);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  const auto network = Network::load(files);
  const std::vector<std::int32_t> ids = {3, 14, 15, 9, 2, 6, 5, 30, 0, 7};
  KeyValueCache cache, other;
  for (KeyValueCache* one : {&cache, &other}) network->run(tensor_of(std::span(ids).first(4), 1), one);
  for (std::size_t i = 4; i < ids.size(); ++i) {
    const at::Tensor expected = network->head(network->run(tensor_of(std::span(ids).subspan(i, 1), 1), &other))[0][0];
    const auto made = decoder->step(ids[i], cache);
    ASSERT_EQ(std::ssize(made), expected.numel());
    for (std::size_t k = 0; k < made.size(); ++k) {
      ASSERT_NEAR(made[k], expected[static_cast<std::int64_t>(k)].item<float>(), 1e-4) << i << " " << k;
    }
  }
  EXPECT_EQ(cache.length, 10);
}

TEST(Decoder, StepsAsTheNetworkDoes) {
  for (const char* name : {"llama", "llama3", "linear", "qwen2", "qwen3"}) {
    SCOPED_TRACE(name);
    expect_same_steps(*open_model(tiny(name)));
  }
  EXPECT_EQ(Decoder::open(*open_model(tiny("bert"))).error().message,
            "a bert model does not generate text token by token");
}

TEST(Decoder, WritesWhatTheNetworkWrites) {
  const auto files = open_model(tiny("qwen3"));
  const Network network = loaded("qwen3");
  auto decoder = Decoder::open(*files);
  const Sampling greedy{.most_tokens = 16};
  EXPECT_EQ(generate(network, {{3, 14, 15}}, greedy, {}, &*decoder)->at(0).ids,
            generate(network, {{3, 14, 15}}, greedy)->at(0).ids);
}

TEST(Network, GivesTheSameInABatchOfUnequalPrompts) {
  const Network network = loaded("llama3");
  const std::vector<std::vector<std::int32_t>> prompts = {{3, 14, 15, 9, 2}, {6, 5}, {30, 0, 7, 11}};
  const Sampling greedy{.most_tokens = 8};
  const auto together = generate(network, prompts, greedy);
  ASSERT_TRUE(together.ok()) << together.error().message;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto alone = generate(network, {prompts[i]}, greedy);
    EXPECT_EQ(together->at(i).ids, alone->at(0).ids) << i;
  }
}

TEST(Network, KnowsItsSize) {
  EXPECT_EQ(loaded("llama").parameters(), 5168);
  EXPECT_EQ(loaded("llama3").parameters(), 4432);
  EXPECT_EQ(loaded("bert").parameters(), 5520);
}

TEST(Generate, RepeatsWithItsSeedAndStopsAtItsLimit) {
  const Network network = loaded("linear");
  const Sampling sampling{.most_tokens = 20, .temperature = 1, .top_p = 0.95, .seed = 7};
  const auto first = generate(network, {{1, 2, 3}}, sampling), again = generate(network, {{1, 2, 3}}, sampling);
  EXPECT_EQ(first->at(0).ids, again->at(0).ids);
  EXPECT_LE(first->at(0).ids.size(), 20u);
  EXPECT_EQ(generate(network, {{}}, sampling).error().message, "a prompt is empty");
  EXPECT_EQ(generate(network, {{32}}, sampling).error().message,
            "the token 32 is outside of the model's vocabulary of 32");
  EXPECT_EQ(generate(loaded("bert"), {{1}}, sampling).error().message,
            "a bert model does not generate text token by token");
  EXPECT_EQ(generate(network, {std::vector<std::int32_t>(64, 1)}, sampling).error().message,
            "the prompt has 64 tokens, the model takes 64");
}

TEST(Generate, ChoosesAmongTheLikeliest) {
  const at::Tensor logits = at::log(at::tensor({0.1, 0.6, 0.3}, at::kDouble)).to(at::kFloat);
  EXPECT_EQ(choose(logits, {.temperature = 0}, 0.99), 1);
  EXPECT_EQ(choose(logits, {.temperature = 1}, 0.59), 1);
  EXPECT_EQ(choose(logits, {.temperature = 1}, 0.61), 2);
  EXPECT_EQ(choose(logits, {.temperature = 1}, 0.91), 0);
  EXPECT_EQ(choose(logits, {.temperature = 1, .top_k = 2}, 0.99), 2);
  EXPECT_EQ(choose(logits, {.temperature = 1, .top_p = 0.5}, 0.99), 1);
}

TEST(Sampling, ChoosesForManyRowsAsForEachAlone) {
  const at::Tensor logits = at::empty({12, 40}, at::kFloat);
  Random(3).fill_normal({logits.data_ptr<float>(), 12 * 40}, 0, 2);
  std::vector<double> numbers;
  for (int row = 0; row < 12; ++row) numbers.push_back((row + 0.5) / 12);
  for (const Sampling& sampling : {Sampling{.temperature = 0}, Sampling{.temperature = 0.7},
                                   Sampling{.temperature = 1, .top_k = 3}, Sampling{.temperature = 1, .top_p = 0.6}}) {
    const std::vector<Chosen> all = choose_many(logits, sampling, numbers);
    for (std::size_t row = 0; row < numbers.size(); ++row) {
      const Chosen alone = choose_with_share(logits[static_cast<std::int64_t>(row)], sampling, numbers[row]);
      EXPECT_EQ(all[row].id, alone.id);
      EXPECT_DOUBLE_EQ(all[row].share, alone.share);
    }
  }
}

// By hand from the logits of the whole window.
TEST(Perplexity, AveragesTheLossOfEveryTokenButAWindowsFirst) {
  const Network network = loaded("llama");
  const std::vector<std::int32_t> ids = {3, 14, 15, 9, 2, 6, 5, 30, 0, 7, 11, 28, 1};
  const auto measured = perplexity_of(network, ids, 6);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(measured->tokens, 10);
  EXPECT_EQ(measured->windows, 2);
  double sum = 0;
  for (std::int64_t window = 0; window < 2; ++window) {
    const at::Tensor part = tensor_of(std::span(ids).subspan(static_cast<std::size_t>(window) * 6, 6), 1);
    const at::Tensor logs = at::log_softmax(network.logits(part)[0], -1);
    for (std::int64_t i = 0; i < 5; ++i) sum -= logs[i][part[0][i + 1].item<std::int64_t>()].item<double>();
  }
  EXPECT_NEAR(measured->mean_loss, sum / 10, 1e-5);
  EXPECT_NEAR(measured->value(), std::exp(sum / 10), 1e-3);
  EXPECT_FALSE(perplexity_of(network, ids, 65).ok());
  EXPECT_FALSE(perplexity_of(network, std::span(ids).first(1), 6).ok());
  EXPECT_EQ(perplexity_of(loaded("sdar"), ids, 6).error().message,
            "a sdar model predicts no next token: it has no perplexity");
}

}  // namespace
}  // namespace kw::lm
