// One block a group of elements, which is read once into shared memory: mean, squares around it, and the results with
// scale and shift.
//
// serves: LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization, LpNormalization
// types: float32
// when: outputs == 1
// order: 10
// fuses: before, after
#pragma once

#include "parts/rows.cuh"

KW_TUNE(NORM_BLOCK, 256, 64, 128, 256, 512, 1024);
KW_TUNE(NORM_SHARED_KIB, 96, 16, 48, 96, 200);

constexpr int threads = NORM_BLOCK;

struct NormNode {
  Rows rows;
  Spread scale, bias;  // of the result's elements
  float epsilon;
  int32_t p;  // of a norm
};
using LayerNormalization_node = NormNode;
using RMSNormalization_node = NormNode;
using InstanceNormalization_node = NormNode;
using GroupNormalization_node = NormNode;
using LpNormalization_node = NormNode;

#ifdef __CUDACC__
// finish(result's index, element, mean, square sum) for every element. Without `centred` the mean is 0.
template <bool centred, class X, class Term, class F>
__device__ void normalize(const Rows& of, const X& x, Term term, F finish) {
  float* const parts = shared_floats();
  float* const kept = of.whole != 0 ? parts + kRowPrefix : nullptr;
  for (int64_t row = blockIdx.x; row < of.count; row += gridDim.x) {
    float mean = 0, sum = 0;
    if constexpr (centred) {
      each_of_row<threads>(of, row, x, kept, [&](int64_t, float value) { mean += value; });
      mean = joined<threads>(mean, parts, JoinSum()) / float(of.length);
      each_again<threads>(of, row, x, kept, [&](int64_t, float value) { sum += term(value - mean); });
    } else {
      each_of_row<threads>(of, row, x, kept, [&](int64_t, float value) { sum += term(value); });
    }
    sum = joined<threads>(sum, parts, JoinSum());
    const int64_t first = of.first(row);
    each_again<threads>(of, row, x, kept,
                        [&](int64_t k, float value) { finish(first + k * of.inner, value, mean, sum); });
    __syncthreads();
  }
}
struct Square {
  __device__ float operator()(float a) const { return a * a; }
};

template <class X, class Y>
__device__ void moved_and_scaled(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y) {
  normalize<true>(of.rows, x, Square(), [&](int64_t i, float value, float mean, float sum) {
    const float normal = (value - mean) / sqrtf(sum / float(of.rows.length) + of.epsilon);
    y(i, normal * scale[of.scale.at(i)] + (bias == nullptr ? 0.0f : bias[of.bias.at(i)]));
  });
}
template <int, class X, class Y>
__device__ void LayerNormalization(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                   unsigned char*) {
  moved_and_scaled(of, x, scale, bias, y);
}
template <int, class X, class Y>
__device__ void InstanceNormalization(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                      unsigned char*) {
  moved_and_scaled(of, x, scale, bias, y);
}
template <int, class X, class Y>
__device__ void GroupNormalization(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                   unsigned char*) {
  moved_and_scaled(of, x, scale, bias, y);
}
template <int, class X, class Y>
__device__ void RMSNormalization(const NormNode& of, const X& x, const float* scale, const Y& y, unsigned char*) {
  normalize<false>(of.rows, x, Square(), [&](int64_t i, float value, float, float sum) {
    y(i, value / sqrtf(sum / float(of.rows.length) + of.epsilon) * scale[of.scale.at(i)]);
  });
}
template <int, class X, class Y>
__device__ void LpNormalization(const NormNode& of, const X& x, const Y& y, unsigned char*) {
  normalize<false>(
      of.rows, x, [&](float a) { return of.p == 1 ? fabsf(a) : a * a; },
      [&](int64_t i, float value, float, float sum) {
        const float norm = of.p == 1 ? sum : sqrtf(sum);
        y(i, norm == 0 ? 0.0f : value / norm);
      });
}
#else
inline NormNode plan_groups(Steps& steps, const kw::Node& node, const kw::Shape& x, const AlongAxis& view) {
  return {rows_of(steps, 0, x.count(), view, NORM_SHARED_KIB * 1024),
          {},
          {},
          static_cast<float>(node.real("epsilon", 1e-5)),
          2};
}
inline NormNode LayerNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                        const Given& scale, const Given& bias = {}) {
  *y = x.shape;
  const int axis = from_front(node.integer("axis", -1), x.shape.rank);
  NormNode of = plan_groups(steps, node, x.shape, {x.shape.count(axis, x.shape.rank), 1});
  of.scale = spread_to(scale.shape, x.shape);
  if (bias.there) of.bias = spread_to(bias.shape, x.shape);
  return of;
}
inline NormNode RMSNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                      const Given& scale) {
  return LayerNormalization_plan(node, steps, y, x, scale);
}
// `numbers` of scale and bias stand for `size` elements each.
inline Spread by_channel(int64_t size, int64_t numbers) { return {Spread::one_axis, size, numbers, 0, {}}; }
inline NormNode InstanceNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                           const Given&, const Given&) {
  *y = x.shape;
  const int64_t size = x.shape.count(2, x.shape.rank);
  NormNode of = plan_groups(steps, node, x.shape, {size, 1});
  of.scale = of.bias = by_channel(size, x.shape[1]);
  return of;
}
inline NormNode GroupNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given&,
                                        const Given&) {
  *y = x.shape;
  const int64_t groups = node.integer("num_groups", 1), size = x.shape.count(2, x.shape.rank);
  const int64_t whole = x.shape[1] / groups * size;
  NormNode of = plan_groups(steps, node, x.shape, {whole, 1});
  of.scale = of.bias = node.integer("opset") < 21 ? by_channel(whole, groups) : by_channel(size, x.shape[1]);
  return of;
}
inline NormNode LpNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  *y = x.shape;
  NormNode of = plan_groups(steps, node, x.shape, along(x.shape, node.integer("axis", -1)));
  of.p = static_cast<int32_t>(node.integer("p", 2));
  return of;
}
#endif
