#include "lm_torch/compress.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "lm_torch/decoder.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/placement.h"

namespace kw::lm {
namespace {

// A tokenizer of 32 single letters for the tiny models of tests/lm/tiny.
Json small_tokenizer() {
  Json vocabulary = Json::object();
  for (int id = 0; id < 32; ++id) vocabulary[std::string(1, static_cast<char>('@' + id))] = id;
  return {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
}

struct Trial {
  ScratchFolder folder;
  ModelFiles files;
  Tokenizer tokenizer = *Tokenizer::from_json(small_tokenizer());

  explicit Trial(const std::string& model) {
    const auto opened = open_model(KW_SOURCE_DIR "/tests/lm/tiny/" + model);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    files = *opened;
    std::string text;
    for (int i = 0; i < 1200; ++i) text += static_cast<char>('@' + (i * i + i / 7) % 29);
    EXPECT_TRUE(write_file(folder.path() / "text", text).ok());
  }
  Json request(const std::string& method, double ratio) const {
    return {{"method", method},
            {"ratio", ratio},
            {"text", (folder.path() / "text").string()},
            {"out", (folder.path() / "out").string()},
            {"sequences", 16},
            {"length", 32},
            {"gradient_sequences", 4}};
  }
  Result<Json> run(const Json& asked, const TellProgress& tell = {}, const std::string& device = "cpu") const {
    KW_TRY(const CompressOptions options, compress_options(asked));
    KW_TRY(const at::TensorOptions where, placement(device, "F32"));
    KW_TRY(Network network, Network::load(files, where));
    return compress(files, tokenizer, std::move(network), options, tell);
  }
  std::string error_of(const Json& asked) const {
    const auto done = run(asked);
    return done.ok() ? "" : done.error().message;
  }
};

class EveryMethod : public testing::TestWithParam<const char*> {};

TEST_P(EveryMethod, WritesAModelThatIsAsSmallAsPromisedAndLoads) {
  const Trial trial("llama");
  const auto done = trial.run(trial.request(GetParam(), 0.3));
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto saved = (*done)["saved"].get<double>();
  EXPECT_GE(saved, 0.3);
  EXPECT_LT(saved, 0.42);  // ranks of so small matrices are coarse
  const auto files = open_model(trial.folder.path() / "out");
  ASSERT_TRUE(files.ok()) << files.error().message;
  const auto network = Network::load(*files);
  ASSERT_TRUE(network.ok()) << network.error().message;
  EXPECT_EQ(network->linear_parameters(), (*done)["linear_parameters"].get<std::int64_t>());
  EXPECT_FALSE(std::filesystem::exists(trial.folder.path() / "out.part"));
  EXPECT_TRUE(std::filesystem::exists(trial.folder.path() / "out" / "modeling_low_rank.py"));
  EXPECT_EQ(trial.error_of(trial.request(GetParam(), 0.3)),
            (trial.folder.path() / "out").string() + ": there is something already");
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, testing::Values("svd", "fwsvd", "asvd", "svd-llm", "ressvd"));

double perplexity_with(const std::string& method, std::initializer_list<const char*> switches) {
  const Trial trial("qwen3");
  Json asked = trial.request(method, 0.3);
  for (const char* name : switches) asked[name] = true;
  const auto done = trial.run(asked);
  EXPECT_TRUE(done.ok()) << done.error().message;
  if (!done.ok()) return 0;
  EXPECT_GE((*done)["saved"].get<double>(), 0.3);
  const auto network = Network::load(*open_model(trial.folder.path() / "out"));
  const auto ids = trial.tokenizer.encode(*read_file(trial.folder.path() / "text"));
  // Against what the original says, not the text: a random model predicts nothing.
  const auto original = Network::load(trial.files);
  const at::Tensor batch = tensor_of(std::span(*ids).first(512), 16);
  return (network->logits(batch) - original->logits(batch)).pow(2).mean().item<double>();
}

TEST(Compress, EachSwitchBringsTheModelCloserToTheOriginal) {
  const double published = perplexity_with("svd-llm", {});
  EXPECT_LT(perplexity_with("svd-llm", {"pivot"}), published);
  EXPECT_LT(perplexity_with("svd-llm", {"refit"}), published);
  EXPECT_LT(perplexity_with("svd-llm", {"allot"}), published);
  EXPECT_LT(perplexity_with("svd-llm", {"allot", "pivot", "refit"}), 0.6 * published);
  EXPECT_GT(published, 0);
}

TEST(Compress, LeavesKeysAndValuesOfGroupedHeadsWhole) {
  const Trial trial("qwen3");
  Json asked = trial.request("svd-llm", 0.3);
  asked["narrow"] = true;
  const auto done = trial.run(asked);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_GE((*done)["saved"].get<double>(), 0.3);
  for (const Json& ranks : (*done)["ranks"]) {
    // q, k, v, o, gate, up, down: here keys have as many outputs as inputs, and are factored
    EXPECT_GT(ranks[1].get<int>(), 0);
    EXPECT_GT(ranks[6].get<int>(), 0);
  }
  const Trial grouped("llama");  // two of four heads: 8 outputs of 16 inputs
  asked = grouped.request("svd-llm", 0.3);
  asked["narrow"] = true;
  const auto narrow = grouped.run(asked);
  ASSERT_TRUE(narrow.ok()) << narrow.error().message;
  EXPECT_GE((*narrow)["saved"].get<double>(), 0.3);
  for (const Json& ranks : (*narrow)["ranks"]) {
    EXPECT_EQ(ranks[1].get<int>(), 0);
    EXPECT_EQ(ranks[2].get<int>(), 0);
    EXPECT_GT(ranks[0].get<int>(), 0);
  }
}

TEST(Compress, WritesMergedWeightsThatGiveTheSame) {
  const Trial factored("llama3"), merged("llama3");
  ASSERT_TRUE(factored.run(factored.request("svd-llm", 0.25)).ok());
  Json asked = merged.request("svd-llm", 0.25);
  asked["merged"] = true;
  ASSERT_TRUE(merged.run(asked).ok());
  const auto first = Network::load(*open_model(factored.folder.path() / "out"));
  const auto second = Network::load(*open_model(merged.folder.path() / "out"));
  const at::Tensor ids = tensor_of(std::vector<std::int32_t>{1, 5, 9, 2, 8, 8}, 1);
  EXPECT_TRUE(at::allclose(first->logits(ids), second->logits(ids), 1e-3, 1e-4));
  EXPECT_EQ(second->linear_parameters(), Network::load(merged.files)->linear_parameters());
}

TEST(Compress, FactorsStepTokenByTokenAsTheyPass) {
  for (const bool pivot : {false, true}) {
    const Trial trial("qwen3");
    Json asked = trial.request("svd-llm", 0.3);
    asked["pivot"] = pivot;
    ASSERT_TRUE(trial.run(asked).ok());
    const auto files = open_model(trial.folder.path() / "out");
    auto decoder = Decoder::open(*files);
    ASSERT_TRUE(decoder.ok()) << decoder.error().message;
    KeyValueCache cache;
    const std::vector<std::int32_t> ids = {1, 5, 9, 2, 8};
    const at::Tensor whole = Network::load(*files)->logits(tensor_of(ids, 1))[0];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto made = decoder->step(ids[i], cache);
      const at::Tensor step = at::from_blob(const_cast<float*>(made.data()), {std::ssize(made)}, at::kFloat);
      EXPECT_TRUE(at::allclose(step, whole[static_cast<std::int64_t>(i)], 1e-3, 1e-4)) << pivot << i;
    }
  }
}

TEST(GpuCompress, MakesWhatTheProcessorMakes) {
  if (const auto there = placement("cuda", "F32"); !there.ok()) GTEST_SKIP() << there.error().message;
  for (const char* method : {"svd", "fwsvd", "asvd", "ressvd", "svd-llm"}) {
    const Trial here("qwen3"), there("qwen3");
    const bool ours = method == std::string("svd-llm");
    const auto asked = [&](const Trial& trial) {
      Json request = trial.request(method, 0.3);
      request["evaluate"] = Json::array({(trial.folder.path() / "text").string()});
      for (const char* name : {"allot", "pivot", "refit", "onnx"}) request[name] = ours;
      return request;
    };
    const auto expected = here.run(asked(here)), made = there.run(asked(there), {}, "cuda");
    ASSERT_TRUE(expected.ok() && made.ok()) << method << (made.ok() ? "" : ": " + made.error().message);
    EXPECT_EQ((*expected)["ranks"].dump(), (*made)["ranks"].dump()) << method;
    for (const char* which : {"original", "compressed"}) {
      const auto perplexity = [&](const Json& of) { return of["perplexity"]["text"][which].get<double>(); };
      EXPECT_NEAR(perplexity(*made), perplexity(*expected), 1e-2 * perplexity(*expected)) << method << " " << which;
    }
    const at::Tensor ids = tensor_of(std::vector<std::int32_t>{1, 5, 9, 2, 8, 8}, 1);
    const auto first = Network::load(*open_model(here.folder.path() / "out"));
    const auto second = Network::load(*open_model(there.folder.path() / "out"));
    EXPECT_TRUE(at::allclose(first->logits(ids), second->logits(ids), 1e-2, 1e-2)) << method;
  }
}

TEST(Compress, CompressesAnEncoderToo) {
  const Trial trial("bert");
  Json asked = trial.request("ressvd", 0.3);
  asked["evaluate"] = Json::array({(trial.folder.path() / "text").string()});
  const auto done = trial.run(asked);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(Network::load(*open_model(trial.folder.path() / "out")).ok());
  EXPECT_EQ((*done)["tried"].size(), 2u);  // one layer, or both
  const Json& agreement = (*done)["agreement"]["text"];
  EXPECT_GT(agreement["windows"].get<int>(), 8);
  EXPECT_GT(agreement["cosine"].get<double>(), 0.9);
  EXPECT_LT(agreement["cosine"].get<double>(), 0.9999999);
  EXPECT_LE(agreement["least_cosine"].get<double>(), agreement["cosine"].get<double>());
}

TEST(Compress, AModelAgreesWithItself) {
  const Trial trial("bert");
  const auto network = Network::load(trial.files);
  const auto ids = trial.tokenizer.encode(*read_file(trial.folder.path() / "text"));
  const auto same = agreement_of(*network, *network, trial.tokenizer, *ids, 32);
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_NEAR(same->least_cosine, 1, 1e-9);
  EXPECT_EQ(same->same_nearest, 1);
  EXPECT_FALSE(agreement_of(*network, *network, trial.tokenizer, {}, 32).ok());
}

TEST(Compress, RefitsOnlyWhereSequencesThatWereHeldOutAreTheBetterForIt) {
  for (const char* model : {"qwen3", "bert"}) {
    const Trial trial(model);
    Json asked = trial.request("svd-llm", 0.3);
    asked["refit"] = true;
    const auto done = trial.run(asked);
    ASSERT_TRUE(done.ok()) << done.error().message;
    const Json& refit = (*done)["refit"];
    const bool better = refit["held_out_after"].get<double>() < refit["held_out_before"].get<double>();
    EXPECT_EQ(refit["kept"].get<bool>(), better) << refit.dump();
    EXPECT_GT(refit["layers"].get<int>(), 0) << refit.dump();
  }
  // One sequence leaves none to be held out: the model is that without the switch.
  const Trial plain("llama"), fitted("llama");
  Json asked = plain.request("svd-llm", 0.3);
  ASSERT_TRUE(plain.run(asked).ok());
  asked = fitted.request("svd-llm", 0.3);
  asked["refit"] = true;
  asked["refit_sequences"] = 1;
  const auto done = fitted.run(asked);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_FALSE((*done)["refit"]["kept"].get<bool>());
  EXPECT_EQ(*read_file(plain.folder.path() / "out" / "model.safetensors"),
            *read_file(fitted.folder.path() / "out" / "model.safetensors"));
}

// A run that ends after a layer leaves what it gathered, and the next begins there.
TEST(Compress, GoesOnWhereItWasStopped) {
  const Trial trial("llama");
  struct Stopped {};
  std::vector<std::string> first, second;
  EXPECT_THROW(static_cast<void>(trial.run(trial.request("svd-llm", 0.3),
                                           [&](const Json& progress) {
                                             first.push_back(progress["what"].text() + progress["done"].dump());
                                             throw Stopped();
                                           })),
               Stopped);
  EXPECT_EQ(first, (std::vector<std::string>{"calibration1"}));
  ASSERT_TRUE(
      trial
          .run(trial.request("svd-llm", 0.3),
               [&](const Json& progress) { second.push_back(progress["what"].text() + progress["done"].dump()); })
          .ok());
  EXPECT_EQ(second, (std::vector<std::string>{"calibration2", "spectra1", "spectra2", "factors1", "factors2"}));
  const Trial fresh("llama");
  ASSERT_TRUE(fresh.run(fresh.request("svd-llm", 0.3)).ok());
  EXPECT_EQ(*read_file(trial.folder.path() / "out" / "model.safetensors"),
            *read_file(fresh.folder.path() / "out" / "model.safetensors"));
}

TEST(Compress, RefusesWhatMakesNoSense) {
  const Trial trial("llama");
  EXPECT_EQ(trial.error_of(trial.request("svd", 0)),
            "a ratio of 0: it is the share that goes, more than 0 and less than 1");
  EXPECT_EQ(trial.error_of(trial.request("svd", 1)),
            "a ratio of 1: it is the share that goes, more than 0 and less than 1");
  EXPECT_EQ(trial.error_of(trial.request("qr", 0.2)),
            "no method is called 'qr'; say svd, fwsvd, asvd, svd-llm or ressvd");
  ASSERT_TRUE(write_file(trial.folder.path() / "text", "").ok());
  EXPECT_EQ(
      trial.error_of(trial.request("svd", 0.2)),
      (trial.folder.path() / "text").string() + ": 0 tokens are too few for one sequence of 32 to calibrate with");
  EXPECT_FALSE(std::filesystem::exists(trial.folder.path() / "out"));
  const Trial bert("bert");
  EXPECT_EQ(bert.error_of(bert.request("fwsvd", 0.2)),
            "a bert model has no loss of next tokens: what needs gradients cannot be done");
}

}  // namespace
}  // namespace kw::lm
