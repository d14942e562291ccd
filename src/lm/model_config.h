// What a model is made of: family, sizes, rotary embedding, special ids. Read from config.json of a Hugging Face folder
// or from the metadata of a GGUF file; what is not supported is an Error here, never a wrong answer later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/gguf.h"
#include "lm/stored_tensor.h"

namespace kw::lm {

enum class Family { llama, qwen2, qwen3, sdar, bert };
std::string name_of(Family family);

struct Rope {
  enum class Kind { plain, linear, llama3, yarn };
  Kind kind = Kind::plain;
  double theta = 10000;
  double factor = 1;
  double low_frequency_factor = 1;  // of llama3
  double high_frequency_factor = 4;
  std::int64_t original_context = 0;
  double beta_fast = 32;  // of yarn
  double beta_slow = 1;
  std::optional<double> attention_factor;  // of yarn; from the factor where it is not given
};
// For each pair of a head's elements, the angle that one position adds; yarn also scales cosines and sines.
std::vector<double> rope_frequencies(const Rope& rope, std::int64_t head_size);
double rope_magnitude(const Rope& rope);

// A linear layer that is kept as two factors. With `pivot` the second factor leaves out the rows that equal rows of the
// first (src/lm_torch/linear.h).
struct LowRank {
  std::int64_t rank = 0;
  bool pivot = false;
};

struct ModelConfig {
  Family family = Family::llama;
  std::int64_t layers = 0, width = 0, inner_width = 0, heads = 0, kv_heads = 0, head_size = 0;
  std::int64_t vocabulary = 0, context = 0;
  double norm_epsilon = 1e-6;
  Rope rope;
  bool tied_embeddings = false;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  // Norms of every head's queries and keys: Qwen3 and SDAR have them, but not a block-diffusion model that was made of
  // another family ("head_norms": false in its config.json).
  bool head_norms = false;
  std::int64_t block_length = 1;        // of SDAR: tokens that see each other
  std::optional<std::int64_t> mask_id;  // of SDAR
  std::int64_t token_types = 0;         // of BERT
  std::optional<std::int64_t> begin_id;
  std::vector<std::int64_t> end_ids;
  std::map<std::string, LowRank> low_rank;  // by the layer's name: "model.layers.0.mlp.up_proj"

  bool is_causal() const { return family != Family::bert; }
  // Position i of a block-diffusion model predicts token i, of the others token i + 1.
  bool predicts_next() const { return family != Family::sdar; }
};

Result<ModelConfig> config_from_json(const Json& json);
Result<ModelConfig> config_from_gguf(const Gguf& gguf);

// A linear layer of a block: "model.layers.3.self_attn.k_proj".
struct LinearShape {
  std::string name;
  std::int64_t outputs = 0, inputs = 0;
  bool bias = false;
};
// Those of one layer, in the order in which they are computed.
std::vector<LinearShape> linear_layers(const ModelConfig& config, std::int64_t layer);

struct ExpectedTensor {
  Sizes shape;
  bool optional = false;
};
std::map<std::string, ExpectedTensor> expected_tensors(const ModelConfig& config);
// That all are there with their shapes, and no others but those that need not be read.
Status check_tensors(const ModelConfig& config, const StoredTensors& tensors);

}  // namespace kw::lm
