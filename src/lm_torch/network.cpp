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
constexpr std::int64_t kFewQueries = 64;       // of a group of heads, that read their keys together

// What LibTorch 2 computes in one go on a GPU. Version 1 has neither of these functions.
#if __has_include(<ATen/ops/scaled_dot_product_attention.h>) && __has_include(<ATen/ops/rms_norm.h>)
constexpr bool kHasFused = true;
at::Tensor fused_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                           const at::Tensor& mask) {
  // cuDNN is the fastest for training, but takes a tenth of a second for every shape that it has not met: writing has
  // a new shape every few tokens.
  at::globalContext().setSDPUseCuDNN(queries.requires_grad());
  return at::scaled_dot_product_attention(queries, keys, values,
                                          mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt);
}
at::Tensor fused_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return at::rms_norm(x, {x.size(-1)}, weight, epsilon);
}
#else
constexpr bool kHasFused = false;
at::Tensor fused_attention(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&) { return {}; }
at::Tensor fused_norm(const at::Tensor&, const at::Tensor&, double) { return {}; }
#endif

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
  if (kHasFused && x.is_cuda()) return fused_norm(x, norm.weight, epsilon);
  // Squares of short numbers are summed in float32.
  const at::Tensor wide = x.element_size() < 4 ? x.to(at::kFloat) : x;
  return (wide * at::rsqrt(wide.pow(2).mean(-1, true) + epsilon)).to(x.scalar_type()) * norm.weight;
}

// Queries [batch, heads, tokens, size] with keys of as many heads or of fewer, which then are each of a group.
at::Tensor plain_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                           const at::Tensor& mask) {
  const std::int64_t batch = queries.size(0), heads = queries.size(1), tokens = queries.size(2), size = queries.size(3);
  const std::int64_t kv_heads = keys.size(1), group = heads / kv_heads, count = keys.size(2);
  const at::Tensor keys_down = keys.transpose(-1, -2);
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < tokens; begin += kQueriesAtOnce) {
    const std::int64_t some = std::min(kQueriesAtOnce, tokens - begin);
    // The heads of a group share keys: they are more rows of one product.
    const at::Tensor asked = queries.slice(2, begin, begin + some).reshape({batch, kv_heads, group * some, size});
    at::Tensor scores = at::matmul(asked, keys_down).mul_(1 / std::sqrt(static_cast<double>(size)));
    scores = scores.view({batch, kv_heads, group, some, count});
    if (mask.defined()) scores = scores + mask.slice(2, begin, begin + some).unsqueeze(2);
    const auto summed_as = scores.element_size() < 4 ? at::kFloat : scores.scalar_type();
    const at::Tensor shares =
        at::softmax(scores, -1, summed_as).to(values.scalar_type()).view({batch, kv_heads, group * some, count});
    parts.push_back(at::matmul(shares, values).view({batch, heads, some, size}));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 2);
}

// What lies in these stretches along an axis, one after the other.
at::Tensor stretches_of(const at::Tensor& all, std::int64_t axis,
                        const std::vector<std::pair<std::int64_t, std::int64_t>>& stretches) {
  std::vector<at::Tensor> some;
  for (const auto& [from, to] : stretches) some.push_back(all.slice(axis, from, to));
  return some.size() == 1 ? some[0] : at::cat(some, axis);
}

// Tensors by name; those that a model need not have may be missing.
class Parts {
 public:
  explicit Parts(const std::map<std::string, at::Tensor>& tensors) : tensors_(tensors) {}

  at::Tensor operator()(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? at::Tensor() : found->second;
  }
  Norm norm(const std::string& name) const { return {(*this)(name + ".weight"), (*this)(name + ".bias")}; }
  Linear linear(const std::string& name) const {
    return {.weight = (*this)(name + ".weight"),
            .down = (*this)(name + ".down.weight"),
            .up = (*this)(name + ".up.weight"),
            .rows = (*this)(name + ".rows"),
            .bias = (*this)(name + ".bias")};
  }

 private:
  const std::map<std::string, at::Tensor>& tensors_;
};

// Without widening: half of the bytes, and no work for the CPU.
Result<at::Tensor> on_device(const StoredTensor& stored, const at::Device& device) {
  return at::from_blob(const_cast<std::byte*>(stored.bytes.data()), stored.shape, at::kBFloat16).to(device);
}

// Rows of a factored layer are places in it; weights are numbers.
Status check_values(const std::string& name, const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) {
    if (name.ends_with(".rows") && tensor.numel() > 0 &&
        (tensor.min().item<std::int64_t>() < 0 || tensor.max().item<std::int64_t>() >= tensor.size(0))) {
      return fail("{} points past its rows", name);
    }
    return {};
  }
  // The sum of finite numbers may overflow, but any other has a sum that is none.
  if (!std::isfinite(tensor.sum().item<double>()) && !at::isfinite(tensor).all().item<bool>()) {
    return fail("{} holds values that are no numbers (NaN or infinite): the file is broken, or its training failed",
                name);
  }
  return {};
}

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

Result<Network> Network::load(const ModelFiles& files, const at::TensorOptions& options) {
  const std::int64_t needed = files.parameters() * 4, there = free_memory_bytes();
  if (there > 0 && needed > there) {
    return fail("{}: its weights take {} MiB in float32, {} MiB of memory are free", files.path.string(), needed >> 20,
                there >> 20);
  }
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, stored] : files.tensors) {
    const bool as_stored = options.device().is_cuda() && stored.type == StoredType::bf16 && stored.rotary_heads == 0;
    const auto tensor = as_stored ? on_device(stored, options.device()) : load_tensor(stored);
    if (!tensor.ok()) return at(files.path.string() + ": " + name, tensor.error());
    if (const Status checked = check_values(name, *tensor); !checked.ok()) {
      return at(files.path.string(), checked.error());
    }
    tensors[name] = tensor->is_floating_point() ? tensor->to(options) : tensor->to(options.device());
  }
  return of_tensors(files.config, tensors);
}

Network Network::of_tensors(const ModelConfig& config, const std::map<std::string, at::Tensor>& tensors) {
  Network network;
  network.config_ = config;
  const bool bert = config.family == Family::bert;
  const Parts part(tensors);
  network.embedding_ = part(bert ? "embeddings.word_embeddings.weight" : "model.embed_tokens.weight");
  if (bert) {
    network.positions_ = part("embeddings.position_embeddings.weight");
    network.types_ = part("embeddings.token_type_embeddings.weight");
    network.embedding_norm_ = part.norm("embeddings.LayerNorm");
  } else {
    network.last_norm_ = part.norm("model.norm");
    network.head_ = config.tied_embeddings ? network.embedding_ : part("lm_head.weight");
    const std::vector<double> frequencies = rope_frequencies(config.rope, config.head_size);
    network.frequencies_ = at::empty({config.head_size / 2}, at::kDouble);
    std::memcpy(network.frequencies_.data_ptr(), frequencies.data(), frequencies.size() * sizeof(double));
    if (const at::Tensor factors = part("rope_freqs.weight"); factors.defined()) network.frequencies_ /= factors.cpu();
    network.frequencies_ = network.frequencies_.to(at::kFloat).to(network.options().device());
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    Layer layer;
    for (const LinearShape& linear : linear_layers(config, i)) layer.linears.push_back(part.linear(linear.name));
    const std::string in = bert ? fmt::format("encoder.layer.{}.", i) : fmt::format("model.layers.{}.", i);
    layer.first = part.norm(in + (bert ? "attention.output.LayerNorm" : "input_layernorm"));
    layer.second = part.norm(in + (bert ? "output.LayerNorm" : "post_attention_layernorm"));
    layer.query_norm = part(in + "self_attn.q_norm.weight");
    layer.key_norm = part(in + "self_attn.k_norm.weight");
    network.layers_.push_back(std::move(layer));
  }
  return network;
}

// Whether the queries of a group are few enough to be rows of one query that reads the group's keys once.
bool Network::shares_keys(std::int64_t tokens) const {
  const std::int64_t group = config_.kv_heads > 0 ? config_.heads / config_.kv_heads : 1;
  return kHasFused && group > 1 && group * tokens <= kFewQueries;
}

Pass Network::pass_over(const at::Tensor& positions, const at::Tensor& seen, std::vector<TokenPart> parts) const {
  const auto device = options().device();
  const at::Tensor there = seen.defined() ? seen.to(device) : seen;
  const auto mask_of = [&](const at::Tensor& some) {
    return at::zeros({some.size(0), 1, some.size(1), some.size(2)}, options())
        .masked_fill_(at::logical_not(some).unsqueeze(1), -INFINITY);
  };
  Pass pass;
  pass.parts = std::move(parts);
  for (TokenPart& part : pass.parts) {
    part.mask = mask_of(stretches_of(there.slice(1, part.begin, part.end), 2, part.keys));
  }
  if (pass.parts.empty() && there.defined()) pass.mask = mask_of(there);
  if (pass.mask.is_cuda() && shares_keys(positions.size(1))) {
    pass.group_mask = pass.mask.repeat({1, 1, config_.heads / config_.kv_heads, 1});
  }
  if (frequencies_.defined()) {
    const at::Tensor angles =
        positions.to(device).unsqueeze(-1).to(at::kFloat) * at::cat({frequencies_, frequencies_}).view({1, 1, -1});
    const double magnitude = rope_magnitude(config_.rope);
    pass.cosines = (angles.cos() * magnitude).unsqueeze(1).to(options());
    // Of the first half turned the other way round: what is turned is then the other half as it is.
    const at::Tensor sines = (angles.sin() * magnitude).unsqueeze(1);
    const std::int64_t half = config_.head_size / 2;
    pass.sines = at::cat({-sines.slice(-1, 0, half), sines.slice(-1, half)}, -1).to(options());
  }
  return pass;
}

Pass Network::begin_pass(std::int64_t batch, std::int64_t tokens, KeyValueCache* cache,
                         std::span<const std::int64_t> padding) const {
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
  Pass pass = pass_over((query_place - begins).clamp_min(0).squeeze(-1), seen);
  pass.cache = cache;
  return pass;
}

at::Tensor Network::embed(const at::Tensor& ids) const {
  at::Tensor hidden = at::embedding(embedding_, ids);
  if (config_.family != Family::bert) return hidden;
  hidden = hidden + positions_.slice(0, 0, ids.size(1)) + types_[0];
  return normalised(hidden, embedding_norm_, config_.norm_epsilon);
}

at::Tensor Network::rotated(const at::Tensor& heads, const Pass& pass) const {
  const at::Tensor turned = at::roll(heads, config_.head_size / 2, -1);
  return at::addcmul(heads * pass.cosines, turned, pass.sines);
}

// Values mixed as queries like keys: [batch, heads, tokens, head size].
at::Tensor Network::mixed(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                          const Pass& pass) const {
  const bool fused = kHasFused && queries.is_cuda();
  const std::int64_t batch = queries.size(0), tokens = queries.size(2), size = config_.head_size;
  const std::int64_t kv_heads = config_.kv_heads, group = config_.heads / kv_heads;
  if (fused && pass.parts.empty() && shares_keys(tokens)) {
    const at::Tensor asked = queries.reshape({batch, kv_heads, group * tokens, size});
    return fused_attention(asked, keys, values, pass.group_mask).reshape({batch, config_.heads, tokens, size});
  }
  const auto for_every_head = [&](const at::Tensor& of_group) {
    if (!fused || group == 1) return of_group;
    return of_group.unsqueeze(2).expand({batch, kv_heads, group, -1, size}).reshape({batch, config_.heads, -1, size});
  };
  const at::Tensor all_keys = for_every_head(keys), all_values = for_every_head(values);
  const auto attend = fused ? fused_attention : plain_attention;
  if (pass.parts.empty()) return attend(queries, all_keys, all_values, pass.mask);
  std::vector<at::Tensor> parts;
  for (const TokenPart& part : pass.parts) {
    parts.push_back(attend(queries.slice(2, part.begin, part.end), stretches_of(all_keys, 2, part.keys),
                           stretches_of(all_values, 2, part.keys), part.mask));
  }
  return at::cat(parts, 2);
}

at::Tensor Network::attention(std::int64_t index, const at::Tensor& inputs, const Pass& pass) const {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t batch = inputs.size(0), tokens = inputs.size(1), size = config_.head_size;
  const std::int64_t kv_heads = config_.kv_heads;
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
      if (pass.places.defined()) {
        kept.scatter_(2, pass.places.expand_as(added), added);
        return kept.slice(2, 0, pass.keys);
      }
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
  const at::Tensor joined =
      mixed(queries, keys, values, pass).transpose(1, 2).reshape({batch, tokens, config_.heads * size});
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
  const at::Tensor finished = run(ids, begin_pass(ids.size(0), ids.size(1), cache, padding));
  if (cache != nullptr) cache->length += ids.size(1);
  return finished;
}

at::Tensor Network::run(const at::Tensor& ids, const Pass& pass) const {
  at::Tensor hidden = embed(ids.to(options().device()));
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) hidden = run_layer(layer, hidden, pass);
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
