#include "lm/model_files.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/files.h"
#include "lm/safetensors.h"

namespace kw::lm {
namespace {

// "model.layers.3.self_attn.q_proj.weight" of "blk.3.attn_q.weight"; "" where GGUF's name is unknown.
std::string hugging_face_name(const std::string& name) {
  static constexpr std::array kOutside = {
      std::pair{"token_embd.weight", "model.embed_tokens.weight"},
      std::pair{"output.weight", "lm_head.weight"},
      std::pair{"output_norm.weight", "model.norm.weight"},
      std::pair{"rope_freqs.weight", "rope_freqs.weight"},
  };
  static constexpr std::array kInside = {
      std::pair{"attn_norm", "input_layernorm"},    std::pair{"ffn_norm", "post_attention_layernorm"},
      std::pair{"attn_q", "self_attn.q_proj"},      std::pair{"attn_k", "self_attn.k_proj"},
      std::pair{"attn_v", "self_attn.v_proj"},      std::pair{"attn_output", "self_attn.o_proj"},
      std::pair{"attn_q_norm", "self_attn.q_norm"}, std::pair{"attn_k_norm", "self_attn.k_norm"},
      std::pair{"ffn_gate", "mlp.gate_proj"},       std::pair{"ffn_up", "mlp.up_proj"},
      std::pair{"ffn_down", "mlp.down_proj"},
  };
  for (const auto& [gguf, ours] : kOutside) {
    if (name == gguf) return ours;
  }
  const std::size_t part = name.find('.', 4), ending = name.rfind('.');
  if (!name.starts_with("blk.") || part == std::string::npos || ending <= part) return "";
  for (const auto& [gguf, ours] : kInside) {
    if (name.substr(part + 1, ending - part - 1) != gguf) continue;
    return "model.layers." + name.substr(4, part - 4) + "." + ours + name.substr(ending);
  }
  return "";
}

Result<ModelFiles> open_gguf_model(const std::filesystem::path& path) {
  ModelFiles files{.path = path};
  KW_TRY(files.gguf, open_gguf(path));
  KW_TRY(files.config, config_from_gguf(*files.gguf));
  for (auto& [name, tensor] : files.gguf->tensors) {
    const std::string ours = hugging_face_name(name);
    if (ours.empty()) return fail("{} belongs to no model that is supported", name);
    if (files.config.family == Family::llama &&
        (name.find(".attn_q.") != std::string::npos || name.find(".attn_k.") != std::string::npos)) {
      tensor.rotary_heads = name.find(".attn_q.") != std::string::npos ? files.config.heads : files.config.kv_heads;
    }
    files.tensors[ours] = tensor;
  }
  return files;
}

Result<ModelFiles> open_folder(const std::filesystem::path& path) {
  ModelFiles files{.path = path};
  KW_TRY(const std::string text, read_file(path / "config.json"));
  try {
    files.config_json = Json::parse(text);
  } catch (const JsonError& error) {
    return fail("config.json: {}", error.what());
  }
  const auto config = config_from_json(files.config_json);
  if (!config.ok()) return at("config.json", config.error());
  files.config = *config;
  KW_TRY(StoredTensors tensors, open_weights_folder(path));
  for (auto& [name, tensor] : tensors) {
    files.tensors[name.starts_with("bert.") ? name.substr(5) : name] = std::move(tensor);
  }
  return files;
}

}  // namespace

std::int64_t ModelFiles::parameters() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += tensor.elements();
  return sum;
}

std::int64_t ModelFiles::stored_bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += std::ssize(tensor.bytes);
  return sum;
}

Result<ModelFiles> open_model(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail("{}: there is no such file or folder; a model is a Hugging Face folder or a .gguf file", path.string());
  }
  auto files = std::filesystem::is_directory(path, ignored) ? open_folder(path) : open_gguf_model(path);
  if (!files.ok()) {
    return files.error().message.starts_with(path.string()) ? files.error() : at(path.string(), files.error());
  }
  const Status checked = check_tensors(files->config, files->tensors);
  if (!checked.ok()) return at(path.string(), checked.error());
  return files;
}

}  // namespace kw::lm
