// Rows of a stored matrix times vectors, straight from the bytes of the file.
//
// Writing a token, or the few tokens of a block, multiplies every weight with so few vectors that the time is that of
// reading the weights: they are read once, as they are stored (halves, or blocks of four or eight bits), and become
// float32 in registers. Sums are float32. Which instructions are used is decided when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lm/stored_tensor.h"

namespace kw::lm {

// Rows of stored elements that follow each other.
struct StoredRows {
  const std::byte* first = nullptr;
  std::int64_t rows = 0, columns = 0;
};
// Vectors of as many floats as a row has elements, one after the other at `x`. The sum of row i times vector k goes to
// y[k * step + i].
struct Vectors {
  const float* x = nullptr;
  std::int64_t count = 1;
  float* y = nullptr;
  std::int64_t step = 0;
};
using RowProducts = void (*)(const StoredRows& rows, const Vectors& vectors);

// y = the sum of `count` rows of float32, each times its share.
using MixRows = void (*)(const float* rows, std::int64_t count, std::int64_t columns, const float* shares, float* y);

// Each of `values` becomes e to the power of (value - from) * scale, to about 2e-7 of it.
using Exponentials = void (*)(float* values, std::int64_t count, float from, float scale);

struct RowProductWay {
  std::string name;  // "avx512", "avx2" or "plain"
  RowProducts products;
  MixRows mix;
  Exponentials exponentials;
};
// All ways that this processor has for a type, the fastest first; none for types that `to_floats` alone reads.
std::vector<RowProductWay> row_product_ways(StoredType type);

// Of the instruction sets, in files of their own; without products where a type is not among them.
RowProductWay avx512_row_products(StoredType type);
RowProductWay avx2_row_products(StoredType type);

}  // namespace kw::lm
