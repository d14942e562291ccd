// Determinants by elimination in panels: the columns of a panel are factored in vectors along them, each one's pivot
// found on the way; the rest of the matrix then takes all of the panel at once, as a product in tiles.
//
// serves: Det
// types: float32
// order: 10
#pragma once

#include <kernelwright.h>

#include "parts/vector.h"

KW_COMPILER("clang++", "g++");
KW_TUNE(DET_PANEL, 16, 16, 32, 64);  // columns
KW_TUNE(DET_ROWS, 6, 4, 6);          // of a tile of two vectors

namespace elimination {

using simd::Floats;
using simd::kLanes;
inline constexpr int64_t kWidth = 2 * kLanes;  // of a tile

// A length in elements whose multiples fall into different places of a cache.
inline int64_t odd_pitch(int64_t length) { return ((length + 15) / 16 | 1) * 16; }

// A matrix that is used up, and the panel at work: column j of it, from the panel's first row on, begins at
// panel + j * panel_pitch, and is filled up with zeros to a whole vector.
struct Matrix {
  float* data;
  float* panel;
  float* tile;  // the part of the panel's rows that a column of tiles needs
  int64_t n, pitch, panel_pitch;
};

// The first of the largest magnitudes from row `first` on.
inline int64_t pivot_row(const float* column, int64_t first, int64_t rows) {
  Floats largest{};
  int64_t i = first;
  float most = std::fabs(column[i]);
  if (most != most) return first;
  for (; i < rows && i % kLanes != 0; ++i) most = std::max(most, std::fabs(column[i]));
  for (; i < rows; i += kLanes) largest = simd::max(simd::abs(simd::load(column + i)), largest);
  most = std::max(most, simd::combined(largest, [](auto a, auto b) { return a > b ? a : b; }));
  i = first;
  for (; i < rows && i % kLanes != 0; ++i) {
    if (std::fabs(column[i]) == most) return i;
  }
  for (; i < rows; i += kLanes) {
    if (simd::any(simd::abs(simd::load(column + i)) == most)) break;
  }
  while (i < rows && std::fabs(column[i]) != most) ++i;
  return i < rows ? i : first;
}

// From `begin` on, a few columns less `kColumns` multiples of `factors`; row `top` has what they are multiplied with.
template <int kColumns>
inline void subtract(float* columns, int64_t pitch, int64_t top, const float* factors, int64_t begin, int64_t rows) {
  Floats times[kColumns];
  KW_UNROLL for (int j = 0; j < kColumns; ++j) times[j] = simd::splat(-columns[j * pitch + top]);
  for (int64_t i = begin; i < rows; i += kLanes) {
    const Floats factor = simd::load(factors + i);
    KW_UNROLL for (int j = 0; j < kColumns; ++j) {
      float* at = columns + j * pitch + i;
      simd::store(at, simd::fma(factor, times[j], simd::load(at)));
    }
  }
}

// Factors the columns of the panel that begins at row and column `first`. The product of the pivots; what is above the
// diagonal is lost.
inline double factor_panel(const Matrix& matrix, int64_t first, int64_t width) {
  const int64_t rows = matrix.n - first, pitch = matrix.panel_pitch;
  double product = 1;
  for (int64_t k = 0; k < width; ++k) {
    float* column = matrix.panel + k * pitch;
    const int64_t best = pivot_row(column, k, rows);
    if (best != k) {
      for (int64_t j = 0; j < width; ++j) std::swap(matrix.panel[j * pitch + k], matrix.panel[j * pitch + best]);
      float* upper = matrix.data + (first + k) * matrix.pitch;
      std::swap_ranges(upper + first + width, upper + matrix.n,
                       matrix.data + (first + best) * matrix.pitch + first + width);
      product = -product;
    }
    const float pivot = column[k];
    product *= double(pivot);
    if (pivot == 0) return product;
    const int64_t begin = (k + 1) / kLanes * kLanes;  // above the diagonal nothing is needed any more
    for (int64_t i = begin; i < rows; i += kLanes) simd::store(column + i, simd::load(column + i) / pivot);
    int64_t j = k + 1;
    for (; j + 4 <= width; j += 4) subtract<4>(matrix.panel + j * pitch, pitch, k, column, begin, rows);
    for (; j < width; ++j) subtract<1>(matrix.panel + j * pitch, pitch, k, column, begin, rows);
  }
  return product;
}

template <int kRows>
inline void update_tile(const float* left, int64_t pitch, const float* right, int64_t depth, float* to,
                        int64_t to_pitch) {
  Floats sums[kRows][2];
  KW_UNROLL for (int r = 0; r < kRows; ++r) {
    sums[r][0] = simd::load(to + r * to_pitch);
    sums[r][1] = simd::load(to + r * to_pitch + kLanes);
  }
  for (int64_t k = 0; k < depth; ++k, left += pitch, right += kWidth) {
    const Floats low = simd::load(right), high = simd::load(right + kLanes);
    KW_UNROLL for (int r = 0; r < kRows; ++r) {
      const Floats element = simd::splat(left[r]);
      sums[r][0] = simd::fma(element, low, sums[r][0]);
      sums[r][1] = simd::fma(element, high, sums[r][1]);
    }
  }
  KW_UNROLL for (int r = 0; r < kRows; ++r) {
    simd::store(to + r * to_pitch, sums[r][0]);
    simd::store(to + r * to_pitch + kLanes, sums[r][1]);
  }
}

// Brings the columns right of the panel up to date, kWidth at a time: first the panel's own rows, one after the other,
// with the other sign, then all below.
inline void update_rest(const Matrix& matrix, int64_t first, int64_t width) {
  const int64_t pitch = matrix.panel_pitch;
  for (int64_t j = first + width; j < matrix.n; j += kWidth) {
    float* own = matrix.tile;
    for (int64_t k = 0; k < width; ++k) {
      const float* from = matrix.data + (first + k) * matrix.pitch + j;
      Floats low = -simd::load(from), high = -simd::load(from + kLanes);
      for (int64_t i = 0; i < k; ++i) {
        const Floats factor = simd::splat(-matrix.panel[i * pitch + k]);
        low = simd::fma(factor, simd::load(own + i * kWidth), low);
        high = simd::fma(factor, simd::load(own + i * kWidth + kLanes), high);
      }
      simd::store(own + k * kWidth, low);
      simd::store(own + k * kWidth + kLanes, high);
    }
    int64_t i = first + width;
    const auto tiles = [&]<int kRows>(std::integral_constant<int, kRows>) {
      for (; i + kRows <= matrix.n; i += kRows) {
        update_tile<kRows>(matrix.panel + i - first, pitch, own, width, matrix.data + i * matrix.pitch + j,
                           matrix.pitch);
      }
    };
    tiles(std::integral_constant<int, DET_ROWS>());
    tiles(std::integral_constant<int, 2>());
    tiles(std::integral_constant<int, 1>());
  }
}

inline float determinant(const float* x, const Matrix& matrix) {
  const int64_t n = matrix.n;
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(x + i * n, n, matrix.data + i * matrix.pitch);
    std::fill(matrix.data + i * matrix.pitch + n, matrix.data + (i + 1) * matrix.pitch, 0.0f);
  }
  double product = 1;
  for (int64_t first = 0; first < n; first += DET_PANEL) {
    const int64_t width = std::min<int64_t>(DET_PANEL, n - first), rows = n - first;
    const float* from = matrix.data + first * matrix.pitch + first;
    for (int64_t j = 0; j < width; ++j) {
      float* column = matrix.panel + j * matrix.panel_pitch;
      for (int64_t i = 0; i < rows; ++i) column[i] = from[i * matrix.pitch + j];
      for (int64_t i = rows; i % kLanes != 0; ++i) column[i] = 0;
    }
    product *= factor_panel(matrix, first, width);
    if (product == 0) break;
    update_rest(matrix, first, width);
  }
  return float(product);
}

}  // namespace elimination

inline void Det(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  using namespace elimination;
  const int64_t n = x.shape(-1);
  y.allocate(kw::Shape(x.rank() - 2, x.shape().dims));
  if (y.count() == 0) return;
  Matrix matrix{nullptr, nullptr, nullptr, n, odd_pitch(n + kWidth), odd_pitch(n + kLanes)};
  matrix.data = node.scratch<float>(n * matrix.pitch);
  matrix.panel = node.scratch<float>(std::min<int64_t>(n, DET_PANEL) * matrix.panel_pitch);
  matrix.tile = node.scratch<float>(DET_PANEL * kWidth);
  for (int64_t b = 0; b < y.count(); ++b) y[b] = determinant(x.data() + b * n * n, matrix);
}
