// A model made smaller: its linear layers as two thin factors each, by one of five published methods and with our own
// additions as switches (docs/compress.md).
//
// The work folder keeps what is long to compute (statistics, spectra), layer by layer: a run that was stopped goes on,
// and other ratios and methods on the same calibration text begin with them. The model is written beside its final name
// and renamed, so that there is a whole one or none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/model_files.h"
#include "lm/tokenizer.h"
#include "lm_torch/network.h"
#include "lm_torch/statistics.h"

namespace kw::lm {

enum class Method { svd, fwsvd, asvd, svd_llm, ressvd };
Result<Method> method_named(const std::string& name);
std::string name_of(Method method);

struct CompressOptions {
  Method method = Method::ressvd;
  double ratio = 0.2;  // of the linear layers' numbers that go; embeddings and norms stay
  std::filesystem::path text, out, work;
  std::int64_t sequences = 64, length = 512;  // of calibration
  std::int64_t gradient_sequences = 16;
  std::int64_t refit_sequences = 8;  // a quarter of them is held out
  double residual_share = 0.05;      // ResSVD's beta
  std::int64_t last_layers = 0;      // ResSVD's k; 0: searched
  std::int64_t layer_step = 0;       // k is one of step, 2 step, ...; 0: a third of the layers
  // Better than published:
  bool allot = false;   // ranks by what they cost in loss, over all layers, in the measure of gradients
  bool pivot = false;   // factors without the numbers that they have twice
  bool refit = false;   // least-squares update on inputs as the compressed layers before leave them
  bool narrow = false;  // key and value matrices that are much flatter than wide stay whole
  bool search = false;  // of ResSVD: beta too
  bool merged = false;  // write the products, for programs that know no factors
  bool onnx = false;    // write each factored layer as an ONNX file too
  std::vector<std::filesystem::path> evaluate;  // texts whose perplexity is told, before and after
  std::int64_t evaluate_tokens = 20'000;        // of each of them
  std::string type;  // "F32", "F16" or "BF16" of what is written; empty: F32 where the model has it, else F16
};
Result<CompressOptions> compress_options(const Json& request);

// What was done, as {"done": ...} says it; compression.json of the new folder holds the same.
Result<Json> compress(const ModelFiles& files, const Tokenizer& tokenizer, Network network,
                      const CompressOptions& options, const TellProgress& tell);

std::filesystem::path part_of(const std::filesystem::path& out);

// What config.json says of a model: of a GGUF file, made of its metadata. Scaled rotary embedding of such a file is an
// Error.
Result<Json> config_json_of(const ModelFiles& files);

// The tokenizer's files: of a folder as they are, of a GGUF file as tokenizer.json.
Status write_tokenizer(const ModelFiles& files, const std::filesystem::path& folder);

// A whole model in a new folder (src/lm_torch/write_model.cpp), written in part_of(out) and renamed. `network` belongs
// to `files`, with some of its layers factored.
Status write_model(const ModelFiles& files, const Network& network, const CompressOptions& options, const Json& about);

}  // namespace kw::lm
