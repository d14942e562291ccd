// A model that runs: decoders of the Llama kind (Llama, Qwen2, Qwen3, SDAR) and BERT's encoder, on LibTorch; in float32
// on the CPU unless other options are given.
//
// A pass is embed, the layers one by one, and the head, so that code that watches what a layer is given, or replaces
// one, needs no second implementation. Wrong ids and sizes are the caller's fault: `check_ids` is there for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lm/model_files.h"
#include "lm_torch/linear.h"

namespace kw::lm {

struct Norm {
  at::Tensor weight, bias;  // no bias: root mean square without a mean
};

// The linear layers in the order of linear_layers(); the first four are the attention's.
struct Layer {
  std::vector<Linear> linears;
  Norm first, second;
  at::Tensor query_norm, key_norm;
};

// Keys and values of tokens that were seen, by layer.
struct KeyValueCache {
  std::vector<at::Tensor> keys, values;  // [batch, key heads, room, head size]
  std::int64_t length = 0;
};

// Tokens [begin, end) of all rows, which together see no other keys than those of these stretches, from and to.
struct TokenPart {
  std::int64_t begin = 0, end = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> keys;
  at::Tensor mask = {};  // of these keys, as in Pass
};

// What a pass over a batch needs besides its hidden states, made once for all layers.
struct Pass {
  at::Tensor cosines, sines;  // [batch, 1, tokens, head size]
  at::Tensor mask;            // added to scores: [batch, 1, tokens, keys]; undefined: all see all keys
  // The same with a row for every query of a group of heads, [batch, 1, group * tokens, keys], where these are few:
  // then a group reads its keys once.
  at::Tensor group_mask = {};
  // Where tokens see few of the keys: all tokens in order, with the masks in place of `mask`. Empty: all at once.
  std::vector<TokenPart> parts = {};
  KeyValueCache* cache = nullptr;
  // Where in the cache the keys and values of these tokens go, [rows, 1, tokens, 1]; the cache has room for them.
  // Undefined: after its length. With places, the first `keys` of the cache are there to be seen.
  at::Tensor places = {};
  std::int64_t keys = 0;
  // Told what the linear layer of this index was given and answered.
  std::function<void(std::size_t linear, const at::Tensor& inputs, const at::Tensor& outputs)> watch = {};
};

class Network {
 public:
  // Refuses a model that does not fit into the memory that is free, and weights that are no numbers.
  static Result<Network> load(const ModelFiles& files, const at::TensorOptions& options = at::kFloat);
  // Of all that expected_tensors() names. The tensors are shared: changing one in place changes the network.
  static Network of_tensors(const ModelConfig& config, const std::map<std::string, at::Tensor>& tensors);

  const ModelConfig& config() const { return config_; }
  std::vector<Layer>& layers() { return layers_; }
  const std::vector<Layer>& layers() const { return layers_; }
  const at::Tensor& embedding() const { return embedding_; }
  at::TensorOptions options() const { return embedding_.options(); }

  // `ids` [batch, tokens]. `padding`: how many tokens at the beginning of each row count for nothing.
  Pass begin_pass(std::int64_t batch, std::int64_t tokens, KeyValueCache* cache = nullptr,
                  std::span<const std::int64_t> padding = {}) const;
  // Tokens at `positions` [rows, tokens], of which each sees the keys where `seen` [rows, tokens, keys] is true, or all
  // where it is undefined. Both may lie on the network's device or on the CPU.
  Pass pass_over(const at::Tensor& positions, const at::Tensor& seen, std::vector<TokenPart> parts = {}) const;
  at::Tensor embed(const at::Tensor& ids) const;
  at::Tensor run_layer(std::int64_t layer, const at::Tensor& hidden, const Pass& pass) const;
  at::Tensor finish(const at::Tensor& hidden) const;  // the last norm, where there is one
  at::Tensor head(const at::Tensor& finished) const;  // logits

  // All of it: hidden states after the last norm.
  at::Tensor run(const at::Tensor& ids, KeyValueCache* cache = nullptr,
                 std::span<const std::int64_t> padding = {}) const;
  at::Tensor run(const at::Tensor& ids, const Pass& pass) const;
  at::Tensor logits(const at::Tensor& ids) const { return head(run(ids)); }

  Status check_ids(std::span<const std::int32_t> ids) const;
  std::int64_t parameters() const;
  std::int64_t linear_parameters() const;

 private:
  at::Tensor attention(std::int64_t layer, const at::Tensor& inputs, const Pass& pass) const;
  bool shares_keys(std::int64_t tokens) const;
  at::Tensor rotated(const at::Tensor& heads, const Pass& pass) const;
  at::Tensor mixed(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values, const Pass& pass) const;

  ModelConfig config_;
  at::Tensor embedding_, head_;
  at::Tensor positions_, types_;  // of BERT
  at::Tensor frequencies_;
  Norm embedding_norm_, last_norm_;
  std::vector<Layer> layers_;
};

// Values as a tensor: float32 of what holds real numbers.
Result<at::Tensor> load_tensor(const StoredTensor& stored);

}  // namespace kw::lm
