// Products of stored rows with vectors, for any width of a register.
//
// A tile of four rows and some vectors has its sums in registers: a stored element is read and widened once for all of
// the tile's vectors, and an element of x serves four rows. Vectors beyond a tile's read the same rows again while they
// are in the first cache.
//
// `Lanes` says what a register is and how stored elements become floats in one. A template cannot carry the instruction
// set that its functions are compiled for: KW_LANES, defined before this file is included, does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lm/row_products.h"

#ifndef KW_LANES
#define KW_LANES
#endif
#define KW_LANES_INLINE KW_LANES __attribute__((always_inline)) inline

namespace kw::lm::tiles {

constexpr int kRows = 4;

// Of each stored type: how many elements are read at once, from how many bytes, and register number `part` of them.
template <class Lanes>
struct WholeFloats {
  static constexpr int elements = Lanes::count, bytes = 4 * Lanes::count;
  KW_LANES_INLINE static typename Lanes::Register part(const std::byte* from, int) { return Lanes::floats(from); }
};

template <class Lanes>
struct Halves {
  static constexpr int elements = Lanes::count, bytes = 2 * Lanes::count;
  KW_LANES_INLINE static typename Lanes::Register part(const std::byte* from, int) { return Lanes::halves(from); }
};

template <class Lanes>
struct Brains {
  static constexpr int elements = Lanes::count, bytes = 2 * Lanes::count;
  KW_LANES_INLINE static typename Lanes::Register part(const std::byte* from, int) { return Lanes::brains(from); }
};

template <class Lanes>
struct Q8_0 {
  static constexpr int elements = 32, bytes = 34;
  KW_LANES_INLINE static typename Lanes::Register part(const std::byte* from, int part) {
    return Lanes::multiply(Lanes::half_everywhere(from), Lanes::bytes(from + 2 + part * Lanes::count));
  }
};

// Sixteen bytes of two four-bit values each: element i low, element i + 16 high.
template <class Lanes>
KW_LANES_INLINE typename Lanes::Register fours_at(const std::byte* from, int part) {
  const int element = part * Lanes::count;
  return element < 16 ? Lanes::low_fours(from + element) : Lanes::high_fours(from + element - 16);
}

template <class Lanes>
struct Q4_0 {
  static constexpr int elements = 32, bytes = 18;
  KW_LANES_INLINE static typename Lanes::Register part(const std::byte* from, int part) {
    const auto scale = Lanes::half_everywhere(from);
    return Lanes::multiply(scale, Lanes::add(fours_at<Lanes>(from + 2, part), Lanes::everywhere(-8)));
  }
};

template <class Lanes>
struct Q4_1 {
  static constexpr int elements = 32, bytes = 20;
  KW_LANES_INLINE static typename Lanes::Register part(const std::byte* from, int part) {
    const auto scale = Lanes::half_everywhere(from), least = Lanes::half_everywhere(from + 2);
    return Lanes::multiply_add(scale, fours_at<Lanes>(from + 4, part), least);
  }
};

// Adds the products of Type::elements elements of each row and vector.
template <class Lanes, class Type, int rows, int vectors>
KW_LANES_INLINE void add_products(const std::byte* from, std::int64_t row_bytes, const float* x, std::int64_t columns,
                                  typename Lanes::Register (&sums)[rows][vectors]) {
#pragma GCC unroll 4
  for (int part = 0; part < Type::elements / Lanes::count; ++part) {
    typename Lanes::Register inputs[vectors];
#pragma GCC unroll 4
    for (int k = 0; k < vectors; ++k) {
      inputs[k] = Lanes::floats(reinterpret_cast<const std::byte*>(x + k * columns + part * Lanes::count));
    }
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
      const auto values = Type::part(from + row * row_bytes, part);
#pragma GCC unroll 4
      for (int k = 0; k < vectors; ++k) sums[row][k] = Lanes::multiply_add(values, inputs[k], sums[row][k]);
    }
  }
}

template <class Lanes, class Type, int rows, int vectors>
KW_LANES void tile(const std::byte* from, std::int64_t columns, const float* x, float* y, std::int64_t step) {
  typename Lanes::Register sums[rows][vectors];
#pragma GCC unroll 4
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int k = 0; k < vectors; ++k) sums[row][k] = Lanes::everywhere(0);
  }
  const std::int64_t whole = columns / Type::elements, left = columns % Type::elements;
  const std::int64_t row_bytes = columns * Type::bytes / Type::elements;
  for (std::int64_t i = 0; i < whole; ++i) {
    add_products<Lanes, Type>(from + i * Type::bytes, row_bytes, x + i * Type::elements, columns, sums);
  }
  if (left > 0) {  // copied, with zeros after them
    std::byte stored[rows * Type::bytes] = {};
    float inputs[vectors * Type::elements] = {};
    for (int row = 0; row < rows; ++row) {
      std::memcpy(stored + row * Type::bytes, from + row * row_bytes + whole * Type::bytes,
                  static_cast<std::size_t>(left * Type::bytes / Type::elements));
    }
    for (int k = 0; k < vectors; ++k) {
      std::memcpy(inputs + k * Type::elements, x + k * columns + whole * Type::elements,
                  static_cast<std::size_t>(left) * sizeof(float));
    }
    add_products<Lanes, Type>(stored, Type::bytes, inputs, Type::elements, sums);
  }
#pragma GCC unroll 4
  for (int k = 0; k < vectors; ++k) {
    if constexpr (rows == 4) {
      Lanes::store_sums(sums[0][k], sums[1][k], sums[2][k], sums[3][k], y + k * step);
    } else {
      for (int row = 0; row < rows; ++row) y[k * step + row] = Lanes::sum(sums[row][k]);
    }
  }
}

template <class Lanes, class Type, int vectors>
KW_LANES void few_rows(const StoredRows& matrix, const float* x, float* y, std::int64_t step) {
  const std::int64_t row_bytes = matrix.columns * Type::bytes / Type::elements;
  if (matrix.rows == kRows) return tile<Lanes, Type, kRows, vectors>(matrix.first, matrix.columns, x, y, step);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    tile<Lanes, Type, 1, vectors>(matrix.first + row * row_bytes, matrix.columns, x, y + row, step);
  }
}

template <class Lanes, class Type>
KW_LANES void products(const StoredRows& matrix, const Vectors& vectors) {
  const std::int64_t columns = matrix.columns, row_bytes = columns * Type::bytes / Type::elements;
  for (std::int64_t row = 0; row < matrix.rows; row += kRows) {
    const StoredRows some = {matrix.first + row * row_bytes, std::min<std::int64_t>(kRows, matrix.rows - row), columns};
    for (std::int64_t k = 0; k < vectors.count;) {
      const float* const x = vectors.x + k * columns;
      float* const y = vectors.y + k * vectors.step + row;
      const std::int64_t left = std::min<std::int64_t>(Lanes::vectors, vectors.count - k);
      if constexpr (Lanes::vectors >= 4) {
        if (left == 4) few_rows<Lanes, Type, 4>(some, x, y, vectors.step);
        if (left == 3) few_rows<Lanes, Type, 3>(some, x, y, vectors.step);
      }
      if (left == 2) few_rows<Lanes, Type, 2>(some, x, y, vectors.step);
      if (left == 1) few_rows<Lanes, Type, 1>(some, x, y, vectors.step);
      k += left;
    }
  }
}

template <class Lanes, int registers>
KW_LANES_INLINE void mix_columns(const float* rows, std::int64_t count, std::int64_t columns, const float* shares,
                                 float* y) {
  typename Lanes::Register sums[registers];
#pragma GCC unroll 4
  for (int i = 0; i < registers; ++i) sums[i] = Lanes::everywhere(0);
  for (std::int64_t row = 0; row < count; ++row, rows += columns) {
    const auto share = Lanes::everywhere(shares[row]);
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) {
      const auto values = Lanes::floats(reinterpret_cast<const std::byte*>(rows + i * Lanes::count));
      sums[i] = Lanes::multiply_add(share, values, sums[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < registers; ++i) Lanes::store(sums[i], y + i * Lanes::count);
}

template <class Lanes>
KW_LANES void mix_rows(const float* rows, std::int64_t count, std::int64_t columns, const float* shares, float* y) {
  std::int64_t at = 0;
  for (; at + 4 * Lanes::count <= columns; at += 4 * Lanes::count) {
    mix_columns<Lanes, 4>(rows + at, count, columns, shares, y + at);
  }
  for (; at + Lanes::count <= columns; at += Lanes::count) {
    mix_columns<Lanes, 1>(rows + at, count, columns, shares, y + at);
  }
  for (; at < columns; ++at) {
    float sum = 0;
    for (std::int64_t row = 0; row < count; ++row) sum += shares[row] * rows[row * columns + at];
    y[at] = sum;
  }
}

// e to the power of x in every lane, to about 2e-7 of it: x = n ln 2 + r with n whole, and a polynomial for r.
template <class Lanes>
KW_LANES_INLINE typename Lanes::Register exponential(typename Lanes::Register x) {
  using Register = typename Lanes::Register;
  typedef int Bits __attribute__((vector_size(sizeof(Register))));
  constexpr float kLeast = -87, kMost = 88, kShift = 12582912;  // 1.5 * 2^23: its last bits count whole numbers
  x = x < kLeast ? Lanes::everywhere(kLeast) : x;
  x = x > kMost ? Lanes::everywhere(kMost) : x;
  const Register shifted = Lanes::multiply_add(x, Lanes::everywhere(1.44269504f), Lanes::everywhere(kShift));
  const Register n = shifted - kShift;
  Register r = Lanes::multiply_add(n, Lanes::everywhere(-0.693145752f), x);
  r = Lanes::multiply_add(n, Lanes::everywhere(-1.42860677e-6f), r);
  Register sum = Lanes::everywhere(1.0f / 720);
  for (const float term : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) {
    sum = Lanes::multiply_add(sum, r, Lanes::everywhere(term));
  }
  const Bits power = ((Bits)shifted << 23) + 0x3f800000;
  return sum * (Register)power;
}

// Each of `values` becomes e to the power of (value - from) * scale.
template <class Lanes>
KW_LANES void exponentials(float* values, std::int64_t count, float from, float scale) {
  const auto first = Lanes::everywhere(from), times = Lanes::everywhere(scale);
  const auto at = [&](float* here) KW_LANES {
    const auto read = Lanes::floats(reinterpret_cast<const std::byte*>(here));
    Lanes::store(exponential<Lanes>((read - first) * times), here);
  };
  std::int64_t i = 0;
  for (; i + Lanes::count <= count; i += Lanes::count) at(values + i);
  if (i == count) return;
  float left[Lanes::count] = {};
  std::copy(values + i, values + count, left);
  at(left);
  std::copy(left, left + (count - i), values + i);
}

template <class Lanes>
RowProducts products_of(StoredType type) {
  switch (type) {
    case StoredType::f32:
      return products<Lanes, WholeFloats<Lanes>>;
    case StoredType::f16:
      return products<Lanes, Halves<Lanes>>;
    case StoredType::bf16:
      return products<Lanes, Brains<Lanes>>;
    case StoredType::q4_0:
      return products<Lanes, Q4_0<Lanes>>;
    case StoredType::q4_1:
      return products<Lanes, Q4_1<Lanes>>;
    case StoredType::q8_0:
      return products<Lanes, Q8_0<Lanes>>;
    default:
      return nullptr;
  }
}

}  // namespace kw::lm::tiles
