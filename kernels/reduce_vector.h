// Sums, norms, extremes and products along axes: rows with several accumulators, columns in blocks that stay in cache.
//
// serves: ReduceSum, ReduceMean, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum, ReduceMax, ReduceMin, ReduceProd
// types: float32
#include "parts/reduction.h"

inline void ReduceSum(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y);
}

inline void ReduceMean(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                       kw::Tensor<float>& y) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, [](float* sums, int64_t count, float terms) {
    for (int64_t i = 0; i < count; ++i) sums[i] /= terms;
  });
}

inline void ReduceL1(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                     kw::Tensor<float>& y) {
  reduce_in_vectors<SumOfMagnitudes>(node, x, axes, y);
}

inline void ReduceL2(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                     kw::Tensor<float>& y) {
  reduce_in_vectors<SumOfSquares>(node, x, axes, y, [](float* sums, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i) sums[i] = std::sqrt(sums[i]);
  });
}

inline void ReduceSumSquare(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                            kw::Tensor<float>& y) {
  reduce_in_vectors<SumOfSquares>(node, x, axes, y);
}

inline void ReduceLogSum(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                         kw::Tensor<float>& y) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, [](float* sums, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i) sums[i] = std::log(sums[i]);
  });
}

inline void ReduceMax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y) {
  reduce_in_vectors<LargestElement>(node, x, axes, y);
}

inline void ReduceMin(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y) {
  reduce_in_vectors<SmallestElement>(node, x, axes, y);
}

inline void ReduceProd(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                       kw::Tensor<float>& y) {
  reduce_in_vectors<ProductOfElements>(node, x, axes, y);
}
