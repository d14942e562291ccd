// What calibration text shows of a model's linear layers, gathered layer by layer and kept on the disk.
//
// Of each linear layer: the Gram matrix of its inputs and their mean size; where gradients are wanted, the Gram matrix
// of the loss's gradients at its outputs and the summed squares of its weights' gradients. A layer that is finished is
// written, with the hidden states that the next one is given, so that a run that was stopped goes on there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm_torch/network.h"

namespace kw::lm {

struct LinearStatistics {
  at::Tensor gram;              // [inputs, inputs]: sum of x x^T
  at::Tensor mean_size;         // [inputs]: mean |x|
  at::Tensor output_gram;       // [outputs, outputs]: sum of g g^T; where gradients were gathered
  at::Tensor squared_gradient;  // [inputs]: summed squares of the weight's gradient, by input
};
using LayerStatistics = std::vector<LinearStatistics>;

using TellProgress = std::function<void(const Json& progress)>;

class Statistics {
 public:
  // In `folder`, made where it is missing. What lies there of another model or text (`key`) is thrown away.
  static Result<Statistics> open(const std::filesystem::path& folder, const std::string& key);

  // Passes the tokens ([sequences, length]) through the layers, or through those that are not done. Tokens lie where
  // the network does, and so do the statistics that `layer` gives.
  Status gather(const Network& network, const at::Tensor& ids, const TellProgress& tell);
  // One sequence after the other, forwards and backwards through the whole model.
  Status gather_gradients(const Network& network, const at::Tensor& ids, const TellProgress& tell);
  bool has(std::int64_t layer) const;  // Gram matrices of it
  Result<LayerStatistics> layer(const Network& network, std::int64_t layer, bool gradients) const;

 private:
  explicit Statistics(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

// Linear layers that are given the same: of each the index of the first of them.
std::size_t first_with_input(const ModelConfig& config, std::size_t linear);

// Tensors of one file, as the work folder keeps them.
Status write_tensors(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& tensors);
// Those whose names begin with `prefix`.
Result<std::map<std::string, at::Tensor>> read_tensors(const std::filesystem::path& path,
                                                       const std::string& prefix = {});

}  // namespace kw::lm
