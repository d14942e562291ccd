#include "lm/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kw::lm {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 24;

std::int64_t whole(const Json& json, const char* name, std::int64_t otherwise) {
  const Json* found = json.find(name);
  return found == nullptr || found->is_null() ? otherwise : found->get<std::int64_t>();
}

double real(const Json& json, const char* name, double otherwise) {
  const Json* found = json.find(name);
  return found == nullptr || found->is_null() ? otherwise : found->get<double>();
}

bool is_true(const Json& json, const char* name) {
  const Json* found = json.find(name);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

Result<Family> family_named(const std::string& name) {
  for (const Family family : {Family::llama, Family::qwen2, Family::qwen3, Family::sdar, Family::bert}) {
    if (name == name_of(family)) return family;
  }
  return fail("models of type '{}' are not supported (llama, qwen2, qwen3, sdar and bert are)", name);
}

// `rope_scaling` of older files beside `rope_theta`, or `rope_parameters` of newer ones with both.
Result<Rope> read_rope(const Json& json, std::int64_t context) {
  Rope rope{.theta = real(json, "rope_theta", 10000), .original_context = context};
  const Json* scaling = json.find("rope_parameters");
  if (scaling == nullptr || scaling->is_null()) scaling = json.find("rope_scaling");
  if (scaling == nullptr || scaling->is_null()) return rope;
  rope.theta = real(*scaling, "rope_theta", rope.theta);
  const std::string kind = scaling->value("rope_type", scaling->value("type", "default"));
  if (kind == "default") return rope;
  if (kind == "linear") {
    rope.kind = Rope::Kind::linear;
  } else if (kind == "llama3") {
    rope.kind = Rope::Kind::llama3;
  } else if (kind == "yarn") {
    rope.kind = Rope::Kind::yarn;
    if (scaling->contains("mscale") || scaling->contains("mscale_all_dim"))
      return fail("yarn with mscale is not supported");
  } else {
    return fail("rotary embedding of type '{}' is not supported (default, linear, llama3 and yarn are)", kind);
  }
  rope.factor = real(*scaling, "factor", 1);
  rope.low_frequency_factor = real(*scaling, "low_freq_factor", 1);
  rope.high_frequency_factor = real(*scaling, "high_freq_factor", 4);
  rope.original_context = whole(*scaling, "original_max_position_embeddings", context);
  rope.beta_fast = real(*scaling, "beta_fast", 32);
  rope.beta_slow = real(*scaling, "beta_slow", 1);
  const double attention = real(*scaling, "attention_factor", 0);
  if (attention > 0) rope.attention_factor = attention;
  return rope;
}

std::vector<std::int64_t> ids_of(const Json* json) {
  if (json == nullptr || json->is_null()) return {};
  if (json->is_array()) return json->get<std::vector<std::int64_t>>();
  return {json->get<std::int64_t>()};
}

Status check_sizes(const ModelConfig& config) {
  const auto in_range = [](std::int64_t size) { return size >= 1 && size <= kMostSize; };
  struct Named {
    const char* name;
    std::int64_t size;
  };
  for (const Named& one :
       {Named{"the number of layers", config.layers}, Named{"the hidden size", config.width},
        Named{"the intermediate size", config.inner_width}, Named{"the number of heads", config.heads},
        Named{"the number of key and value heads", config.kv_heads}, Named{"the head size", config.head_size},
        Named{"the vocabulary", config.vocabulary}, Named{"the context length", config.context},
        Named{"the block length", config.block_length}}) {
    if (!in_range(one.size)) return fail("{} is {}", one.name, one.size);
  }
  if (config.layers > 10'000) return fail("the number of layers is {}", config.layers);
  if (config.mask_id && (*config.mask_id < 0 || *config.mask_id >= config.vocabulary)) {
    return fail("the mask token {} (mask_token_id) is outside of the vocabulary of {}", *config.mask_id,
                config.vocabulary);
  }
  if (config.heads % config.kv_heads != 0) {
    return fail("{} heads cannot share {} key and value heads", config.heads, config.kv_heads);
  }
  if (config.head_size % 2 != 0 && config.is_causal()) return fail("the head size {} is odd", config.head_size);
  const Rope& rope = config.rope;
  const bool sound = std::isfinite(rope.theta) && rope.theta > 0 && std::isfinite(rope.factor) && rope.factor > 0 &&
                     rope.original_context > 0 && rope.low_frequency_factor > 0 &&
                     rope.high_frequency_factor > rope.low_frequency_factor;
  if (config.is_causal() && !sound) return fail("the rotary embedding's parameters contradict each other");
  return {};
}

Result<ModelConfig> read_bert(const Json& json, ModelConfig config) {
  config.layers = json["num_hidden_layers"];
  config.width = json["hidden_size"];
  config.inner_width = json["intermediate_size"];
  config.heads = config.kv_heads = json["num_attention_heads"];
  if (config.heads < 1 || config.width % config.heads != 0)
    return fail("{} heads cannot share a width of {}", config.heads, config.width);
  config.head_size = config.width / config.heads;
  config.vocabulary = json["vocab_size"];
  config.context = json["max_position_embeddings"];
  config.norm_epsilon = real(json, "layer_norm_eps", 1e-12);
  config.token_types = whole(json, "type_vocab_size", 2);
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
  if (json.value("hidden_act", "gelu") != "gelu")
    return fail("hidden_act '{}' is not supported", json.value("hidden_act", ""));
  if (json.value("position_embedding_type", "absolute") != "absolute")
    return fail("relative positions are not supported");
  return config;
}

Result<ModelConfig> read_config(const Json& json) {
  ModelConfig config;
  KW_TRY(config.family, family_named(json["model_type"].get<std::string>()));
  if (const Json* kept = json.find("low_rank"); kept != nullptr) {
    for (const auto& [name, entry] : kept->items()) {
      config.low_rank[name] = {.rank = entry["rank"], .pivot = is_true(entry, "pivot")};
    }
  }
  if (json.contains("quantization_config"))
    return fail("quantised Hugging Face folders are not supported; use its GGUF");
  if (config.family == Family::bert) {
    KW_TRY(config, read_bert(json, config));
    KW_CHECK(check_sizes(config));
    return config;
  }
  config.layers = json["num_hidden_layers"];
  config.width = json["hidden_size"];
  config.inner_width = json["intermediate_size"];
  config.heads = json["num_attention_heads"];
  config.kv_heads = whole(json, "num_key_value_heads", config.heads);
  if (config.heads < 1) return fail("the number of heads is {}", config.heads);
  config.head_size =
      whole(json, "head_dim",
            config.family == Family::llama || config.family == Family::qwen2 ? config.width / config.heads : 128);
  config.vocabulary = json["vocab_size"];
  config.context = whole(json, "max_position_embeddings", 2048);
  config.norm_epsilon = real(json, "rms_norm_eps", 1e-6);
  config.tied_embeddings = is_true(json, "tie_word_embeddings");
  const bool sdar = config.family == Family::sdar;
  config.output_bias = config.family != Family::qwen2 && is_true(json, "attention_bias");
  config.qkv_bias = config.family == Family::qwen2 || config.output_bias || (sdar && is_true(json, "qkv_bias"));
  config.mlp_bias = (config.family == Family::llama || sdar) && is_true(json, "mlp_bias");
  config.head_norms =
      config.family == Family::qwen3 || (sdar && (!json.contains("head_norms") || is_true(json, "head_norms")));
  if (sdar) {
    config.block_length = whole(json, "block_size", whole(json, "block_length", 4));
    config.mask_id = whole(json, "mask_token_id", 151669);
  }
  if (json.value("hidden_act", "silu") != "silu")
    return fail("hidden_act '{}' is not supported", json.value("hidden_act", ""));
  if (is_true(json, "use_sliding_window")) return fail("sliding-window attention is not supported");
  KW_TRY(config.rope, read_rope(json, config.context));
  config.end_ids = ids_of(json.find("eos_token_id"));
  const auto begins = ids_of(json.find("bos_token_id"));
  if (!begins.empty()) config.begin_id = begins.front();
  KW_CHECK(check_sizes(config));
  return config;
}

Result<ModelConfig> read_gguf(const Gguf& gguf) {
  const auto need = [&](const std::string& name) -> Result<Json> {
    const Json* found = gguf.find(name);
    if (found == nullptr) return fail("its metadata lack {}", name);
    return *found;
  };
  KW_TRY(const Json architecture, need("general.architecture"));
  const std::string prefix = architecture.get<std::string>();
  ModelConfig config;
  KW_TRY(config.family, family_named(prefix));
  if (config.family == Family::bert)
    return fail("GGUF files of BERT models are not supported; use the Hugging Face folder");
  const auto number = [&](const std::string& name) { return need(prefix + "." + name); };
  const auto optional = [&](const std::string& name) { return gguf.find(prefix + "." + name); };
  KW_TRY(config.layers, number("block_count"));
  KW_TRY(config.width, number("embedding_length"));
  KW_TRY(config.inner_width, number("feed_forward_length"));
  KW_TRY(config.heads, number("attention.head_count"));
  KW_TRY(config.context, number("context_length"));
  KW_TRY(config.norm_epsilon, number("attention.layer_norm_rms_epsilon"));
  const Json* kv_heads = optional("attention.head_count_kv");
  config.kv_heads = kv_heads != nullptr ? kv_heads->get<std::int64_t>() : config.heads;
  if (config.heads < 1) return fail("the number of heads is {}", config.heads);
  const Json* head_size = optional("attention.key_length");
  config.head_size = head_size != nullptr ? head_size->get<std::int64_t>() : config.width / config.heads;
  if (const Json* rotated = optional("rope.dimension_count");
      rotated != nullptr && rotated->get<std::int64_t>() != config.head_size) {
    return fail("rotary embedding of {} of {} elements is not supported", rotated->get<std::int64_t>(),
                config.head_size);
  }
  config.rope.original_context = config.context;
  if (const Json* theta = optional("rope.freq_base")) config.rope.theta = theta->get<double>();
  if (const Json* kind = optional("rope.scaling.type"); kind != nullptr && kind->get<std::string>() != "none") {
    const std::string name = kind->get<std::string>();
    if (name != "linear" && name != "yarn") return fail("rotary embedding of type '{}' is not supported", name);
    config.rope.kind = name == "linear" ? Rope::Kind::linear : Rope::Kind::yarn;
    if (const Json* factor = optional("rope.scaling.factor")) config.rope.factor = factor->get<double>();
    if (const Json* context = optional("rope.scaling.original_context_length")) {
      config.rope.original_context = context->get<std::int64_t>();
    }
  }
  const auto embedding = gguf.tensors.find("token_embd.weight");
  if (embedding == gguf.tensors.end()) return fail("token_embd.weight is missing");
  config.vocabulary = embedding->second.shape.front();
  config.tied_embeddings = !gguf.tensors.contains("output.weight");
  config.qkv_bias = gguf.tensors.contains("blk.0.attn_q.bias");
  config.output_bias = gguf.tensors.contains("blk.0.attn_output.bias");
  config.head_norms = config.family == Family::qwen3 || gguf.tensors.contains("blk.0.attn_q_norm.weight");
  if (config.family == Family::sdar) {
    config.block_length = 4;
    KW_TRY(const Json mask, need("tokenizer.ggml.mask_token_id"));
    config.mask_id = mask.get<std::int64_t>();
    if (const Json* block = optional("block_length")) config.block_length = block->get<std::int64_t>();
  }
  if (const Json* id = gguf.find("tokenizer.ggml.eos_token_id")) config.end_ids = ids_of(id);
  if (const Json* id = gguf.find("tokenizer.ggml.bos_token_id")) config.begin_id = id->get<std::int64_t>();
  KW_CHECK(check_sizes(config));
  return config;
}

bool ends_with_any(const std::string& name, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::string name_of(Family family) {
  switch (family) {
    case Family::llama:
      return "llama";
    case Family::qwen2:
      return "qwen2";
    case Family::qwen3:
      return "qwen3";
    case Family::sdar:
      return "sdar";
    case Family::bert:
      return "bert";
  }
  return "";
}

std::vector<double> rope_frequencies(const Rope& rope, std::int64_t head_size) {
  constexpr double kTurn = 2 * std::numbers::pi;
  std::vector<double> frequencies;
  const auto size = static_cast<double>(head_size);
  const auto original = static_cast<double>(rope.original_context);
  // Yarn: the pair whose wave turns `rotations` times within the original context.
  const auto pair_turning = [&](double rotations) {
    return size * std::log(original / (rotations * kTurn)) / (2 * std::log(rope.theta));
  };
  double first = std::max(std::floor(pair_turning(rope.beta_fast)), 0.0);
  double last = std::min(std::ceil(pair_turning(rope.beta_slow)), size - 1);
  if (first == last) last += 0.001;
  for (std::int64_t pair = 0; pair < head_size / 2; ++pair) {
    double frequency = std::pow(rope.theta, -2.0 * static_cast<double>(pair) / size);
    if (rope.kind == Rope::Kind::linear) {
      frequency /= rope.factor;
    } else if (rope.kind == Rope::Kind::llama3) {
      const double wave = kTurn / frequency;
      const double smooth =
          (original / wave - rope.low_frequency_factor) / (rope.high_frequency_factor - rope.low_frequency_factor);
      const double kept = std::clamp(smooth, 0.0, 1.0);
      frequency = (1 - kept) * frequency / rope.factor + kept * frequency;
    } else if (rope.kind == Rope::Kind::yarn) {
      const double stretched = std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
      frequency = frequency / rope.factor * stretched + frequency * (1 - stretched);
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

double rope_magnitude(const Rope& rope) {
  if (rope.kind != Rope::Kind::yarn) return 1;
  if (rope.attention_factor) return *rope.attention_factor;
  return rope.factor <= 1 ? 1 : 0.1 * std::log(rope.factor) + 1;
}

Result<ModelConfig> config_from_json(const Json& json) {
  try {
    return read_config(json);
  } catch (const JsonError& error) {
    return fail("{}", error.what());
  }
}

Result<ModelConfig> config_from_gguf(const Gguf& gguf) {
  try {
    return read_gguf(gguf);
  } catch (const JsonError& error) {
    return fail("{}", error.what());
  }
}

std::vector<LinearShape> linear_layers(const ModelConfig& config, std::int64_t layer) {
  const std::int64_t queries = config.heads * config.head_size, keys = config.kv_heads * config.head_size;
  if (config.family == Family::bert) {
    const std::string in = fmt::format("encoder.layer.{}.", layer);
    return {{in + "attention.self.query", config.width, config.width, true},
            {in + "attention.self.key", config.width, config.width, true},
            {in + "attention.self.value", config.width, config.width, true},
            {in + "attention.output.dense", config.width, config.width, true},
            {in + "intermediate.dense", config.inner_width, config.width, true},
            {in + "output.dense", config.width, config.inner_width, true}};
  }
  const std::string in = fmt::format("model.layers.{}.", layer);
  return {{in + "self_attn.q_proj", queries, config.width, config.qkv_bias},
          {in + "self_attn.k_proj", keys, config.width, config.qkv_bias},
          {in + "self_attn.v_proj", keys, config.width, config.qkv_bias},
          {in + "self_attn.o_proj", config.width, queries, config.output_bias},
          {in + "mlp.gate_proj", config.inner_width, config.width, config.mlp_bias},
          {in + "mlp.up_proj", config.inner_width, config.width, config.mlp_bias},
          {in + "mlp.down_proj", config.width, config.inner_width, config.mlp_bias}};
}

std::map<std::string, ExpectedTensor> expected_tensors(const ModelConfig& config) {
  std::map<std::string, ExpectedTensor> all;
  const auto norm = [&](const std::string& name) {
    all[name + ".weight"] = {{config.width}};
    if (config.family == Family::bert) all[name + ".bias"] = {{config.width}};
  };
  if (config.family == Family::bert) {
    all["embeddings.word_embeddings.weight"] = {{config.vocabulary, config.width}};
    all["embeddings.position_embeddings.weight"] = {{config.context, config.width}};
    all["embeddings.token_type_embeddings.weight"] = {{config.token_types, config.width}};
    norm("embeddings.LayerNorm");
  } else {
    all["model.embed_tokens.weight"] = {{config.vocabulary, config.width}};
    norm("model.norm");
    all["lm_head.weight"] = {{config.vocabulary, config.width}, config.tied_embeddings};
    all["rope_freqs.weight"] = {{config.head_size / 2}, true};
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    if (config.family == Family::bert) {
      norm(fmt::format("encoder.layer.{}.attention.output.LayerNorm", layer));
      norm(fmt::format("encoder.layer.{}.output.LayerNorm", layer));
    } else {
      norm(fmt::format("model.layers.{}.input_layernorm", layer));
      norm(fmt::format("model.layers.{}.post_attention_layernorm", layer));
    }
    if (config.head_norms) {
      all[fmt::format("model.layers.{}.self_attn.q_norm.weight", layer)] = {{config.head_size}};
      all[fmt::format("model.layers.{}.self_attn.k_norm.weight", layer)] = {{config.head_size}};
    }
    for (const LinearShape& linear : linear_layers(config, layer)) {
      if (linear.bias) all[linear.name + ".bias"] = {{linear.outputs}};
      const auto kept = config.low_rank.find(linear.name);
      if (kept == config.low_rank.end()) {
        all[linear.name + ".weight"] = {{linear.outputs, linear.inputs}};
        continue;
      }
      const LowRank& low = kept->second;
      all[linear.name + ".down.weight"] = {{low.rank, linear.inputs}};
      all[linear.name + ".up.weight"] = {{low.pivot ? linear.outputs - low.rank : linear.outputs, low.rank}};
      if (low.pivot) all[linear.name + ".rows"] = {{linear.outputs}};
    }
  }
  return all;
}

Status check_tensors(const ModelConfig& config, const StoredTensors& tensors) {
  for (const auto& [layer, low] : config.low_rank) {
    if (low.rank < 1 || low.rank > kMostSize) return fail("{}: a rank of {}", layer, low.rank);
  }
  const auto expected = expected_tensors(config);
  for (const auto& [name, one] : expected) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      if (one.optional) continue;
      return fail("{} is missing: a {} model of this configuration has it with shape {}", name, name_of(config.family),
                  text_of(one.shape));
    }
    if (found->second.shape != one.shape) {
      return fail("{} has the shape {}, the configuration says {}", name, text_of(found->second.shape),
                  text_of(one.shape));
    }
  }
  for (const auto& [name, tensor] : tensors) {
    const bool known = expected.contains(name) || ends_with_any(name, {"rotary_emb.inv_freq", "position_ids"}) ||
                       (config.family == Family::bert && (name.starts_with("pooler.") || name.starts_with("cls.")));
    if (!known) return fail("{} belongs to no {} model of this configuration", name, name_of(config.family));
  }
  return {};
}

}  // namespace kw::lm
