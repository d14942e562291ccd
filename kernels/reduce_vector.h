// Sums, norms, extremes and products along axes: rows with several accumulators, columns in blocks that stay in cache.
//
// serves: ReduceSum, ReduceMean, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum, ReduceMax, ReduceMin, ReduceProd
// types: float32
#include "parts/reduction.h"

inline const void* prepare_ReduceSum(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                     kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceSum(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, kept);
}

inline const void* prepare_ReduceMean(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                      kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceMean(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                       kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, kept, [](float* sums, int64_t count, float terms) {
    for (int64_t i = 0; i < count; ++i) sums[i] /= terms;
  });
}

inline const void* prepare_ReduceL1(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                    kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceL1(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                     kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfMagnitudes>(node, x, axes, y, kept);
}

inline const void* prepare_ReduceL2(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                    kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceL2(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                     kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfSquares>(node, x, axes, y, kept, [](float* sums, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i) sums[i] = std::sqrt(sums[i]);
  });
}

inline const void* prepare_ReduceSumSquare(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                           kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceSumSquare(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                            kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfSquares>(node, x, axes, y, kept);
}

inline const void* prepare_ReduceLogSum(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                        kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceLogSum(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                         kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SumOfElements>(node, x, axes, y, kept, [](float* sums, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i) sums[i] = std::log(sums[i]);
  });
}

inline const void* prepare_ReduceMax(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                     kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceMax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<LargestElement>(node, x, axes, y, kept);
}

inline const void* prepare_ReduceMin(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                     kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceMin(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                      kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<SmallestElement>(node, x, axes, y, kept);
}

inline const void* prepare_ReduceProd(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                      kw::Tensor<const int64_t> axes) {
  return keep_reduction_runs(call, node, x, axes);
}
inline void ReduceProd(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                       kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<ProductOfElements>(node, x, axes, y, kept);
}
