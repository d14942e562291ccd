// Where a training stands, kept in its work folder so that a kill at any moment loses no more than the steps since.
//
// The state names its step, and is written after the tensors of that step: one of the two last states is always whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "lm/model_files.h"
#include "lm_torch/train_loss.h"

namespace kw::lm {

class Checkpoints {
 public:
  explicit Checkpoints(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // What was saved last, if anything was; `weights` and `adam` become as they were then. State of another training, by
  // its "key", is an Error.
  Result<std::optional<Json>> resume(const Json& key, std::map<std::string, at::Tensor>& weights, AdamW& adam) const;
  // `state` as it is to come back. Checkpoints before it go.
  Status save(const Json& key, std::int64_t step, const std::map<std::string, at::Tensor>& weights, const AdamW& adam,
              Json state) const;
  // All but that of `step`, and what a kill left half written.
  void remove_others(std::int64_t step) const;

 private:
  std::filesystem::path tensors_of(std::int64_t step) const;
  std::filesystem::path folder_;
};

// The folder of a trained model, written beside its final name and renamed: there is a whole one or none.
struct TrainedModel {
  Json config_json, tokenizer_json;
  std::optional<Json> tokenizer_config;      // of a model with a tokenizer of its own
  const ModelFiles* tokenizer_of = nullptr;  // or the model whose tokenizer it has
  std::string type = "BF16";
};
Status write_trained(const std::filesystem::path& out, TrainedModel model,
                     const std::map<std::string, at::Tensor>& weights, const Json& about);

}  // namespace kw::lm
