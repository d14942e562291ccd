// Products of 8-bit numbers by tiles in registers, four steps of a sum in one dot product of bytes.
//
// serves: MatMulInteger, QLinearMatMul
// types: float32, int8, uint8, int32
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/parts/matmul.h"
#include "../plain/parts/of_slice.h"
#include "parts/byte_product.h"

namespace matmul_bytes_parts {

// The right matrices in panels; behind them the sums of their columns, as many as the panels have.
struct Packed {
  const int32_t* panels;
  const int32_t* sums;
  int64_t size, width;  // of one matrix

  const int32_t* at(int64_t matrix) const { return panels + matrix * size; }
};
inline int64_t packed_size(int64_t matrices, int64_t k, int64_t n) {
  return matrices * (bytes::packed_size(k, n) + bytes::panels_of(n) * bytes::kPanel);
}
inline Packed seen(const int32_t* memory, int64_t matrices, int64_t k, int64_t n) {
  const int64_t size = bytes::packed_size(k, n);
  return {memory, memory + matrices * size, size, bytes::panels_of(n) * bytes::kPanel};
}
template <class B>
inline void pack(const B* b, int64_t matrix, int64_t panel, int64_t k, int64_t n, const Packed& to, int32_t* memory) {
  const int64_t j = panel * bytes::kPanel;
  bytes::pack_panel(b + matrix * k * n + j, n, k, n - j, memory + matrix * to.size + j * bytes::words_of(k),
                    memory + (to.sums - memory) + matrix * to.width + j);
}

template <class B>
inline const void* prepared(const kw::Call& call, kw::Tensor<const B> b) {
  if (!b.given() || b.count() == 0) return nullptr;
  const int64_t k = b.rank() == 1 ? b.count() : b.shape(-2), n = b.rank() == 1 ? 1 : b.shape(-1);
  const int64_t matrices = b.count() / (k * n);
  int32_t* const memory = call.keep<int32_t>(packed_size(matrices, k, n));
  const Packed to = seen(memory, matrices, k, n);
  for (int64_t i = 0; i < matrices; ++i) {
    for (int64_t panel = 0; panel < bytes::panels_of(n); ++panel) pack(b.data(), i, panel, k, n, to, memory);
  }
  return memory;
}

// done(row of a, first column of b, the result's first element, sums, count) for pieces of rows, at most a vector wide.
// Rows and columns are counted over all matrices.
template <class A, class B, class Done>
inline void multiply(const kw::Node& node, MatMulPlan plan, kw::Tensor<const A> a, kw::Tensor<const A> a_zero,
                     kw::Tensor<const B> b, kw::Tensor<const B> b_zero, const void* kept, const Done& done) {
  using namespace bytes;
  const int64_t k = plan.k, n = plan.n, matrices = b.shape().count(0, std::max(b.rank() - 2, 0));
  int64_t m = plan.m, products = plan.batch.count();
  if (matrices == 1) {  // one right matrix for all: one product of more rows
    m *= products;
    products = 1;
  }
  const int64_t lefts = matrices == 1 ? 1 : a.shape().count(0, std::max(a.rank() - 2, 0));
  const Left shape{nullptr, m, words_of(k)};
  const int threads = threads_for(node, products * m * k * n, kLeastSharedProducts);

  const auto* memory = static_cast<const int32_t*>(kept);
  if (memory == nullptr) {
    int32_t* const own = node.scratch<int32_t>(packed_size(matrices, k, n));
    const Packed to = seen(own, matrices, k, n);
    const int64_t panels = panels_of(n);
    share(node, threads, matrices * panels,
          [&](int64_t i, int) KW_IN_PLACE { pack(b.data(), i / panels, i % panels, k, n, to, own); });
    memory = own;
  }
  const Packed right = seen(memory, matrices, k, n);

  int32_t* const left = node.scratch<int32_t>(lefts * m * shape.words);
  int32_t* const left_sums = node.scratch<int32_t>(lefts * m);
  share(node, threads, lefts * shape.tiles(), [&](int64_t i, int) KW_IN_PLACE {
    const int64_t first = i / shape.tiles() * m + shape.begin(i % shape.tiles());
    pack_left(a.data() + first * k, k, k, shape.height(i % shape.tiles()), left + first * shape.words,
              left_sums + first);
  });

  // The right matrices' zero points as they are seen, a number for every column of every panel.
  int32_t* const zeros = node.scratch<int32_t>(matrices * right.width);
  for (int64_t i = 0; i < matrices * right.width; ++i) {
    const int64_t j = i % right.width;
    zeros[i] = (j < n ? of_slice(b_zero, i / right.width * n + j) : B(0)) + kRightShift<B>;
  }
  multiply(
      node, threads, products, shape, n,
      [&](int64_t p) { return left + (products == 1 ? 0 : plan.left(p)) * m * shape.words; },
      [&](int64_t p) { return right.at(products == 1 ? 0 : plan.right(p)); },
      [&](int64_t p, int64_t row, int64_t rows, int64_t column, const int32_t* sums) {
        const int64_t matrix = products == 1 ? 0 : plan.right(p);
        const int32_t* const q = zeros + matrix * right.width + column;
        const int32_t* const column_sums = right.sums + matrix * right.width + column;
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t i = (products == 1 ? 0 : plan.left(p)) * m + row + r;
          const int32_t zero = of_slice(a_zero, i) + kLeftShift<A>;
          const auto less = static_cast<uint32_t>(zero);
          const uint32_t rest = static_cast<uint32_t>(left_sums[i]) - static_cast<uint32_t>(k) * less;
          for (int64_t j = 0; j < std::min<int64_t>(kPanel, n - column); j += kLanes) {
            const Unsigned sum = simd::load_as<Unsigned>(sums + r * kPanel + j) -
                                 simd::load_as<Unsigned>(column_sums + j) * less -
                                 simd::load_as<Unsigned>(q + j) * rest;
            done(i, matrix * n + column + j, (p * m + row + r) * n + column + j, sum,
                 std::min<int64_t>(kLanes, n - column - j));
          }
        }
      });
}

}  // namespace matmul_bytes_parts

template <class A, class B>
inline const void* prepare_MatMulInteger(const kw::Call& call, const kw::Node&, kw::Tensor<const A>,
                                         kw::Tensor<const B> b, kw::Tensor<const A>, kw::Tensor<const B>) {
  return matmul_bytes_parts::prepared(call, b);
}
template <class A, class B>
inline void MatMulInteger(const kw::Node& node, kw::Tensor<const A> a, kw::Tensor<const B> b,
                          kw::Tensor<const A> a_zero, kw::Tensor<const B> b_zero, kw::Tensor<int32_t>& y,
                          const void* kept) {
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  y.allocate(plan.result);
  if (y.count() == 0) return;
  matmul_bytes_parts::multiply(node, plan, a, a_zero, b, b_zero, kept,
                               [&](int64_t, int64_t, int64_t to, bytes::Unsigned sums, int64_t count)
                                   KW_IN_PLACE { bytes::store_sums(sums, y.data() + to, count); });
}

template <class A, class B, class S, class Y>
inline const void* prepare_QLinearMatMul(const kw::Call& call, const kw::Node&, kw::Tensor<const A>,
                                         kw::Tensor<const S>, kw::Tensor<const A>, kw::Tensor<const B> b,
                                         kw::Tensor<const S>, kw::Tensor<const B>, kw::Tensor<const S>,
                                         kw::Tensor<const Y>) {
  return matmul_bytes_parts::prepared(call, b);
}
template <class A, class B, class S, class Y>
inline void QLinearMatMul(const kw::Node& node, kw::Tensor<const A> a, kw::Tensor<const S> a_scale,
                          kw::Tensor<const A> a_zero, kw::Tensor<const B> b, kw::Tensor<const S> b_scale,
                          kw::Tensor<const B> b_zero, kw::Tensor<const S> y_scale, kw::Tensor<const Y> y_zero,
                          kw::Tensor<Y>& y, const void* kept) {
  using namespace bytes;
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  y.allocate(plan.result);
  if (y.count() == 0) return;
  matmul_bytes_parts::multiply(
      node, plan, a, a_zero, b, b_zero, kept,
      [&](int64_t row, int64_t column, int64_t to, Unsigned sums, int64_t count) KW_IN_PLACE {
        const float factor = of_slice(a_scale, row) / y_scale[0];
        const Floats scale = b_scale.count() == 1 ? simd::splat(b_scale[0])
                             : count >= kLanes    ? simd::load(b_scale.data() + column)
                                                  : simd::load_some(b_scale.data() + column, count);
        store_rounded(simd::converted(Ints(sums)) * (factor * scale), y_zero[0], y.data() + to, count);
      });
}
