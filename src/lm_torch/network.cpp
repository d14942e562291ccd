#include "lm_torch/network.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/files.h"

namespace kw::lm {
namespace {

enum LinearIndex : std::size_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };
constexpr std::size_t kInner = 4, kOuter = 5;  // of BERT

constexpr std::int64_t kQueriesAtOnce = 1024;  // bounds the memory of scores

// 0 where the system does not say.
std::int64_t free_memory_bytes() {
  const auto text = read_file("/proc/meminfo");
  if (!text.ok()) return 0;
  const std::size_t at = text->find("MemAvailable:");
  if (at == std::string::npos) return 0;
  const std::size_t digits = text->find_first_of("0123456789", at);
  std::int64_t kilobytes = 0;
  std::from_chars(text->data() + digits, text->data() + text->size(), kilobytes);
  return kilobytes * 1024;
}

at::Tensor applied(const Layer& layer, std::size_t linear, const at::Tensor& inputs, const Pass& pass) {
  at::Tensor outputs = layer.linears[linear](inputs);
  if (pass.watch) pass.watch(linear, inputs, outputs);
  return outputs;
}

at::Tensor normalised(const at::Tensor& x, const Norm& norm, double epsilon) {
  if (norm.bias.defined()) return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, epsilon);
  return x * at::rsqrt(x.pow(2).mean(-1, true) + epsilon) * norm.weight;
}

// Loads tensors by name and remembers the first that failed.
class Loader {
 public:
  explicit Loader(const StoredTensors& tensors) : tensors_(tensors) {}

  at::Tensor operator()(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    auto tensor = load_tensor(found->second);
    if (!tensor.ok()) {
      if (status.ok()) status = at(name, tensor.error());
      return {};
    }
    return *tensor;
  }
  Norm norm(const std::string& name) { return {(*this)(name + ".weight"), (*this)(name + ".bias")}; }
  Linear linear(const std::string& name) {
    Linear made{.weight = (*this)(name + ".weight"),
                .down = (*this)(name + ".down.weight"),
                .up = (*this)(name + ".up.weight"),
                .rows = (*this)(name + ".rows"),
                .bias = (*this)(name + ".bias")};
    if (made.rows.defined() && status.ok() &&
        (made.rows.min().item<std::int64_t>() < 0 || made.rows.max().item<std::int64_t>() >= made.rows.size(0))) {
      status = fail("{}.rows points past its rows", name);
    }
    return made;
  }

  Status status;

 private:
  const StoredTensors& tensors_;
};

}  // namespace

Result<at::Tensor> load_tensor(const StoredTensor& stored) {
  if (stored.type == StoredType::i32 || stored.type == StoredType::i64) {
    const auto type = stored.type == StoredType::i32 ? at::kInt : at::kLong;
    at::Tensor made = at::empty(stored.shape, type);
    std::memcpy(made.data_ptr(), stored.bytes.data(), stored.bytes.size());
    return made.to(at::kLong);
  }
  at::Tensor made = at::empty(stored.shape, at::kFloat);
  KW_CHECK(to_floats(stored, {made.data_ptr<float>(), static_cast<std::size_t>(made.numel())}));
  return made;
}

Result<Network> Network::load(const ModelFiles& files) {
  const std::int64_t needed = files.parameters() * 4, there = free_memory_bytes();
  if (there > 0 && needed > there) {
    return fail("{}: its weights take {} MiB in float32, {} MiB of memory are free", files.path.string(), needed >> 20,
                there >> 20);
  }
  Network network;
  network.config_ = files.config;
  const ModelConfig& config = files.config;
  const bool bert = config.family == Family::bert;
  Loader load(files.tensors);
  network.embedding_ = load(bert ? "embeddings.word_embeddings.weight" : "model.embed_tokens.weight");
  if (bert) {
    network.positions_ = load("embeddings.position_embeddings.weight");
    network.types_ = load("embeddings.token_type_embeddings.weight");
    network.embedding_norm_ = load.norm("embeddings.LayerNorm");
  } else {
    network.last_norm_ = load.norm("model.norm");
    network.head_ = config.tied_embeddings ? network.embedding_ : load("lm_head.weight");
    const std::vector<double> frequencies = rope_frequencies(config.rope, config.head_size);
    network.frequencies_ = at::empty({config.head_size / 2}, at::kDouble);
    std::memcpy(network.frequencies_.data_ptr(), frequencies.data(), frequencies.size() * sizeof(double));
    if (const at::Tensor factors = load("rope_freqs.weight"); factors.defined()) network.frequencies_ /= factors;
    network.frequencies_ = network.frequencies_.to(at::kFloat);
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    Layer layer;
    for (const LinearShape& linear : linear_layers(config, i)) layer.linears.push_back(load.linear(linear.name));
    const std::string in = bert ? fmt::format("encoder.layer.{}.", i) : fmt::format("model.layers.{}.", i);
    layer.first = load.norm(in + (bert ? "attention.output.LayerNorm" : "input_layernorm"));
    layer.second = load.norm(in + (bert ? "output.LayerNorm" : "post_attention_layernorm"));
    layer.query_norm = load(in + "self_attn.q_norm.weight");
    layer.key_norm = load(in + "self_attn.k_norm.weight");
    network.layers_.push_back(std::move(layer));
  }
  if (!load.status.ok()) return at(files.path.string(), load.status.error());
  return network;
}

Pass Network::begin_pass(std::int64_t batch, std::int64_t tokens, KeyValueCache* cache,
                         std::span<const std::int64_t> padding) const {
  Pass pass{.cache = cache};
  const std::int64_t past = cache != nullptr ? cache->length : 0, keys = past + tokens;
  const std::int64_t rows = padding.empty() ? 1 : batch;
  const at::Tensor query_place = at::arange(past, keys).view({1, tokens, 1}),
                   key_place = at::arange(keys).view({1, 1, keys});
  at::Tensor begins = at::zeros({rows, 1, 1}, at::kLong);
  for (std::size_t i = 0; i < padding.size(); ++i) begins.data_ptr<std::int64_t>()[i] = padding[i];
  at::Tensor seen = key_place >= begins;
  if (config_.is_causal()) {
    const std::int64_t block = config_.block_length;
    seen = seen & (at::floor_divide(key_place, block) <= at::floor_divide(query_place, block));
  } else {
    seen = seen.expand({rows, tokens, keys});
  }
  // A token of the padding sees itself, so that nothing of it becomes no number.
  seen = seen | (key_place == query_place);
  pass.mask = at::zeros({rows, 1, tokens, keys}, at::kFloat).masked_fill(at::logical_not(seen).unsqueeze(1), -INFINITY);
  if (frequencies_.defined()) {
    const at::Tensor places = (query_place - begins).clamp_min(0).to(at::kFloat);  // [rows, tokens, 1]
    const at::Tensor angles = places * at::cat({frequencies_, frequencies_}).view({1, 1, -1});
    const double magnitude = rope_magnitude(config_.rope);
    pass.cosines = (angles.cos() * magnitude).unsqueeze(1);
    pass.sines = (angles.sin() * magnitude).unsqueeze(1);
  }
  return pass;
}

at::Tensor Network::embed(const at::Tensor& ids) const {
  at::Tensor hidden = at::embedding(embedding_, ids);
  if (config_.family != Family::bert) return hidden;
  hidden = hidden + positions_.slice(0, 0, ids.size(1)) + types_[0];
  return normalised(hidden, embedding_norm_, config_.norm_epsilon);
}

at::Tensor Network::rotated(const at::Tensor& heads, const Pass& pass) const {
  const std::int64_t half = config_.head_size / 2;
  const at::Tensor turned = at::cat({-heads.slice(-1, half), heads.slice(-1, 0, half)}, -1);
  return heads * pass.cosines + turned * pass.sines;
}

at::Tensor Network::attention(std::int64_t index, const at::Tensor& inputs, const Pass& pass) const {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t batch = inputs.size(0), tokens = inputs.size(1), size = config_.head_size;
  const std::int64_t kv_heads = config_.kv_heads, group = config_.heads / kv_heads;
  const auto heads_of = [&](std::size_t linear, std::int64_t count, const at::Tensor& norm) {
    at::Tensor made = applied(layer, linear, inputs, pass).view({batch, tokens, count, size});
    if (norm.defined()) made = normalised(made, {norm, {}}, config_.norm_epsilon);
    return made.transpose(1, 2);
  };
  at::Tensor queries = heads_of(kQuery, config_.heads, layer.query_norm);
  at::Tensor keys = heads_of(kKey, kv_heads, layer.key_norm);
  at::Tensor values = heads_of(kValue, kv_heads, {});
  if (pass.cosines.defined()) {
    queries = rotated(queries, pass);
    keys = rotated(keys, pass);
  }
  if (pass.cache != nullptr) {
    const auto place = static_cast<std::size_t>(index);
    const std::int64_t begin = pass.cache->length, end = begin + tokens;
    const auto put = [&](at::Tensor& kept, const at::Tensor& added) {
      if (!kept.defined() || kept.size(2) < end) {
        at::Tensor larger = at::empty({batch, kv_heads, std::max<std::int64_t>(2 * end, 64), size}, added.options());
        if (begin > 0) larger.slice(2, 0, begin).copy_(kept.slice(2, 0, begin));
        kept = larger;
      }
      kept.slice(2, begin, end).copy_(added);
      return kept.slice(2, 0, end);
    };
    keys = put(pass.cache->keys[place], keys);
    values = put(pass.cache->values[place], values);
  }
  const std::int64_t count = keys.size(2);
  const at::Tensor keys_down = keys.transpose(-1, -2);
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < tokens; begin += kQueriesAtOnce) {
    const std::int64_t some = std::min(kQueriesAtOnce, tokens - begin);
    // The heads of a group share keys: they are more rows of one product.
    const at::Tensor asked = queries.slice(2, begin, begin + some).reshape({batch, kv_heads, group * some, size});
    at::Tensor scores = at::matmul(asked, keys_down).mul_(1 / std::sqrt(static_cast<double>(size)));
    scores = scores.view({batch, kv_heads, group, some, count}) + pass.mask.slice(2, begin, begin + some).unsqueeze(2);
    const at::Tensor shares = at::softmax(scores, -1).view({batch, kv_heads, group * some, count});
    parts.push_back(at::matmul(shares, values).view({batch, config_.heads, some, size}));
  }
  const at::Tensor mixed = parts.size() == 1 ? parts[0] : at::cat(parts, 2);
  const at::Tensor joined = mixed.transpose(1, 2).reshape({batch, tokens, config_.heads * size});
  return applied(layer, kOutput, joined, pass);
}

at::Tensor Network::run_layer(std::int64_t index, const at::Tensor& hidden, const Pass& pass) const {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const double epsilon = config_.norm_epsilon;
  if (config_.family == Family::bert) {
    const at::Tensor mixed = normalised(hidden + attention(index, hidden, pass), layer.first, epsilon);
    const at::Tensor inner = at::gelu(applied(layer, kInner, mixed, pass));
    return normalised(mixed + applied(layer, kOuter, inner, pass), layer.second, epsilon);
  }
  const at::Tensor mixed = hidden + attention(index, normalised(hidden, layer.first, epsilon), pass);
  const at::Tensor again = normalised(mixed, layer.second, epsilon);
  const at::Tensor inner = at::silu(applied(layer, kGate, again, pass)) * applied(layer, kUp, again, pass);
  return mixed + applied(layer, kDown, inner, pass);
}

at::Tensor Network::finish(const at::Tensor& hidden) const {
  return last_norm_.weight.defined() ? normalised(hidden, last_norm_, config_.norm_epsilon) : hidden;
}

at::Tensor Network::head(const at::Tensor& finished) const {
  assert(head_.defined());
  return Linear{.weight = head_}(finished);
}

at::Tensor Network::run(const at::Tensor& ids, KeyValueCache* cache, std::span<const std::int64_t> padding) const {
  if (cache != nullptr && cache->keys.empty()) {
    cache->keys.resize(layers_.size());
    cache->values.resize(layers_.size());
  }
  const Pass pass = begin_pass(ids.size(0), ids.size(1), cache, padding);
  at::Tensor hidden = embed(ids);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) hidden = run_layer(layer, hidden, pass);
  if (cache != nullptr) cache->length += ids.size(1);
  return finish(hidden);
}

Status Network::check_ids(std::span<const std::int32_t> ids) const {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= config_.vocabulary)
      return fail("the token {} is outside of the model's vocabulary of {}", id, config_.vocabulary);
  }
  return {};
}

std::int64_t Network::linear_parameters() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers_) {
    for (const Linear& linear : layer.linears) sum += linear.parameters();
  }
  return sum;
}

std::int64_t Network::parameters() const {
  std::int64_t sum = linear_parameters() + embedding_.numel();
  const auto add = [&](const at::Tensor& tensor) { sum += tensor.defined() ? tensor.numel() : 0; };
  if (head_.defined() && !head_.is_same(embedding_)) add(head_);
  for (const at::Tensor& tensor : {positions_, types_, embedding_norm_.weight, embedding_norm_.bias, last_norm_.weight})
    add(tensor);
  for (const Layer& layer : layers_) {
    for (const Linear& linear : layer.linears) add(linear.bias);
    for (const Norm& norm : {layer.first, layer.second}) add(norm.weight), add(norm.bias);
    add(layer.query_norm);
    add(layer.key_norm);
  }
  return sum;
}

}  // namespace kw::lm
