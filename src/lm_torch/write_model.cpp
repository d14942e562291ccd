// A compressed model as a Hugging Face folder that transformers loads too, with the module file that it then needs.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "lm/chat_template.h"
#include "lm/onnx_linear.h"
#include "lm/safetensors.h"
#include "lm_torch/compress.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule =
    R"py("""Loads a model whose linear layers are kept as two factors (config.json: low_rank).

    AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)

y = up(down(x)); with a pivot, down(x) are rows of y themselves and up makes the others of them.
"""
import torch
from torch import nn
from transformers import LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM


class LowRankLinear(nn.Module):
    def __init__(self, whole, rank, pivot):
        super().__init__()
        outputs, inputs = whole.weight.shape
        self.down = nn.Linear(inputs, rank, bias=False)
        self.up = nn.Linear(rank, outputs - rank if pivot else outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs)) if whole.bias is not None else None
        self.register_buffer("rows", torch.zeros(outputs, dtype=torch.int32) if pivot else None)

    def forward(self, x):
        y = self.down(x)
        y = self.up(y) if self.rows is None else torch.cat([y, self.up(y)], -1).index_select(-1, self.rows)
        return y if self.bias is None else y + self.bias


def with_factors(base):
    class LowRank(base):
        def __init__(self, config):
            super().__init__(config)
            for name, kept in config.low_rank.items():
                owner, _, last = name.rpartition(".")
                owner = self.get_submodule(owner)
                setattr(owner, last, LowRankLinear(getattr(owner, last), kept["rank"], kept["pivot"]))
            self.post_init()

        def _init_weights(self, module):  # everything is read
            pass

    return LowRank


LowRankLlama = with_factors(LlamaForCausalLM)
LowRankQwen2 = with_factors(Qwen2ForCausalLM)
LowRankQwen3 = with_factors(Qwen3ForCausalLM)
)py";

StoredType type_to_write(const ModelFiles& files, const CompressOptions& options) {
  if (options.type == "F32") return StoredType::f32;
  if (options.type == "F16") return StoredType::f16;
  if (options.type == "BF16") return StoredType::bf16;
  std::map<StoredType, std::int64_t> bytes;
  for (const auto& [name, tensor] : files.tensors) bytes[tensor.type] += std::ssize(tensor.bytes);
  if (files.gguf) return StoredType::f16;
  return bytes[StoredType::bf16] > 0  ? StoredType::bf16
         : bytes[StoredType::f16] > 0 ? StoredType::f16
                                      : StoredType::f32;
}

// Of the linear layers what the network holds, of all else what the file holds.
std::map<std::string, at::Tensor> changed_tensors(const Network& network, bool merged) {
  std::map<std::string, at::Tensor> tensors;
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    const auto shapes = linear_layers(network.config(), layer);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Linear& linear = network.layers()[static_cast<std::size_t>(layer)].linears[i];
      if (!linear.is_factored()) continue;
      if (merged) {
        tensors[shapes[i].name + ".weight"] = linear.product();
        continue;
      }
      tensors[shapes[i].name + ".down.weight"] = linear.down;
      tensors[shapes[i].name + ".up.weight"] = linear.up;
      if (linear.rows.defined()) tensors[shapes[i].name + ".rows"] = linear.rows.to(at::kInt);
    }
  }
  return tensors;
}

Json config_of_gguf(const ModelConfig& config) {
  Json json = {{"model_type", name_of(config.family)},
               {"hidden_size", config.width},
               {"intermediate_size", config.inner_width},
               {"num_hidden_layers", config.layers},
               {"num_attention_heads", config.heads},
               {"num_key_value_heads", config.kv_heads},
               {"head_dim", config.head_size},
               {"vocab_size", config.vocabulary},
               {"max_position_embeddings", config.context},
               {"rms_norm_eps", config.norm_epsilon},
               {"hidden_act", "silu"},
               {"tie_word_embeddings", config.tied_embeddings},
               {"attention_bias", config.qkv_bias},
               {"rope_theta", config.rope.theta},
               {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", config.rope.theta}}}};
  if (config.mask_id) {
    json["mask_token_id"] = *config.mask_id;
    json["block_size"] = config.block_length;
    json["head_norms"] = config.head_norms;
  }
  if (config.begin_id) json["bos_token_id"] = *config.begin_id;
  if (!config.end_ids.empty()) json["eos_token_id"] = config.end_ids.front();
  return json;
}

Json config_with_ranks(const ModelFiles& files, Json json, const Network& network, StoredType type, bool merged) {
  const char* names[] = {"Llama", "Qwen2", "Qwen3", "", ""};
  const std::string base = names[static_cast<int>(files.config.family)];
  json["dtype"] = type == StoredType::f32 ? "float32" : type == StoredType::f16 ? "float16" : "bfloat16";
  if (merged) {
    if (!base.empty()) json["architectures"] = Json::array({base + "ForCausalLM"});
    return json;
  }
  Json ranks = Json::object();
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    const auto shapes = linear_layers(network.config(), layer);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Linear& linear = network.layers()[static_cast<std::size_t>(layer)].linears[i];
      if (linear.is_factored())
        ranks[shapes[i].name] = {{"rank", linear.down.size(0)}, {"pivot", linear.rows.defined()}};
    }
  }
  json["low_rank"] = ranks;
  if (!base.empty()) {
    json["architectures"] = Json::array({"LowRank" + base});
    json["auto_map"] = {{"AutoModelForCausalLM", "modeling_low_rank.LowRank" + base}};
  }
  return json;
}

Status write_weights(const fs::path& path, const ModelFiles& files, const Network& network, StoredType type,
                     bool merged) {
  const auto changed = changed_tensors(network, merged);
  std::map<std::string, const StoredTensor*> kept;
  for (const auto& [name, tensor] : files.tensors) {
    const std::string stem = name.substr(0, name.rfind(".weight"));
    const bool replaced = changed.contains(name) || changed.contains(stem + ".down.weight");
    if (!replaced && name != "rope_freqs.weight") kept[name] = &tensor;
  }
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, tensor] : kept) entries.push_back({name, type, tensor->shape});
  for (const auto& [name, tensor] : changed)
    entries.push_back({name, tensor.scalar_type() == at::kInt ? StoredType::i32 : type, tensor.sizes().vec()});
  KW_TRY(SafetensorsWriter writer, SafetensorsWriter::begin(path, entries, {{"format", "pt"}}));
  const auto element = type == StoredType::f32 ? at::kFloat : type == StoredType::f16 ? at::kHalf : at::kBFloat16;
  const auto put = [&](const at::Tensor& tensor, at::ScalarType as) {
    const at::Tensor flat = tensor.to(as).cpu().contiguous();
    writer.write(
        {static_cast<const std::byte*>(flat.data_ptr()), static_cast<std::size_t>(flat.numel()) * flat.element_size()});
  };
  for (const auto& [name, tensor] : kept) {
    const auto loaded = load_tensor(*tensor);
    if (!loaded.ok()) return at(name, loaded.error());
    put(*loaded, element);
  }
  for (const auto& [name, tensor] : changed) put(tensor, tensor.scalar_type() == at::kInt ? at::kInt : element);
  return writer.finish();
}

// Each factored layer as onnx/NAME.onnx.
Status write_onnx(const fs::path& folder, const Network& network) {
  constexpr std::int64_t kMostNumbers = (std::int64_t{1} << 31) / 4 - 4096;  // of a file of protobuf
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fail("{}: could not be made: {}", folder.string(), failed.message());
  for (std::int64_t layer = 0; layer < network.config().layers; ++layer) {
    const auto shapes = linear_layers(network.config(), layer);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Linear linear = network.layers()[static_cast<std::size_t>(layer)].linears[i];
      if (!linear.is_factored()) continue;
      for (at::Tensor* const part : {&linear.down, &linear.up, &linear.rows, &linear.bias}) {
        if (part->defined()) *part = part->cpu();
      }
      if (linear.parameters() > kMostNumbers) return fail("{} is too large for an ONNX file", shapes[i].name);
      const auto floats = [](const at::Tensor& tensor) {
        return std::span<const float>(tensor.defined() ? tensor.data_ptr<float>() : nullptr,
                                      tensor.defined() ? static_cast<std::size_t>(tensor.numel()) : 0);
      };
      const bool pivot = linear.rows.defined();
      KW_CHECK(write_file(folder / (shapes[i].name + ".onnx"),
                          onnx_model({.name = shapes[i].name,
                                      .inputs = linear.inputs(),
                                      .outputs = linear.outputs(),
                                      .rank = linear.down.size(0),
                                      .down = floats(linear.down),
                                      .up = floats(linear.up),
                                      .rows = {pivot ? linear.rows.data_ptr<std::int64_t>() : nullptr,
                                               pivot ? static_cast<std::size_t>(linear.rows.numel()) : 0},
                                      .bias = floats(linear.bias)})));
    }
  }
  return {};
}

}  // namespace

Result<Json> config_json_of(const ModelFiles& files) {
  if (files.tensors.contains("rope_freqs.weight") || (files.gguf && files.config.rope.kind != Rope::Kind::plain)) {
    return fail("{}: a GGUF file with scaled rotary embedding cannot be written as a folder yet", files.path.string());
  }
  return files.gguf ? config_of_gguf(files.config) : files.config_json;
}

Status write_tokenizer(const ModelFiles& files, const fs::path& folder) {
  if (!files.gguf) {
    for (const char* name :
         {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json",
          "chat_template.jinja", "vocab.txt", "vocab.json", "merges.txt"}) {
      std::error_code ignored;
      if (!fs::exists(files.path / name, ignored)) continue;
      KW_TRY(const std::string text, read_file(files.path / name));
      KW_CHECK(write_file(folder / name, text));
    }
    return {};
  }
  KW_TRY(const Json json, tokenizer_json_of(files));
  KW_CHECK(write_file(folder / "tokenizer.json", json.dump()));
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"model_max_length", files.config.context}};
  if (const Json* text = files.gguf->find("tokenizer.chat_template")) config["chat_template"] = *text;
  const Json* tokens = files.gguf->find("tokenizer.ggml.tokens");
  const auto name_token = [&](const char* name, std::optional<std::int64_t> id) {
    if (tokens != nullptr && id && *id >= 0 && *id < static_cast<std::int64_t>(tokens->size()))
      config[name] = tokens->at(*id);
  };
  name_token("bos_token", files.config.begin_id);
  if (!files.config.end_ids.empty()) name_token("eos_token", files.config.end_ids.front());
  return write_file(folder / "tokenizer_config.json", config.dump(1) + "\n");
}

Status write_model(const ModelFiles& files, const Network& network, const CompressOptions& options, const Json& about) {
  KW_TRY(const Json config, config_json_of(files));
  const fs::path folder = part_of(options.out);
  const StoredType type = type_to_write(files, options);
  std::error_code failed;
  fs::create_directories(folder, failed);
  // The folder itself may be locked, so only what a run that was killed left in it goes.
  for (const auto& left : fs::directory_iterator(folder, failed)) fs::remove_all(left.path(), failed);
  if (failed) return fail("{}: could not be made: {}", folder.string(), failed.message());
  const auto write_all = [&]() -> Status {
    KW_CHECK(write_weights(folder / "model.safetensors", files, network, type, options.merged));
    KW_CHECK(write_file(folder / "config.json",
                        config_with_ranks(files, config, network, type, options.merged).dump(1) + "\n"));
    KW_CHECK(write_tokenizer(files, folder));
    if (options.onnx) KW_CHECK(write_onnx(folder / "onnx", network));
    KW_CHECK(write_file(folder / "compression.json", about.dump(1) + "\n"));
    if (!options.merged) KW_CHECK(write_file(folder / "modeling_low_rank.py", kModule));
    return {};
  };
  const Status written = write_all();
  if (!written.ok()) {
    fs::remove_all(folder, failed);
    return written;
  }
  fs::rename(folder, options.out, failed);
  if (failed) return fail("{}: could not be renamed: {}", folder.string(), failed.message());
  return {};
}

}  // namespace kw::lm
