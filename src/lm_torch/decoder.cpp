#include "lm_torch/decoder.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/half.h"
#include "lm/token_steps.h"

namespace kw::lm {
namespace {

enum LinearIndex : std::size_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

constexpr std::int64_t kLeastBytesAThread = 64 << 10;  // below, starting a thread takes longer than it saves

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
  if (!config.is_causal()) return fail("a {} model does not generate text token by token", name_of(config.family));
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
  decoder.between_.resize(3);
  return decoder;
}

std::int64_t Decoder::bytes_a_pass() const {
  std::int64_t sum = std::ssize(head_.stored.bytes);
  for (const DecoderLayer& layer : layers_) {
    for (const Product& product : layer.linears) {
      for (const Matrix* const one : {&product.whole, &product.down, &product.up}) sum += std::ssize(one->stored.bytes);
    }
  }
  return sum;
}

// All jobs at once, so that threads are started as seldom as can be: the first factors, then what needs them.
void Decoder::multiply(std::span<const Job> jobs, const float* x, std::int64_t count) {
  struct Part {
    const Matrix* matrix;
    const float* x;
    float* y;
  };
  const auto run = [count](std::span<const Part> parts) {
    std::int64_t rows = 0, bytes = 0;
    for (const Part& part : parts) rows += part.matrix->rows, bytes += std::ssize(part.matrix->stored.bytes);
    if (rows == 0) return;
    const std::int64_t least_rows =
        std::max<std::int64_t>(4, kLeastBytesAThread * rows / std::max<std::int64_t>(bytes, 1));
    at::parallel_for(0, rows, least_rows, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t before = 0;
      for (const Part& part : parts) {
        const Matrix& matrix = *part.matrix;
        const std::int64_t from = std::max(begin - before, std::int64_t{0}), to = std::min(end - before, matrix.rows);
        if (from < to) {
          matrix.products({matrix.stored.bytes.data() + from * matrix.row_bytes, to - from, matrix.columns},
                          {.x = part.x, .count = count, .y = part.y + from, .step = matrix.rows});
        }
        before += matrix.rows;
      }
    });
  };
  const auto sized = [count](std::vector<float>& values, std::int64_t each) {
    values.resize(static_cast<std::size_t>(count * each));
    return values.data();
  };
  std::vector<Part> first, second;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Product& product = *jobs[i].product;
    if (!product.is_factored()) {
      first.push_back({&product.whole, x, jobs[i].y});
      continue;
    }
    float* const down = sized(between_[i].down, product.down.rows);
    first.push_back({&product.down, x, down});
    second.push_back({&product.up, down, product.rows.empty() ? jobs[i].y : sized(between_[i].up, product.up.rows)});
  }
  run(first);
  run(second);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Product& product = *jobs[i].product;
    for (std::int64_t token = 0; token < count; ++token) {
      float* const y = jobs[i].y + token * product.outputs();
      // With a pivot the first factor's answers are rows of the whole themselves, and the second's come after them.
      for (std::size_t k = 0; k < product.rows.size(); ++k) {
        const std::int64_t row = product.rows[k], above = product.down.rows;
        y[k] = row < above ? between_[i].down[static_cast<std::size_t>(token * above + row)]
                           : between_[i].up[static_cast<std::size_t>(token * product.up.rows + row - above)];
      }
      for (std::size_t k = 0; k < product.bias.size(); ++k) y[k] += product.bias[k];
    }
  }
}

// Norm and rotary embedding of the queries or keys of all tokens.
void Decoder::prepare(std::vector<float>& heads, std::int64_t count, const std::vector<float>& norm) {
  const auto size = static_cast<std::size_t>(config_.head_size), half = size / 2;
  for (std::size_t token = 0; token < tokens_.size(); ++token) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      float* const head = heads.data() + (token * static_cast<std::size_t>(count) + i) * size;
      if (!norm.empty()) normalise(head, norm, config_.norm_epsilon, head);
      rotate({head, size}, {cosines_.data() + token * half, half}, {sines_.data() + token * half, half});
    }
  }
}

// `mixed_` from queries_, keys_ and values_, with all keys and values before them.
void Decoder::attend(std::size_t index, KeyValueCache& cache) {
  const std::int64_t size = config_.head_size, group = config_.heads / config_.kv_heads;
  at::Tensor &keys = cache.keys[index], &values = cache.values[index];
  assert(keys.is_contiguous() && values.is_contiguous() && keys.scalar_type() == at::kFloat);
  const auto rows_of = [&](at::Tensor& kept, std::int64_t text, std::int64_t head) {
    return kept.data_ptr<float>() + (text * config_.kv_heads + head) * kept.size(2) * size;
  };
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  static const RowProductWay way = row_product_ways(StoredType::f32).front();
  std::int64_t most = 0;
  for (const Token& token : tokens_) most = std::max(most, token.seen);
  at::parallel_for(
      0, config_.kv_heads, std::max<std::int64_t>(1, 4096 / (most * std::ssize(tokens_))),
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> scores(static_cast<std::size_t>(group * most));
        for (std::int64_t head = begin; head < end; ++head) {
          for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const Token& token = tokens_[i];
            const std::int64_t from = (static_cast<std::int64_t>(i) * config_.kv_heads + head) * size;
            std::copy_n(keys_.data() + from, size, rows_of(keys, token.text, head) + token.place * size);
            std::copy_n(values_.data() + from, size, rows_of(values, token.text, head) + token.place * size);
          }
          for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const Token& token = tokens_[i];
            const std::int64_t first = (static_cast<std::int64_t>(i) * config_.heads + head * group) * size;
            way.products({reinterpret_cast<const std::byte*>(rows_of(keys, token.text, head)), token.seen, size},
                         {.x = queries_.data() + first, .count = group, .y = scores.data(), .step = token.seen});
            for (std::int64_t query = 0; query < group; ++query) {
              float* const shares = scores.data() + query * token.seen;
              become_shares({shares, static_cast<std::size_t>(token.seen)}, scale);
              way.mix(rows_of(values, token.text, head), token.seen, size, shares,
                      mixed_.data() + first + query * size);
            }
          }
        }
      });
}

// Room for these tokens, their embeddings and where they stand.
void Decoder::begin(std::span<const Stretch> stretches, std::int64_t block) {
  tokens_.clear();
  for (const Stretch& stretch : stretches) {
    const std::int64_t end = stretch.begin + std::ssize(stretch.ids);
    for (std::int64_t place = stretch.begin; place < end; ++place) {
      tokens_.push_back({.text = stretch.text, .place = place, .seen = std::min((place / block + 1) * block, end)});
    }
  }
  const auto sized = [&](std::vector<float>& values, std::int64_t each) {
    values.resize(tokens_.size() * static_cast<std::size_t>(each));
  };
  for (std::vector<float>* const one : {&hidden_, &normed_}) sized(*one, config_.width);
  for (std::vector<float>* const one : {&queries_, &mixed_}) sized(*one, config_.heads * config_.head_size);
  for (std::vector<float>* const one : {&keys_, &values_}) sized(*one, config_.kv_heads * config_.head_size);
  for (std::vector<float>* const one : {&gate_, &up_}) sized(*one, config_.inner_width);
  for (std::vector<float>* const one : {&cosines_, &sines_}) sized(*one, config_.head_size / 2);
  const auto width = static_cast<std::size_t>(config_.width),
             row_bytes = static_cast<std::size_t>(embedding_.row_bytes);
  std::size_t token = 0;
  for (const Stretch& stretch : stretches) {
    for (const std::int32_t id : stretch.ids) {
      assert(id >= 0 && id < config_.vocabulary);
      const Status read =
          to_floats({.type = embedding_.stored.type,
                     .shape = {1, config_.width},
                     .bytes = embedding_.stored.bytes.subspan(static_cast<std::size_t>(id) * row_bytes, row_bytes)},
                    {hidden_.data() + token++ * width, width});
      assert(read.ok());
    }
  }
  for (std::size_t i = 0; i < cosines_.size(); ++i) {
    const float angle =
        static_cast<float>(tokens_[i / frequencies_.size()].place) * frequencies_[i % frequencies_.size()];
    cosines_[i] = static_cast<float>(std::cos(angle) * magnitude_);
    sines_[i] = static_cast<float>(std::sin(angle) * magnitude_);
  }
}

void Decoder::run(std::span<const Stretch> stretches, std::int64_t block, KeyValueCache& cache) {
  begin(stretches, block);
  const std::int64_t count = std::ssize(tokens_);
  const double epsilon = config_.norm_epsilon;
  const auto normalise_all = [&](const std::vector<float>& norm) {
    for (std::size_t at = 0; at < hidden_.size(); at += norm.size()) {
      normalise(hidden_.data() + at, norm, epsilon, normed_.data() + at);
    }
  };
  const auto add = [&](const std::vector<float>& more) {
    for (std::size_t i = 0; i < hidden_.size(); ++i) hidden_[i] += more[i];
  };
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    const DecoderLayer& layer = layers_[index];
    normalise_all(layer.first_norm);
    multiply(std::array{Job{&layer.linears[kQuery], queries_.data()}, Job{&layer.linears[kKey], keys_.data()},
                        Job{&layer.linears[kValue], values_.data()}},
             normed_.data(), count);
    prepare(queries_, config_.heads, layer.query_norm);
    prepare(keys_, config_.kv_heads, layer.key_norm);
    attend(index, cache);
    multiply(std::array{Job{&layer.linears[kOutput], normed_.data()}}, mixed_.data(), count);
    add(normed_);
    normalise_all(layer.second_norm);
    multiply(std::array{Job{&layer.linears[kGate], gate_.data()}, Job{&layer.linears[kUp], up_.data()}}, normed_.data(),
             count);
    apply_gate(gate_, up_);
    multiply(std::array{Job{&layer.linears[kDown], normed_.data()}}, gate_.data(), count);
    add(normed_);
  }
}

std::span<float> Decoder::logits(std::span<const std::int64_t> tokens) {
  const auto width = static_cast<std::size_t>(config_.width);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    assert(tokens[i] >= 0 && tokens[i] < std::ssize(tokens_) && tokens.size() <= tokens_.size());
    normalise(hidden_.data() + static_cast<std::size_t>(tokens[i]) * width, last_norm_, config_.norm_epsilon,
              normed_.data() + i * width);
  }
  logits_.resize(tokens.size() * static_cast<std::size_t>(config_.vocabulary));
  const Product head{.whole = head_};
  multiply(std::array{Job{&head, logits_.data()}}, normed_.data(), std::ssize(tokens));
  return logits_;
}

std::span<const float> Decoder::step(std::int32_t id, KeyValueCache& cache) {
  const std::int64_t place = cache.length, count = place + 1;
  cache.keys.resize(layers_.size());
  cache.values.resize(layers_.size());
  for (std::vector<at::Tensor>* const all : {&cache.keys, &cache.values}) {
    for (at::Tensor& kept : *all) {
      if (kept.defined() && kept.size(2) >= count) continue;
      at::Tensor larger =
          at::empty({1, config_.kv_heads, std::max<std::int64_t>(2 * count, 64), config_.head_size}, at::kFloat);
      if (place > 0) larger.slice(2, 0, place).copy_(kept.slice(2, 0, place));
      kept = larger;
    }
  }
  const Stretch one = {.ids = {&id, 1}, .begin = place};
  run({&one, 1}, 1, cache);
  ++cache.length;
  const std::int64_t token = 0;
  return logits({&token, 1});
}

}  // namespace kw::lm
