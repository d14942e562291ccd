// Products of 16-bit numbers: the right matrix stays packed in 16 bits and is widened in registers; sums are float32.
//
// serves: MatMul, Gemm
// types: float16, bfloat16
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/parts/broadcast_steps.h"
#include "../plain/parts/matmul.h"
#include "parts/product.h"

namespace matmul_half_parts {

// Panel `panel` of a matrix whose element (k, j) is from[k * row + j * step].
template <class H>
inline void pack_panel(const H* from, int64_t row, int64_t step, int64_t depth, int64_t n, int64_t panel, H* to) {
  const int64_t first = panel * product::kPanel;
  to += first * depth;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < product::kPanel; ++j, ++to) {
      *to = first + j < n ? from[k * row + (first + j) * step] : H(0.0f);
    }
  }
}
inline int64_t panels_of(int64_t n) { return (n + product::kPanel - 1) / product::kPanel; }

template <class H>
inline const float* widened(const kw::Node& node, int threads, kw::Tensor<const H> x) {
  float* const to = node.scratch<float>(x.count());
  share_ranges(node, threads, x.count(), 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    simd::widen(x.data() + begin, end - begin, to + begin);
  });
  return to;
}
template <class H>
inline void narrowed(const kw::Node& node, int threads, const float* from, kw::Tensor<H>& y) {
  share_ranges(node, threads, y.count(), 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    simd::narrow(from + begin, end - begin, y.data() + begin);
  });
}

}  // namespace matmul_half_parts

template <class H>
inline const void* prepare_MatMul(const kw::Call& call, const kw::Node&, kw::Tensor<const H>, kw::Tensor<const H> b) {
  using namespace matmul_half_parts;
  if (!b.given() || b.rank() < 2 || b.count() == 0) return nullptr;
  const int64_t k = b.shape(-2), n = b.shape(-1), count = b.count() / (k * n);
  H* const packed = call.keep<H>(count * product::packed_size(k, n));
  for (int64_t i = 0; i < count * panels_of(n); ++i) {
    const int64_t matrix = i / panels_of(n);
    pack_panel(b.data() + matrix * k * n, n, 1, k, n, i % panels_of(n), packed + matrix * product::packed_size(k, n));
  }
  return packed;
}

template <class H>
inline void MatMul(const kw::Node& node, kw::Tensor<const H> a, kw::Tensor<const H> b, kw::Tensor<H>& y,
                   const void* kept) {
  using namespace matmul_half_parts;
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  const int64_t k = plan.k, n = plan.n, size = product::packed_size(k, n);
  const int64_t matrices = b.shape().count(0, std::max(b.rank() - 2, 0));
  y.allocate(plan.result);
  if (y.count() == 0) return;
  int64_t m = plan.m, products = plan.batch.count();
  if (matrices == 1) {  // one right matrix for all: one product of more rows
    m *= products;
    products = 1;
  }
  int threads = product::threads_for_product(node, products * m, k, n);
  const auto* packed = static_cast<const H*>(kept);
  if (packed == nullptr) {
    H* const own = node.scratch<H>(matrices * size);
    share(node, threads, matrices * panels_of(n), [&](int64_t i, int) KW_IN_PLACE {
      const int64_t matrix = i / panels_of(n);
      pack_panel(b.data() + matrix * k * n, n, 1, k, n, i % panels_of(n), own + matrix * size);
    });
    packed = own;
  }
  const float* const left = widened(node, threads, a);
  float* const sums = node.scratch<float>(y.count());
  float* const blocks = product::scratch_for_blocks(node, threads, m, n, k);
  const product::Finish finish;
  for (int64_t p = 0; p < products; ++p) {
    const int64_t from = products == 1 ? 0 : plan.left(p), which = products == 1 ? 0 : plan.right(p);
    product::multiply_packed(node, threads, m, k, {left + from * m * k, k, 1}, packed + which * size,
                             {sums + p * m * n, n, n, false, &finish}, blocks);
  }
  narrowed(node, threads, sums, y);
}

template <class H>
inline const void* prepare_Gemm(const kw::Call& call, const kw::Node& node, kw::Tensor<const H>, kw::Tensor<const H> b,
                                kw::Tensor<const H>) {
  using namespace matmul_half_parts;
  if (!b.given() || b.count() == 0) return nullptr;
  const bool transposed = node.integer("transB") != 0;
  const int64_t k = b.shape(transposed ? 1 : 0), n = b.shape(transposed ? 0 : 1);
  H* const packed = call.keep<H>(product::packed_size(k, n));
  for (int64_t i = 0; i < panels_of(n); ++i) {
    pack_panel(b.data(), transposed ? 1 : n, transposed ? k : 1, k, n, i, packed);
  }
  return packed;
}

template <class H>
inline void Gemm(const kw::Node& node, kw::Tensor<const H> a, kw::Tensor<const H> b, kw::Tensor<const H> c,
                 kw::Tensor<H>& y, const void* kept) {
  using namespace matmul_half_parts;
  const bool a_transposed = node.integer("transA") != 0, b_transposed = node.integer("transB") != 0;
  const int64_t m = a.shape(a_transposed ? 1 : 0), k = a.shape(a_transposed ? 0 : 1);
  const int64_t n = b.shape(b_transposed ? 0 : 1);
  y.allocate({m, n});
  if (y.count() == 0) return;
  int threads = product::threads_for_product(node, m, k, n);
  product::Finish finish{float(node.real("alpha", 1)), float(node.real("beta", 1))};
  if (c.given()) {
    const kw::Shape steps = broadcast_steps(c.shape(), y.shape());
    finish.added = widened(node, 1, c);
    finish.row = steps[0];
    finish.step = steps[1];
  }
  const auto* packed = static_cast<const H*>(kept);
  if (packed == nullptr) {
    H* const own = node.scratch<H>(product::packed_size(k, n));
    share(node, threads, panels_of(n), [&](int64_t i, int) KW_IN_PLACE {
      pack_panel(b.data(), b_transposed ? 1 : n, b_transposed ? k : 1, k, n, i, own);
    });
    packed = own;
  }
  const float* const left = widened(node, threads, a);
  float* const sums = node.scratch<float>(y.count());
  float* const blocks = product::scratch_for_blocks(node, threads, m, n, k);
  product::multiply_packed(node, threads, m, k, {left, a_transposed ? 1 : k, a_transposed ? m : 1}, packed,
                           {sums, n, n, false, &finish}, blocks);
  narrowed(node, threads, sums, y);
}
