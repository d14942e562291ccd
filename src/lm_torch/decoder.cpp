#include "lm_torch/decoder.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/half.h"

namespace kw::lm {
namespace {

enum LinearIndex : std::size_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

constexpr std::int64_t kLeastBytesAThread = 64 << 10;  // below, starting a thread takes longer than it saves

void normalise(const float* x, std::span<const float> weight, double epsilon, float* y) {
  double squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) squares += static_cast<double>(x[i]) * x[i];
  const auto scale = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(weight.size()) + epsilon));
  for (std::size_t i = 0; i < weight.size(); ++i) y[i] = x[i] * scale * weight[i];
}

}  // namespace

// Tensors by name; the first that cannot be read is remembered.
class Decoder::Reader {
 public:
  explicit Reader(const StoredTensors& tensors) : tensors_(tensors) {}

  std::vector<float> floats(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    std::vector<float> values(static_cast<std::size_t>(found->second.elements()));
    note(name, to_floats(found->second, values));
    return values;
  }

  Matrix matrix(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    Matrix made{.stored = found->second, .rows = found->second.shape[0], .columns = found->second.shape[1]};
    const auto ways = row_product_ways(made.stored.type);
    // Rows that GGUF interleaves are put in order once, too.
    if (ways.empty() || made.stored.rotary_heads > 0) {
      made.stored = copied(name, found->second);
      made.products = row_product_ways(made.stored.type).front().products;
    } else {
      made.products = ways.front().products;
    }
    made.row_bytes = std::ssize(made.stored.bytes) / std::max<std::int64_t>(made.rows, 1);
    return made;
  }

  Product product(const std::string& name) {
    Product made{.whole = matrix(name + ".weight"),
                 .down = matrix(name + ".down.weight"),
                 .up = matrix(name + ".up.weight"),
                 .bias = floats(name + ".bias")};
    if (const auto found = tensors_.find(name + ".rows"); found != tensors_.end()) {
      const StoredTensor& rows = found->second;
      const auto count = static_cast<std::size_t>(rows.shape[0]);
      for (std::size_t i = 0; i < count; ++i) {
        std::int64_t row = 0;
        if (rows.type == StoredType::i64) {
          std::memcpy(&row, rows.bytes.data() + i * 8, 8);
        } else {
          std::int32_t narrow = 0;
          std::memcpy(&narrow, rows.bytes.data() + i * 4, 4);
          row = narrow;
        }
        if (row < 0 || row >= rows.shape[0]) note(name, fail("rows points past its rows"));
        made.rows.push_back(row);
      }
    }
    return made;
  }

  Status status;

 private:
  void note(const std::string& name, const Status& read) {
    if (!read.ok() && status.ok()) status = at(name, read.error());
  }

  StoredTensor copied(const std::string& name, const StoredTensor& from) {
    const TypeFacts facts = facts_of(from.type);
    if (!row_product_ways(from.type).empty()) return in_order(from);
    std::vector<float> values(static_cast<std::size_t>(from.elements()));
    note(name, to_floats(from, values));
    const bool wide = facts.block_elements == 1;  // float64
    const std::size_t bytes = values.size() * (wide ? sizeof(float) : sizeof(Half));
    const auto kept = std::make_shared<std::vector<std::byte>>(bytes);
    if (wide) {
      std::memcpy(kept->data(), values.data(), bytes);
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const c10::Half half(values[i]);
        std::memcpy(kept->data() + i * sizeof half, &half, sizeof half);
      }
    }
    return {.type = wide ? StoredType::f32 : StoredType::f16, .shape = from.shape, .bytes = *kept, .keeps = kept};
  }

  static StoredTensor in_order(const StoredTensor& from) {
    const std::int64_t rows = from.shape[0];
    const std::size_t row_bytes = from.bytes.size() / static_cast<std::size_t>(rows);
    const auto kept = std::make_shared<std::vector<std::byte>>(from.bytes.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto source = static_cast<std::size_t>(row_in_gguf(row, rows, from.rotary_heads));
      std::memcpy(kept->data() + static_cast<std::size_t>(row) * row_bytes, from.bytes.data() + source * row_bytes,
                  row_bytes);
    }
    return {.type = from.type, .shape = from.shape, .bytes = *kept, .keeps = kept};
  }

  const StoredTensors& tensors_;
};

Result<Decoder> Decoder::open(const ModelFiles& files) {
  Decoder decoder;
  const ModelConfig& config = decoder.config_ = files.config;
  if (!config.is_causal() || !config.predicts_next()) {
    return fail("a {} model does not generate text token by token", name_of(config.family));
  }
  Reader read(files.tensors);
  decoder.embedding_ = read.matrix("model.embed_tokens.weight");
  decoder.head_ = config.tied_embeddings ? decoder.embedding_ : read.matrix("lm_head.weight");
  decoder.last_norm_ = read.floats("model.norm.weight");
  const std::vector<float> factors = read.floats("rope_freqs.weight");
  for (const double frequency : rope_frequencies(config.rope, config.head_size)) {
    const std::size_t i = decoder.frequencies_.size();
    decoder.frequencies_.push_back(static_cast<float>(factors.empty() ? frequency : frequency / factors[i]));
  }
  decoder.magnitude_ = rope_magnitude(config.rope);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    DecoderLayer& layer = decoder.layers_.emplace_back();
    for (const LinearShape& linear : linear_layers(config, i)) layer.linears.push_back(read.product(linear.name));
    const std::string in = fmt::format("model.layers.{}.", i);
    layer.first_norm = read.floats(in + "input_layernorm.weight");
    layer.second_norm = read.floats(in + "post_attention_layernorm.weight");
    layer.query_norm = read.floats(in + "self_attn.q_norm.weight");
    layer.key_norm = read.floats(in + "self_attn.k_norm.weight");
  }
  if (!read.status.ok()) return at(files.path.string(), read.status.error());
  const auto sized = [](std::vector<float>& values, std::int64_t count) {
    values.resize(static_cast<std::size_t>(count));
  };
  sized(decoder.cosines_, config.head_size / 2);
  sized(decoder.sines_, config.head_size / 2);
  sized(decoder.hidden_, config.width);
  sized(decoder.normed_, config.width);
  sized(decoder.queries_, config.heads * config.head_size);
  sized(decoder.mixed_, config.heads * config.head_size);
  sized(decoder.keys_, config.kv_heads * config.head_size);
  sized(decoder.values_, config.kv_heads * config.head_size);
  sized(decoder.gate_, config.inner_width);
  sized(decoder.up_, config.inner_width);
  sized(decoder.logits_, config.vocabulary);
  decoder.between_.resize(3);
  return decoder;
}

// All jobs at once, so that threads are started as seldom as can be: the first factors, then what needs them.
void Decoder::multiply(std::span<const Job> jobs, const float* x) {
  struct Part {
    const Matrix* matrix;
    const float* x;
    float* y;
  };
  const auto run = [](std::span<const Part> parts) {
    std::int64_t rows = 0, bytes = 0;
    for (const Part& part : parts) rows += part.matrix->rows, bytes += std::ssize(part.matrix->stored.bytes);
    if (rows == 0) return;
    const std::int64_t least_rows =
        std::max<std::int64_t>(4, kLeastBytesAThread * rows / std::max<std::int64_t>(bytes, 1));
    at::parallel_for(0, rows, least_rows, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t before = 0;
      for (const Part& part : parts) {
        const std::int64_t from = std::max(begin - before, std::int64_t{0}),
                           to = std::min(end - before, part.matrix->rows);
        if (from < to) {
          part.matrix->products(part.matrix->stored.bytes.data() + from * part.matrix->row_bytes, to - from,
                                part.matrix->columns, part.x, part.y + from);
        }
        before += part.matrix->rows;
      }
    });
  };
  std::vector<Part> first, second;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Product& product = *jobs[i].product;
    if (!product.is_factored()) {
      first.push_back({&product.whole, x, jobs[i].y});
      continue;
    }
    // With a pivot the first factor's answers are rows of the whole themselves: the second's come after them.
    const bool pivot = !product.rows.empty();
    between_[i].resize(static_cast<std::size_t>(product.down.rows + (pivot ? product.up.rows : 0)));
    first.push_back({&product.down, x, between_[i].data()});
    second.push_back({&product.up, between_[i].data(), pivot ? between_[i].data() + product.down.rows : jobs[i].y});
  }
  run(first);
  run(second);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Product& product = *jobs[i].product;
    for (std::size_t k = 0; k < product.rows.size(); ++k) {
      jobs[i].y[k] = between_[i][static_cast<std::size_t>(product.rows[k])];
    }
    for (std::size_t k = 0; k < product.bias.size(); ++k) jobs[i].y[k] += product.bias[k];
  }
}

void Decoder::turn(float* head) const {
  const std::size_t half = cosines_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const float low = head[i], high = head[i + half];
    head[i] = low * cosines_[i] - high * sines_[i];
    head[i + half] = high * cosines_[i] + low * sines_[i];
  }
}

// `mixed_` from queries_, keys_ and values_, with all keys and values before them.
void Decoder::attend(std::size_t index, KeyValueCache& cache) {
  const std::int64_t size = config_.head_size, place = cache.length, count = place + 1;
  const std::int64_t group = config_.heads / config_.kv_heads;
  const auto room_for = [&](at::Tensor& kept) {
    if (kept.defined() && kept.size(2) >= count) return;
    at::Tensor larger = at::empty({1, config_.kv_heads, std::max<std::int64_t>(2 * count, 64), size}, at::kFloat);
    if (place > 0) larger.slice(2, 0, place).copy_(kept.slice(2, 0, place));
    kept = larger;
  };
  room_for(cache.keys[index]);
  room_for(cache.values[index]);
  float *const keys = cache.keys[index].data_ptr<float>(), *const values = cache.values[index].data_ptr<float>();
  const std::int64_t room = cache.keys[index].size(2), value_room = cache.values[index].size(2);
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  static const RowProducts products = row_product_ways(StoredType::f32).front().products;
  at::parallel_for(
      0, config_.kv_heads, std::max<std::int64_t>(1, 4096 / count), [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> scores(static_cast<std::size_t>(count));
        for (std::int64_t head = begin; head < end; ++head) {
          float *const own_keys = keys + head * room * size, *const own_values = values + head * value_room * size;
          std::copy_n(keys_.data() + head * size, size, own_keys + place * size);
          std::copy_n(values_.data() + head * size, size, own_values + place * size);
          for (std::int64_t query = head * group; query < (head + 1) * group; ++query) {
            products(reinterpret_cast<const std::byte*>(own_keys), count, size, queries_.data() + query * size,
                     scores.data());
            const float most = *std::ranges::max_element(scores);
            float sum = 0;
            for (float& score : scores) sum += score = std::exp((score - most) * scale);
            for (float& score : scores) score /= sum;
            mix_rows(own_values, count, size, scores.data(), mixed_.data() + query * size);
          }
        }
      });
}

std::span<const float> Decoder::step(std::int32_t id, KeyValueCache& cache) {
  assert(id >= 0 && id < config_.vocabulary);
  const double epsilon = config_.norm_epsilon;
  const std::int64_t size = config_.head_size;
  if (cache.keys.empty()) {
    cache.keys.resize(layers_.size());
    cache.values.resize(layers_.size());
  }
  const auto row_bytes = static_cast<std::size_t>(embedding_.row_bytes);
  const Status read =
      to_floats({.type = embedding_.stored.type,
                 .shape = {1, config_.width},
                 .bytes = embedding_.stored.bytes.subspan(static_cast<std::size_t>(id) * row_bytes, row_bytes)},
                hidden_);
  assert(read.ok());
  const auto add = [&](const std::vector<float>& more) {
    for (std::size_t i = 0; i < hidden_.size(); ++i) hidden_[i] += more[i];
  };
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const float angle = static_cast<float>(cache.length) * frequencies_[i];
    cosines_[i] = static_cast<float>(std::cos(angle) * magnitude_);
    sines_[i] = static_cast<float>(std::sin(angle) * magnitude_);
  }
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    const DecoderLayer& layer = layers_[index];
    normalise(hidden_.data(), layer.first_norm, epsilon, normed_.data());
    multiply(std::array{Job{&layer.linears[kQuery], queries_.data()}, Job{&layer.linears[kKey], keys_.data()},
                        Job{&layer.linears[kValue], values_.data()}},
             normed_.data());
    const auto prepare = [&](std::vector<float>& heads, const std::vector<float>& norm) {
      for (std::size_t begin = 0; begin < heads.size(); begin += static_cast<std::size_t>(size)) {
        if (!norm.empty()) normalise(heads.data() + begin, norm, epsilon, heads.data() + begin);
        turn(heads.data() + begin);
      }
    };
    prepare(queries_, layer.query_norm);
    prepare(keys_, layer.key_norm);
    attend(index, cache);
    multiply(std::array{Job{&layer.linears[kOutput], normed_.data()}}, mixed_.data());
    add(normed_);
    normalise(hidden_.data(), layer.second_norm, epsilon, normed_.data());
    multiply(std::array{Job{&layer.linears[kGate], gate_.data()}, Job{&layer.linears[kUp], up_.data()}},
             normed_.data());
    for (std::size_t i = 0; i < gate_.size(); ++i) gate_[i] = gate_[i] / (1 + std::exp(-gate_[i])) * up_[i];
    multiply(std::array{Job{&layer.linears[kDown], normed_.data()}}, gate_.data());
    add(normed_);
  }
  ++cache.length;
  normalise(hidden_.data(), last_norm_, epsilon, hidden_.data());
  const Product head{.whole = head_};
  multiply(std::array{Job{&head, logits_.data()}}, hidden_.data());
  return logits_;
}

}  // namespace kw::lm
