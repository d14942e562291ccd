// A linear layer that is kept as two factors, as an ONNX model of its own: Gemm, Gemm, and with a pivot Concat and
// Gather.
//
// ONNX is a few nested messages of protobuf, written here field by field: the library of ONNX would be loaded beside
// the one that LibTorch brings along.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kw::lm {

struct OnnxLinear {
  std::string name;
  std::int64_t inputs = 0, outputs = 0, rank = 0;
  std::span<const float> down;         // [rank, inputs]
  std::span<const float> up;           // [outputs, rank]; with a pivot [outputs - rank, rank]
  std::span<const std::int64_t> rows;  // with a pivot: where each output is in [down x; up down x]
  std::span<const float> bias;         // none, or one for each output
};

// The bytes of the file: input `x` of [tokens, inputs], output `y` of [tokens, outputs], float32.
std::string onnx_model(const OnnxLinear& linear);

}  // namespace kw::lm
