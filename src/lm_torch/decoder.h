// One more token of one text, fast: the steps of Network::run for a single token, with weights as the file stores them.
//
// A pass of Network over one token spends its time on LibTorch's overhead a call and on float32 weights, twice to six
// times the bytes of the file. Here every product reads the mapped file itself (src/lm/row_products.h). Both work on
// the same KeyValueCache: the network reads the prompt, the decoder writes what follows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "lm/model_files.h"
#include "lm/row_products.h"
#include "lm_torch/network.h"

namespace kw::lm {

class Decoder {
 public:
  // Of models that predict the next token. Types without products of their own are kept as float16.
  static Result<Decoder> open(const ModelFiles& files);

  // Logits of what follows `id`, which comes after all that the cache of one text holds, and joins it. They hold until
  // the next step.
  std::span<const float> step(std::int32_t id, KeyValueCache& cache);

 private:
  struct Matrix {
    StoredTensor stored;
    RowProducts products = nullptr;
    std::int64_t rows = 0, columns = 0, row_bytes = 0;
  };
  // A linear layer, whole or as two factors (src/lm_torch/linear.h).
  struct Product {
    Matrix whole, down, up;
    std::vector<std::int64_t> rows;
    std::vector<float> bias;
    bool is_factored() const { return down.rows > 0; }
    std::int64_t outputs() const {
      if (!is_factored()) return whole.rows;
      return rows.empty() ? up.rows : static_cast<std::int64_t>(rows.size());
    }
  };
  struct DecoderLayer {
    std::vector<Product> linears;  // in the order of linear_layers()
    std::vector<float> first_norm, second_norm, query_norm, key_norm;
  };
  // A product that is wanted: y of the layer's x.
  struct Job {
    const Product* product;
    float* y;
  };

  class Reader;
  void multiply(std::span<const Job> jobs, const float* x);
  void attend(std::size_t layer, KeyValueCache& cache);
  void turn(float* head) const;

  ModelConfig config_;
  Matrix embedding_, head_;
  std::vector<float> last_norm_, frequencies_;
  std::vector<DecoderLayer> layers_;
  double magnitude_ = 1;
  // What a step works in.
  std::vector<float> cosines_, sines_, hidden_, normed_, queries_, keys_, values_, mixed_, gate_, up_, logits_;
  std::vector<std::vector<float>> between_;  // of factored products, by job
};

}  // namespace kw::lm
