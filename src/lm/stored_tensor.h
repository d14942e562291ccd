// A tensor as a model's file holds it: element type, shape, and bytes that may be quantised in blocks.
//
// Files lie: every reader makes its tensors with `stored_tensor`, which checks that shape, type and bytes agree, so
// that nothing after it has to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "lm/mapped_file.h"

namespace kw::lm {

enum class StoredType {
  f32,
  f16,
  bf16,
  f64,
  i8,
  u8,
  i16,
  i32,
  i64,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q4_k,
  q5_k,
  q6_k
};

struct TypeFacts {
  const char* name;
  std::int64_t block_elements;
  std::int64_t block_bytes;
};
TypeFacts facts_of(StoredType type);

using Sizes = std::vector<std::int64_t>;
std::string text_of(const Sizes& sizes);  // "[49152, 576]"
// Their product; an Error where one is negative or the product passes 2^48.
Result<std::int64_t> elements_of(const Sizes& sizes);

struct StoredTensor {
  StoredType type = StoredType::f32;
  Sizes shape;                        // the last axis lies closest
  std::span<const std::byte> bytes;   // of exactly the shape's elements
  std::shared_ptr<const void> keeps;  // what the bytes lie in
  std::int64_t rotary_heads = 0;      // rows lie in GGUF's order for interleaved rotary embedding, in this many heads

  std::int64_t elements() const;
};

using StoredTensors = std::map<std::string, StoredTensor>;

// Names the tensor in its Error where type, shape and count of bytes do not fit.
Result<StoredTensor> stored_tensor(const std::string& name, StoredType type, Sizes shape,
                                   std::span<const std::byte> bytes, std::shared_ptr<const void> keeps);
// The bytes that a tensor of this type and shape takes; quantised rows must be whole blocks.
Result<std::int64_t> bytes_of(StoredType type, const Sizes& shape);

// Where GGUF keeps the row that Hugging Face has at `row`: it interleaves the two halves of each head.
std::int64_t row_in_gguf(std::int64_t row, std::int64_t rows, std::int64_t heads);

// All elements in row-major order, rows in the order of Hugging Face. An Error for types that hold no real numbers.
// `out` has exactly `elements()` places.
Status to_floats(const StoredTensor& tensor, std::span<float> out);

}  // namespace kw::lm
