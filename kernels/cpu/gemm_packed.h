// Matrix products by tiles in registers over packed panels, with factors and a broadcast matrix added at the end.
//
// serves: Gemm
// types: float32
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/parts/broadcast_steps.h"
#include "parts/product.h"

// Panels of a constant right matrix.
inline const void* prepare_Gemm(const kw::Call& call, const kw::Node& node, kw::Tensor<const float>,
                                kw::Tensor<const float> b, kw::Tensor<const float>) {
  if (!b.given() || b.count() == 0) return nullptr;
  const bool transposed = node.integer("transB") != 0;
  const int64_t k = b.shape(transposed ? 1 : 0), n = b.shape(transposed ? 0 : 1);
  float* packed = call.keep<float>(product::packed_size(k, n));
  product::pack(b.data(), transposed ? 1 : n, transposed ? k : 1, k, n, packed);
  return packed;
}

inline void Gemm(const kw::Node& node, kw::Tensor<const float> a, kw::Tensor<const float> b, kw::Tensor<const float> c,
                 kw::Tensor<float>& y, const void* kept) {
  using namespace product;
  const bool a_transposed = node.integer("transA") != 0, b_transposed = node.integer("transB") != 0;
  const int64_t m = a.shape(a_transposed ? 1 : 0), k = a.shape(a_transposed ? 0 : 1);
  const int64_t n = b.shape(b_transposed ? 0 : 1);
  y.allocate({m, n});
  if (y.count() == 0) return;
  Finish finish{float(node.real("alpha", 1)), float(node.real("beta", 1))};
  if (c.given()) {
    const kw::Shape steps = broadcast_steps(c.shape(), y.shape());
    finish.added = c.data();
    finish.row = steps[0];
    finish.step = steps[1];
  }
  const Left left{a.data(), a_transposed ? 1 : k, a_transposed ? m : 1};
  const Result to{y.data(), n, n, false, &finish};
  if (kept == nullptr) {
    return multiply(node, m, k, left, b.data(), b_transposed ? 1 : n, b_transposed ? k : 1, to);
  }
  int threads = threads_for_product(node, m, k, n);
  float* blocks = scratch_for_blocks(node, threads, m, n, k);
  multiply_packed(node, threads, m, k, left, static_cast<const float*>(kept), to, blocks);
}
