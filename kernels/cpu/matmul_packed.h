// Matrix products by tiles in registers over packed panels; small ones as they lie, with next to no set-up.
//
// serves: MatMul
// types: float32
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/parts/matmul.h"
#include "parts/product.h"

// Panels of a constant right matrix.
inline const void* prepare_MatMul(const kw::Call& call, const kw::Node&, kw::Tensor<const float>,
                                  kw::Tensor<const float> b) {
  if (!b.given() || b.rank() < 2 || b.count() == 0) return nullptr;
  const int64_t k = b.shape(-2), n = b.shape(-1), count = b.count() / (k * n);
  float* packed = call.keep<float>(count * product::packed_size(k, n));
  for (int64_t i = 0; i < count; ++i) {
    product::pack(b.data() + i * k * n, n, 1, k, n, packed + i * product::packed_size(k, n));
  }
  return packed;
}

inline void MatMul(const kw::Node& node, kw::Tensor<const float> a, kw::Tensor<const float> b, kw::Tensor<float>& y,
                   const void* kept) {
  using namespace product;
  MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  const int64_t k = plan.k, n = plan.n;
  y.allocate(plan.result);
  if (y.count() == 0) return;
  int64_t m = plan.m, products = plan.batch.count();
  if (b.count() == k * n) {  // one right matrix for all: one product of more rows
    m *= products;
    products = 1;
  }
  const Finish finish;
  const float* packed = static_cast<const float*>(kept);
  const bool few_rows = m <= PRODUCT_ROWS && n >= kPanel;
  const bool as_it_lies = few_rows || (packed == nullptr && n >= kPanel && (m <= 2 * PRODUCT_ROWS || k * n <= 8192));
  const bool repack = packed == nullptr && !as_it_lies;
  // Threads take whole products where there are enough of them, else pieces of one after the other.
  int threads = threads_for_product(node, products * m, k, n);
  if (repack) threads = threads_within(node, threads, packed_size(k, n) * 4);
  float* blocks = as_it_lies ? nullptr : scratch_for_blocks(node, threads, m, n, k);
  const bool whole = products >= 2 * threads;
  const int inner = whole ? 1 : threads, panel_slots = whole ? threads : 1;
  float* panels = repack ? node.scratch<float>(panel_slots * packed_size(k, n)) : nullptr;
  const auto multiply_from = [&](int64_t first, int64_t last, int slot) {
    float* const own_panels = repack ? panels + slot * packed_size(k, n) : nullptr;
    float* const own_blocks = blocks == nullptr ? nullptr : blocks + slot * block_size(m, k);
    int64_t before = -1;
    for (int64_t p = first; p < last; ++p) {
      const int64_t which = products == 1 ? 0 : plan.right(p);
      const Left left{a.data() + (products == 1 ? 0 : plan.left(p)) * m * k, k, 1};
      const Result to{y.data() + p * m * n, n, n, false, &finish};
      if (as_it_lies) {
        multiply_as_it_lies(node, inner, m, k, left, {b.data() + which * k * n, n}, to);
        continue;
      }
      if (repack && which != before) pack(node, inner, b.data() + which * k * n, n, 1, k, n, own_panels);
      before = which;
      multiply_packed(node, inner, m, k, left, repack ? own_panels : packed + which * packed_size(k, n), to,
                      own_blocks);
    }
  };
  share_ranges(node, whole ? threads : 1, products, 1, multiply_from);
}
