// Rows of a stored matrix times a vector, straight from the bytes of the file.
//
// Writing a token multiplies every weight once: the time is that of reading the weights, so that they are read as they
// are stored (halves, or blocks of four or eight bits) and become float32 in registers. Sums are float32. Which
// instructions are used is decided when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lm/stored_tensor.h"

namespace kw::lm {

// y[i] = sum of row i times x, for `rows` rows of `columns` elements that begin at `first` and follow each other.
using RowProducts = void (*)(const std::byte* first, std::int64_t rows, std::int64_t columns, const float* x, float* y);

struct RowProductWay {
  std::string name;  // "avx512", "avx2" or "plain"
  RowProducts products;
};
// All ways that this processor has for a type, the fastest first; none for types that `to_floats` alone reads.
std::vector<RowProductWay> row_product_ways(StoredType type);

// y = the sum of `count` rows of float32, each times its share.
void mix_rows(const float* rows, std::int64_t count, std::int64_t columns, const float* shares, float* y);

// Of the instruction sets, in files of their own; null where a type is not among them.
RowProducts avx512_row_products(StoredType type);
RowProducts avx2_row_products(StoredType type);

}  // namespace kw::lm
