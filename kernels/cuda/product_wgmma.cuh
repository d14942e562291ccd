// On Hopper's tensor cores to the precision of float32, by three products of TF32 numbers; short sums without them, and
// long products of few results in parts along k.
//
// serves: MatMul, Gemm
// types: float32
// order: 5
// fuses: after
#pragma once

#include "parts/wgmma_product.cuh"

KW_TUNE(WGMMA_ROWS, 128, 64, 128);
KW_TUNE(WGMMA_COLUMNS, 128, 64, 128);
KW_TUNE(WGMMA_STAGES, 4, 3, 4);
KW_TUNE(WGMMA_PART, 512, 256, 512, 1024);

using Product = WgmmaProduct<WGMMA_ROWS, WGMMA_COLUMNS, WGMMA_STAGES, WGMMA_PART, true>;
constexpr int threads = Product::threads;
constexpr int MatMul_kernels = 3, Gemm_kernels = 6;  // the first three have no operand that lies the other way

using MatMul_node = ProductNode;
using Gemm_node = ProductNode;

#ifdef __CUDACC__
template <int kernel, class X, class Y>
__device__ void MatMul(const ProductNode& of, const X& a, const float* b, const Y& y, unsigned char* room) {
  Product::template multiply<kernel>(of, a, b, nullptr, y, room);
}
template <int kernel, class X, class Y>
__device__ void Gemm(const ProductNode& of, const X& a, const float* b, const float* c, const Y& y,
                     unsigned char* room) {
  Product::template multiply<kernel>(of, a, b, c, y, room);
}
#else
inline ProductNode MatMul_plan(const kw::Node&, Steps& steps, kw::Shape* y, const Given& a, const Given& b) {
  return Product::plan(steps, matmul_of(y, a, b));
}
inline ProductNode Gemm_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& a, const Given& b,
                             const Given& c) {
  return Product::plan(steps, gemm_of(node, y, a, b, c));
}
#endif
