#include "lm_torch/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <vector>

#include "base/files.h"
#include "base/folder_lock.h"
#include "lm/safetensors.h"
#include "lm_torch/compress.h"
#include "lm_torch/statistics.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using Weights = std::map<std::string, at::Tensor>;

Status write_weights(const fs::path& path, const Weights& weights, const std::string& type) {
  const StoredType stored = type == "F32" ? StoredType::f32 : type == "F16" ? StoredType::f16 : StoredType::bf16;
  const auto element = type == "F32" ? at::kFloat : type == "F16" ? at::kHalf : at::kBFloat16;
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, weight] : weights) entries.push_back({name, stored, weight.sizes().vec()});
  KW_TRY(SafetensorsWriter writer, SafetensorsWriter::begin(path, entries, {{"format", "pt"}}));
  for (const auto& [name, weight] : weights) {
    const at::Tensor flat = weight.detach().cpu().to(element).contiguous();
    writer.write(
        {static_cast<const std::byte*>(flat.data_ptr()), static_cast<std::size_t>(flat.numel()) * flat.element_size()});
  }
  return writer.finish();
}

}  // namespace

fs::path Checkpoints::tensors_of(std::int64_t step) const {
  return folder_ / fmt::format("step_{:08}.safetensors", step);
}

Result<std::optional<Json>> Checkpoints::resume(const Json& key, Weights& weights, AdamW& adam) const {
  const fs::path path = folder_ / "state.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::optional<Json>();
  KW_TRY(const std::string text, read_file(path));
  const auto broken = [&](const std::string& why) {
    return fail("{}: {}; remove the folder to begin anew", path.string(), why);
  };
  const Json state = Json::parse_quietly(text);
  const Json *const known = state.find("key"), *const step = state.find("step");
  if (known == nullptr || step == nullptr || !step->is_number_integer()) return broken("is no state of a training");
  if (*known != key) {
    return fail(
        "{}: holds the training of another corpus or with other options; say another --work or --out, or remove it",
        folder_.string());
  }
  KW_TRY(const Weights kept, read_tensors(tensors_of(step->get<std::int64_t>())));
  const at::NoGradGuard no_gradients;
  for (auto& [name, weight] : weights) {
    const auto restore = [&](const std::string& prefix, at::Tensor& into) {
      const auto found = kept.find(prefix + name);
      if (found == kept.end() || found->second.sizes() != into.sizes()) return false;
      into.copy_(found->second);
      return true;
    };
    if (!restore("weight.", weight) || !restore("mean.", adam.means[name]) || !restore("square.", adam.squares[name])) {
      return broken("its checkpoint lacks " + name);
    }
  }
  adam.steps = state["adam_steps"];
  return std::optional<Json>(state["state"]);
}

Status Checkpoints::save(const Json& key, std::int64_t step, const Weights& weights, const AdamW& adam,
                         Json state) const {
  Weights kept;
  for (const auto& [name, weight] : weights) {
    kept["weight." + name] = weight.detach().cpu();
    kept["mean." + name] = adam.means.at(name).cpu();
    kept["square." + name] = adam.squares.at(name).cpu();
  }
  KW_CHECK(write_tensors(tensors_of(step), kept));
  const Json all = {{"key", key}, {"step", step}, {"adam_steps", adam.steps}, {"state", std::move(state)}};
  KW_CHECK(write_file(folder_ / "state.json", all.dump() + "\n"));
  remove_others(step);
  return {};
}

void Checkpoints::remove_others(std::int64_t step) const {
  std::error_code failed;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    const bool draft = name.starts_with("state.json.new-");
    if (draft || (name.starts_with("step_") && entry.path() != tensors_of(step))) old.push_back(entry.path());
  }
  for (const fs::path& one : old) fs::remove(one, failed);
}

Status write_trained(const fs::path& out, TrainedModel model, const Weights& weights, const Json& about) {
  const fs::path part = part_of(out);
  KW_TRY(const FolderLock writing, FolderLock::take(part));
  std::error_code failed;
  for (const auto& left : fs::directory_iterator(part, failed)) fs::remove_all(left.path(), failed);
  const auto write_all = [&]() -> Status {
    model.config_json["dtype"] = model.type == "F32" ? "float32" : model.type == "F16" ? "float16" : "bfloat16";
    KW_CHECK(write_weights(part / "model.safetensors", weights, model.type));
    KW_CHECK(write_file(part / "config.json", model.config_json.dump(1) + "\n"));
    if (model.tokenizer_of != nullptr) KW_CHECK(write_tokenizer(*model.tokenizer_of, part));
    if (model.tokenizer_config) {
      KW_CHECK(write_file(part / "tokenizer_config.json", model.tokenizer_config->dump(1) + "\n"));
    }
    KW_CHECK(write_file(part / "tokenizer.json", model.tokenizer_json.dump() + "\n"));
    return write_file(part / "training.json", about.dump(1) + "\n");
  };
  const Status written = write_all();
  if (!written.ok()) {
    fs::remove_all(part, failed);
    return written;
  }
  fs::rename(part, out, failed);
  if (failed) return fail("{}: could not be renamed: {}", part.string(), failed.message());
  return {};
}

}  // namespace kw::lm
