#include "lm/model_config.h"

#include <gtest/gtest.h>

namespace kw::lm {
namespace {

Json small_llama() {
  return {{"model_type", "llama"},   {"num_hidden_layers", 1},        {"hidden_size", 8},
          {"intermediate_size", 16}, {"num_attention_heads", 2},      {"num_key_value_heads", 1},
          {"vocab_size", 10},        {"max_position_embeddings", 64}, {"tie_word_embeddings", true}};
}

std::string error_of(const Json& json) {
  const auto config = config_from_json(json);
  return config.ok() ? "" : config.error().message;
}

TEST(ModelConfig, RefusesWhatItCannotRun) {
  EXPECT_EQ(error_of(small_llama()), "");
  const auto with = [](const char* name, Json value) {
    Json json = small_llama();
    json[name] = std::move(value);
    return error_of(json);
  };
  EXPECT_EQ(with("model_type", "mamba"),
            "models of type 'mamba' are not supported (llama, qwen2, qwen3, sdar and bert are)");
  EXPECT_EQ(with("num_key_value_heads", 3), "2 heads cannot share 3 key and value heads");
  EXPECT_EQ(with("hidden_size", -8), "the hidden size is -8");
  EXPECT_EQ(with("num_attention_heads", 0), "the number of heads is 0");
  EXPECT_EQ(with("hidden_act", "relu"), "hidden_act 'relu' is not supported");
  EXPECT_EQ(with("use_sliding_window", true), "sliding-window attention is not supported");
  EXPECT_EQ(with("rope_scaling", {{"rope_type", "longrope"}}),
            "rotary embedding of type 'longrope' is not supported (default, linear, llama3 and yarn are)");
  Json diffusion = small_llama();
  diffusion["model_type"] = "sdar";
  EXPECT_EQ(error_of(diffusion), "the mask token 151669 (mask_token_id) is outside of the vocabulary of 10");
  diffusion["mask_token_id"] = 9;
  EXPECT_EQ(error_of(diffusion), "");
  diffusion["block_size"] = 0;
  EXPECT_EQ(error_of(diffusion), "the block length is 0");
  EXPECT_EQ(error_of({{"model_type", "llama"}}).find("num_hidden_layers") == std::string::npos, false);
}

// A block-diffusion model that was made of a Llama or Qwen2 model: no norms of heads, and its biases.
TEST(ModelConfig, ReadsWhatWasAdaptedFromOtherFamilies) {
  Json json = small_llama();
  json["model_type"] = "sdar";
  json["mask_token_id"] = 9;
  json["head_dim"] = 4;
  auto config = config_from_json(json);
  EXPECT_TRUE(config->head_norms);
  EXPECT_FALSE(config->qkv_bias || config->output_bias || config->mlp_bias);
  EXPECT_TRUE(expected_tensors(*config).contains("model.layers.0.self_attn.q_norm.weight"));
  json["head_norms"] = false;
  json["qkv_bias"] = json["mlp_bias"] = true;
  config = config_from_json(json);
  const auto expected = expected_tensors(*config);
  EXPECT_FALSE(expected.contains("model.layers.0.self_attn.q_norm.weight"));
  EXPECT_TRUE(expected.contains("model.layers.0.self_attn.q_proj.bias"));
  EXPECT_FALSE(expected.contains("model.layers.0.self_attn.o_proj.bias"));
  EXPECT_TRUE(expected.contains("model.layers.0.mlp.up_proj.bias"));
}

// As the folder of SDAR-4B says it: Qwen3-4B's shapes, whose parameters are published.
TEST(ModelConfig, ReadsAnSdarFolder) {
  const auto config =
      config_from_json({{"model_type", "sdar"},        {"architectures", Json::array({"SDARForCausalLM"})},
                        {"num_hidden_layers", 36},     {"hidden_size", 2560},
                        {"intermediate_size", 9728},   {"num_attention_heads", 32},
                        {"num_key_value_heads", 8},    {"head_dim", 128},
                        {"vocab_size", 151936},        {"max_position_embeddings", 32768},
                        {"rms_norm_eps", 1e-6},        {"rope_theta", 1000000},
                        {"rope_scaling", nullptr},     {"sliding_window", nullptr},
                        {"use_sliding_window", false}, {"hidden_act", "silu"},
                        {"attention_bias", false},     {"tie_word_embeddings", true},
                        {"bos_token_id", 151643},      {"eos_token_id", Json::array({151645, 151643})}});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->mask_id, 151669);
  EXPECT_EQ(config->block_length, 4);
  EXPECT_FALSE(config->predicts_next());
  EXPECT_EQ(config->end_ids, (std::vector<std::int64_t>{151645, 151643}));
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : expected_tensors(*config)) {
    if (tensor.optional) continue;
    std::int64_t count = 1;
    for (const std::int64_t length : tensor.shape) count *= length;
    parameters += count;
  }
  EXPECT_EQ(parameters, 4'022'468'096);
}

TEST(ModelConfig, NamesTheTensorThatDoesNotFit) {
  const ModelConfig config = *config_from_json(small_llama());
  StoredTensors tensors;
  for (const auto& [name, expected] : expected_tensors(config)) tensors[name] = {.shape = expected.shape};
  EXPECT_TRUE(check_tensors(config, tensors).ok());
  tensors["model.layers.0.mlp.up_proj.weight"].shape = {8, 16};
  EXPECT_EQ(check_tensors(config, tensors).error().message,
            "model.layers.0.mlp.up_proj.weight has the shape [8, 16], the configuration says [16, 8]");
  tensors.erase("model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(
      check_tensors(config, tensors).error().message,
      "model.layers.0.mlp.up_proj.weight is missing: a llama model of this configuration has it with shape [16, 8]");
  tensors["model.layers.0.mlp.up_proj.weight"].shape = {16, 8};
  tensors["model.layers.7.mlp.up_proj.weight"].shape = {16, 8};
  EXPECT_EQ(check_tensors(config, tensors).error().message,
            "model.layers.7.mlp.up_proj.weight belongs to no llama model of this configuration");
}

TEST(ModelConfig, ReadsRanksOfFactoredLayers) {
  Json json = small_llama();
  json["low_rank"] = {{"model.layers.0.mlp.up_proj", {{"rank", 3}, {"pivot", true}}}};
  const auto expected = expected_tensors(*config_from_json(json));
  EXPECT_FALSE(expected.contains("model.layers.0.mlp.up_proj.weight"));
  EXPECT_EQ(expected.at("model.layers.0.mlp.up_proj.down.weight").shape, (Sizes{3, 8}));
  EXPECT_EQ(expected.at("model.layers.0.mlp.up_proj.up.weight").shape, (Sizes{13, 3}));
  EXPECT_EQ(expected.at("model.layers.0.mlp.up_proj.rows").shape, (Sizes{16}));
}

// By hand: head size 4, theta 100 gives the angles 1 and 0.1.
TEST(ModelConfig, ScalesRotaryFrequencies) {
  Rope rope{.theta = 100, .original_context = 64};
  EXPECT_EQ(rope_frequencies(rope, 4), (std::vector<double>{1, 0.1}));
  rope.kind = Rope::Kind::linear;
  rope.factor = 4;
  EXPECT_EQ(rope_frequencies(rope, 4), (std::vector<double>{0.25, 0.025}));
  rope.kind = Rope::Kind::llama3;  // waves of 6.3 and 62.8 in a context of 64: the first is kept, the second is scaled
  const auto scaled = rope_frequencies(rope, 4);
  EXPECT_DOUBLE_EQ(scaled[0], 1);
  EXPECT_NEAR(scaled[1], 0.1 / 4 + (64 / 62.8318530717959 - 1) / 3 * (0.1 - 0.1 / 4), 1e-9);
  EXPECT_EQ(rope_magnitude(rope), 1);
  rope.kind = Rope::Kind::yarn;
  EXPECT_NEAR(rope_magnitude(rope), 1.1386294361, 1e-9);
}

}  // namespace
}  // namespace kw::lm
