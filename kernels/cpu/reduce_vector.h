// Sums, norms, extremes and products along axes: rows with several accumulators, columns in blocks that stay in cache.
//
// serves: ReduceSum, ReduceMean, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum, ReduceMax, ReduceMin, ReduceProd
// types: float32
#pragma once

#include <kernelwright.h>

#include "parts/reduction.h"

inline constexpr auto prepare_ReduceSum = keep_reduction_runs;
inline void ReduceSum(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, kept);
}

inline constexpr auto prepare_ReduceMean = keep_reduction_runs;
inline void ReduceMean(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                       kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, kept, [](float* sums, int64_t count, float terms) {
    for (int64_t i = 0; i < count; ++i) sums[i] /= terms;
  });
}

inline constexpr auto prepare_ReduceL1 = keep_reduction_runs;
inline void ReduceL1(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                     kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfMagnitudes>(node, x, axes, y, kept);
}

inline constexpr auto prepare_ReduceL2 = keep_reduction_runs;
inline void ReduceL2(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                     kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfSquares>(node, x, axes, y, kept, [](float* sums, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i) sums[i] = std::sqrt(sums[i]);
  });
}

inline constexpr auto prepare_ReduceSumSquare = keep_reduction_runs;
inline void ReduceSumSquare(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                            kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfSquares>(node, x, axes, y, kept);
}

inline constexpr auto prepare_ReduceLogSum = keep_reduction_runs;
inline void ReduceLogSum(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                         kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, kept, [](float* sums, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i) sums[i] = std::log(sums[i]);
  });
}

inline constexpr auto prepare_ReduceMax = keep_reduction_runs;
inline void ReduceMax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<LargestElement>(node, x, axes, y, kept);
}

inline constexpr auto prepare_ReduceMin = keep_reduction_runs;
inline void ReduceMin(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SmallestElement>(node, x, axes, y, kept);
}

inline constexpr auto prepare_ReduceProd = keep_reduction_runs;
inline void ReduceProd(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                       kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<ProductOfElements>(node, x, axes, y, kept);
}
