// Products of few rows with a constant matrix: reading the matrix is all of the time, so it is packed to be read once,
// in the order in which it lies.
//
// The linear layers of a language model that writes one token are such products, whole or as two factors, (x A) B + c.
//
// serves: MatMul, Gemm
// types: float32
// when: constant1 == 1 && rank1 == 2 && 32 * size0 <= size1
// order: 8
#pragma once

#include <kernelwright.h>

#include "../plain/parts/broadcast_steps.h"
#include "../plain/parts/matmul.h"
#include "parts/product.h"

KW_TUNE(FEW_VECTORS, 4, 2, 4, 8);              // of a panel
KW_TUNE(FEW_AHEAD, 1024, 0, 256, 1024, 4096);  // elements by which a panel is asked for ahead of its use

namespace few_rows {

using simd::Floats;
using simd::kLanes;
inline constexpr int kPanel = FEW_VECTORS * kLanes;

// Vectors in a row of the panel that begins `columns` before the end. What does not fill a panel is part of the one
// before it: a panel of one or two vectors would wait for its sums and not for memory.
inline constexpr int kWidest = 2 * FEW_VECTORS - 1;
inline int64_t vectors_of(int64_t columns) {
  const int64_t left = (columns + kLanes - 1) / kLanes;
  return left <= kWidest ? left : FEW_VECTORS;
}

inline int64_t packed_size(int64_t depth, int64_t n) { return (n + kLanes - 1) / kLanes * kLanes * depth; }

// Element (k, j) of the matrix is from[k * row + j * step]; columns past the last are zero. Null where they would be
// most of it.
inline const float* packed(const kw::Call& call, const float* from, int64_t row, int64_t step, int64_t depth,
                           int64_t n) {
  if (2 * n < kPanel) return nullptr;
  float* const panels = call.keep<float>(packed_size(depth, n));
  float* to = panels;
  for (int64_t j = 0, width = 0; j < n; j += width) {
    width = vectors_of(n - j) * kLanes;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t i = 0; i < width; ++i) *to++ = j + i < n ? from[k * row + (j + i) * step] : 0;
    }
  }
  return panels;
}

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void tile(product::Left a, const float* panel, int64_t depth, product::Result to) {
  Floats sums[kRows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k, panel += kVectors * kLanes) {
    if (FEW_AHEAD > 0) {
      KW_UNROLL for (int v = 0; v < kVectors; ++v) __builtin_prefetch(panel + FEW_AHEAD + v * kLanes);
    }
    KW_UNROLL for (int r = 0; r < kRows; ++r) {
      const Floats x = simd::splat(a.data[r * a.row + k * a.step]);
      KW_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] += x * simd::load(panel + v * kLanes);
    }
  }
  float parts[kRows][kVectors * kLanes];
  KW_UNROLL for (int r = 0; r < kRows; ++r) {
    KW_UNROLL for (int v = 0; v < kVectors; ++v) simd::store(parts[r] + v * kLanes, sums[r][v]);
  }
  product::store_part(parts[0], kVectors * kLanes, kRows, to);
}

template <int kRows, int kVectors = kRows == 1 ? kWidest : FEW_VECTORS>
inline void tile_of(int64_t vectors, product::Left a, const float* panel, int64_t depth, product::Result to) {
  if constexpr (kVectors > 1) {
    if (vectors < kVectors) return tile_of<kRows, kVectors - 1>(vectors, a, panel, depth, to);
  }
  tile<kRows, kVectors>(a, panel, depth, to);
}

inline void multiply(const kw::Node& node, int64_t m, int64_t depth, product::Left a, const float* all_panels,
                     product::Result y) {
  const product::Finish& all = *y.finish;
  const int64_t count = std::max<int64_t>(1, (y.columns + kLanes - 1) / kLanes / FEW_VECTORS);
  const auto panel = [&](int64_t p) {
    const int64_t j = p * kPanel;
    const float* const panels = all_panels + j * depth;
    const int64_t vectors = vectors_of(y.columns - j);
    for (int64_t i = 0; i < m;) {
      const product::Finish finish = all.at(i, j);
      product::Result to = y.at(i, j);
      to.finish = &finish;
      if (m - i >= 4 && vectors <= FEW_VECTORS) {
        tile_of<4>(vectors, a.at(i, 0), panels, depth, to);
        i += 4;
      } else {
        tile_of<1>(vectors, a.at(i, 0), panels, depth, to);
        i += 1;
      }
    }
  };
  // Threads read stretches of the matrix, each in the order in which it lies.
  share_ranges(node, product::threads_for_product(node, m, depth, y.columns), count, 1,
               [&](int64_t first, int64_t last, int) KW_IN_PLACE {
                 for (int64_t p = first; p < last; ++p) panel(p);
               });
}

}  // namespace few_rows

inline const void* prepare_MatMul(const kw::Call& call, const kw::Node&, kw::Tensor<const float>,
                                  kw::Tensor<const float> b) {
  if (!b.given() || b.rank() != 2 || b.count() == 0) return nullptr;
  return few_rows::packed(call, b.data(), b.shape(1), 1, b.shape(0), b.shape(1));
}

inline void MatMul(const kw::Node& node, kw::Tensor<const float> a, kw::Tensor<const float> b, kw::Tensor<float>& y,
                   const void* kept) {
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  y.allocate(plan.result);
  if (y.count() == 0) return;
  const product::Finish finish;
  const int64_t rows = y.count() / plan.n;  // a right matrix of two axes serves all
  const product::Left left{a.data(), plan.k, 1};
  const product::Result to{y.data(), plan.n, plan.n, false, &finish};
  if (kept == nullptr) return product::multiply(node, rows, plan.k, left, b.data(), plan.n, 1, to);
  few_rows::multiply(node, rows, plan.k, left, static_cast<const float*>(kept), to);
}

inline const void* prepare_Gemm(const kw::Call& call, const kw::Node& node, kw::Tensor<const float>,
                                kw::Tensor<const float> b, kw::Tensor<const float>) {
  if (!b.given() || b.count() == 0) return nullptr;
  const bool transposed = node.integer("transB") != 0;
  const int64_t k = b.shape(transposed ? 1 : 0), n = b.shape(transposed ? 0 : 1);
  return few_rows::packed(call, b.data(), transposed ? 1 : n, transposed ? k : 1, k, n);
}

inline void Gemm(const kw::Node& node, kw::Tensor<const float> a, kw::Tensor<const float> b, kw::Tensor<const float> c,
                 kw::Tensor<float>& y, const void* kept) {
  const bool a_transposed = node.integer("transA") != 0, b_transposed = node.integer("transB") != 0;
  const int64_t m = a.shape(a_transposed ? 1 : 0), k = a.shape(a_transposed ? 0 : 1);
  const int64_t n = b.shape(b_transposed ? 0 : 1);
  y.allocate({m, n});
  if (y.count() == 0) return;
  product::Finish finish{float(node.real("alpha", 1)), float(node.real("beta", 1))};
  if (c.given()) {
    const kw::Shape steps = broadcast_steps(c.shape(), y.shape());
    finish.added = c.data();
    finish.row = steps[0];
    finish.step = steps[1];
  }
  const product::Left left{a.data(), a_transposed ? 1 : k, a_transposed ? m : 1};
  const product::Result to{y.data(), n, n, false, &finish};
  if (kept == nullptr) {
    return product::multiply(node, m, k, left, b.data(), b_transposed ? 1 : n, b_transposed ? k : 1, to);
  }
  few_rows::multiply(node, m, k, left, static_cast<const float*>(kept), to);
}
