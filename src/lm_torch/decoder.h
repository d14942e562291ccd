// The next token of a text, or the tokens of a block of it, fast: what Network::run does for few tokens, with weights
// as the file stores them.
//
// A pass of Network over so few tokens spends its time on LibTorch's overhead a call and on float32 weights, twice to
// six times the bytes of the file. Here every product reads the mapped file itself, once for all tokens of the pass
// (src/lm/row_products.h). Both work on the same KeyValueCache: the network reads the prompt, the decoder writes what
// follows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "lm/model_files.h"
#include "lm/row_products.h"
#include "lm_torch/network.h"

namespace kw::lm {

// Tokens of one text that follow each other.
struct Stretch {
  std::span<const std::int32_t> ids;
  std::int64_t begin = 0;  // the place of the first
  std::int64_t text = 0;   // its row of the cache
};

class Decoder {
 public:
  // A pass over more tokens than these is the network's business: it is no longer the weights that take the time.
  static constexpr std::int64_t kMostTokens = 128;

  // Of models that write text. Types without products of their own are kept as float16.
  static Result<Decoder> open(const ModelFiles& files);

  // A pass over all these tokens. A token sees what the cache holds of its text before its stretch, and of the stretch
  // what is in its own block of `block` places and before. Their keys and values go into the cache at their places,
  // for which it has room.
  void run(std::span<const Stretch> stretches, std::int64_t block, KeyValueCache& cache);
  // Logits of these tokens of the last pass, counted through all its stretches: [tokens, vocabulary]. They hold until
  // the next call, and are the caller's to change.
  std::span<float> logits(std::span<const std::int64_t> tokens);

  // Logits of what follows `id`, which comes after all that the cache of one text holds, and joins it.
  std::span<const float> step(std::int32_t id, KeyValueCache& cache);

  // What a pass over this model reads of its weights: every matrix and the head once.
  std::int64_t bytes_a_pass() const;

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
  // A product that is wanted: y, of all tokens, of the layer's x.
  struct Job {
    const Product* product;
    float* y;
  };
  // What one factored product of a job has between its factors, and what its second factor answers where there is a
  // pivot.
  struct Between {
    std::vector<float> down, up;
  };
  struct Token {
    std::int64_t text = 0, place = 0;
    std::int64_t seen = 0;  // keys, from the first
  };

  class Reader;
  void begin(std::span<const Stretch> stretches, std::int64_t block);
  void multiply(std::span<const Job> jobs, const float* x, std::int64_t count);
  void attend(std::size_t layer, KeyValueCache& cache);
  void prepare(std::vector<float>& heads, std::int64_t count, const std::vector<float>& norm);

  ModelConfig config_;
  Matrix embedding_, head_;
  std::vector<float> last_norm_, frequencies_;
  std::vector<DecoderLayer> layers_;
  double magnitude_ = 1;
  // What a pass works in: the numbers of one token after those of the other.
  std::vector<Token> tokens_;
  std::vector<float> cosines_, sines_, hidden_, normed_, queries_, keys_, values_, mixed_, gate_, up_, logits_;
  std::vector<Between> between_;  // by job
};

}  // namespace kw::lm
