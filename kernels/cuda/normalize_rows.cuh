// One block a group of elements, which is read once into shared memory: mean, squares around it, and the results with
// scale and shift. Of groups that do not fit each part is read by a block for its moments, and again for its results.
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
constexpr int kernels = 3;  // 0: groups that fit; 1 and 2: the moments of parts, and their results

struct NormNode {
  Rows rows;
  Spread scale, bias;  // of the result's elements
  float epsilon;
  int32_t p;            // of a norm
  int64_t parts, each;  // of a group, and elements of one
  int64_t by_row;       // row r has number r % by_row of scale and bias; 0: they are of elements
};
using LayerNormalization_node = NormNode;
using RMSNormalization_node = NormNode;
using InstanceNormalization_node = NormNode;
using GroupNormalization_node = NormNode;
using LpNormalization_node = NormNode;

#ifdef __CUDACC__
// finish(row, first result's index, values, how many, mean, square sum) makes results of some elements. Without
// `centred` the mean is 0 and the sum that of term(element).
template <bool centred, int kernel, class X, class Y, class Term, class F>
__device__ void normalize(const NormNode& all, const X& x, const Y& y, unsigned char* room, Term term, F finish) {
  const Rows& of = all.rows;
  float* const shared = shared_floats();
  float* const kept = of.whole != 0 ? shared + kRowPrefix : nullptr;
  Moments* const moments = reinterpret_cast<Moments*>(room);
  const bool fours = of.inner == 1 && of.length % 4 == 0;
  const int64_t begin = blockIdx.y * all.each, left = of.length - begin, length = left < all.each ? left : all.each;
  for (int64_t row = blockIdx.x; row < of.count; row += gridDim.x) {
    const int64_t first = of.first(row) + begin * of.inner;
    float mean = 0, sum = 0;
    if constexpr (kernel == 0) {
      if constexpr (centred) {
        each_of_row<threads>(of, row, x, kept, [&](int64_t, float value) { mean += value; });
        mean = joined<threads>(mean, shared, JoinSum()) / float(of.length);
        each_again<threads>(of, row, x, kept, [&](int64_t, float value) { sum += term(value - mean); });
      } else {
        each_of_row<threads>(of, row, x, kept, [&](int64_t, float value) { sum += term(value); });
      }
      sum = joined<threads>(sum, shared, JoinSum());
    } else if constexpr (kernel == 1) {
      Moments own{0, 0, 0};
      each_few<threads>(x, first, length, of.inner, fours, [&](const float* values, auto count) {
        if constexpr (centred) {
          own.add(values, count);
        } else {
#pragma unroll
          for (int j = 0; j < count.value; ++j) own.squares += term(values[j]);
        }
      });
      if constexpr (centred) {
        own = joined_moments<threads>(own, float(length), shared);
      } else {
        own.squares = joined<threads>(own.squares, shared, JoinSum());
      }
      if (threadIdx.x == 0) moments[row * all.parts + blockIdx.y] = own;
      __syncthreads();
      continue;
    } else {
      Moments whole = moments[row * all.parts];
      for (int64_t part = 1; part < all.parts; ++part) {
        const Moments more = moments[row * all.parts + part];
        if constexpr (centred) {
          whole.add(more);
        } else {
          whole.squares += more.squares;
        }
      }
      mean = whole.mean, sum = whole.squares;
    }
    write_few<threads>(x, kept, y, first, length, of.inner, fours,
                       [&](int64_t i, float* values, auto count) { finish(row, i, values, count, mean, sum); });
    __syncthreads();
  }
}
struct Square {
  __device__ float operator()(float a) const { return a * a; }
};

template <int kernel, class X, class Y>
__device__ void moved_and_scaled(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                 unsigned char* room) {
  const auto finish = [&](int64_t row, int64_t i, float* values, auto count, float mean, float sum) {
    const float factor = 1 / sqrtf(sum / float(of.rows.length) + of.epsilon);
    float by[count.value], plus[count.value] = {};
    if (of.by_row != 0) {
      const uint32_t number = uint32_t(row) % uint32_t(of.by_row);
      const float one = factor * scale[number], shift = (bias == nullptr ? 0.0f : bias[number]);
#pragma unroll
      for (int j = 0; j < count.value; ++j) values[j] = (values[j] - mean) * one + shift;
      return;
    }
    of.scale.template few<count.value>(scale, i, by);
    if (bias != nullptr) of.bias.template few<count.value>(bias, i, plus);
#pragma unroll
    for (int j = 0; j < count.value; ++j) values[j] = (values[j] - mean) * factor * by[j] + plus[j];
  };
  normalize<true, kernel>(of, x, y, room, Square(), finish);
}
template <int kernel, class X, class Y>
__device__ void LayerNormalization(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                   unsigned char* room) {
  moved_and_scaled<kernel>(of, x, scale, bias, y, room);
}
template <int kernel, class X, class Y>
__device__ void InstanceNormalization(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                      unsigned char* room) {
  moved_and_scaled<kernel>(of, x, scale, bias, y, room);
}
template <int kernel, class X, class Y>
__device__ void GroupNormalization(const NormNode& of, const X& x, const float* scale, const float* bias, const Y& y,
                                   unsigned char* room) {
  moved_and_scaled<kernel>(of, x, scale, bias, y, room);
}
template <int kernel, class X, class Y>
__device__ void RMSNormalization(const NormNode& of, const X& x, const float* scale, const Y& y, unsigned char* room) {
  const auto finish = [&](int64_t row, int64_t i, float* values, auto count, float, float sum) {
    const float factor = 1 / sqrtf(sum / float(of.rows.length) + of.epsilon);
    float by[count.value];
    of.scale.template few<count.value>(scale, i, by);
#pragma unroll
    for (int j = 0; j < count.value; ++j) values[j] = values[j] * factor * by[j];
  };
  normalize<false, kernel>(of, x, y, room, Square(), finish);
}
template <int kernel, class X, class Y>
__device__ void LpNormalization(const NormNode& of, const X& x, const Y& y, unsigned char* room) {
  const auto finish = [&](int64_t, int64_t, float* values, auto count, float, float sum) {
    const float norm = of.p == 1 ? sum : sqrtf(sum);
#pragma unroll
    for (int j = 0; j < count.value; ++j) values[j] = norm == 0 ? 0.0f : values[j] / norm;
  };
  normalize<false, kernel>(
      of, x, y, room, [&](float a) { return of.p == 1 ? fabsf(a) : a * a; }, finish);
}
#else
inline NormNode plan_groups(Steps& steps, const kw::Node& node, const kw::Shape& x, const AlongAxis& view) {
  NormNode of{rows_of(steps, 0, x.count(), view, NORM_SHARED_KIB * 1024),
              {},
              {},
              static_cast<float>(node.real("epsilon", 1e-5)),
              2,
              1,
              view.length,
              0};
  if (of.rows.whole != 0 || of.rows.count == 0 || of.rows.inner != 1) return of;
  const int64_t wanted = kw::blocks(132 * 8, of.rows.count), possible = kw::blocks(view.length, threads * 16);
  of.each = kw::blocks(kw::blocks(view.length, wanted < possible ? wanted : possible), 4) * 4;
  of.parts = kw::blocks(view.length, of.each);
  steps.count = 0;
  steps.room = of.rows.count * of.parts * 12;
  for (int kernel = 1; kernel < 3; ++kernel)
    steps.add(kernel, kw::Dim3(few_blocks(of.rows.count, 1 << 20), of.parts), kRowPrefix * 4);
  return of;
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
inline Spread by_channel(const kw::Shape& x, int64_t size, int64_t numbers) {
  return {Spread::one_axis, size, numbers, x.count() < (int64_t{1} << 31), {}};
}
inline NormNode InstanceNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                           const Given&, const Given&) {
  *y = x.shape;
  const int64_t size = x.shape.count(2, x.shape.rank);
  NormNode of = plan_groups(steps, node, x.shape, {size, 1});
  of.by_row = of.rows.count < (int64_t{1} << 31) ? x.shape[1] : 0;
  of.scale = of.bias = by_channel(x.shape, size, x.shape[1]);
  return of;
}
inline NormNode GroupNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given&,
                                        const Given&) {
  *y = x.shape;
  const int64_t groups = node.integer("num_groups", 1), size = x.shape.count(2, x.shape.rank);
  const int64_t whole = x.shape[1] / groups * size;
  NormNode of = plan_groups(steps, node, x.shape, {whole, 1});
  of.scale = of.bias =
      node.integer("opset") < 21 ? by_channel(x.shape, whole, groups) : by_channel(x.shape, size, x.shape[1]);
  return of;
}
inline NormNode LpNormalization_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  *y = x.shape;
  NormNode of = plan_groups(steps, node, x.shape, along(x.shape, node.integer("axis", -1)));
  of.p = static_cast<int32_t>(node.integer("p", 2));
  return of;
}
#endif
