// Over any axes: threads side by side read what lies side by side, along the elements that go or across those that
// stay, and join in shared memory; few results of many elements are made of parts by several blocks.
//
// serves: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum
// serves: ReduceLogSumExp, GlobalAveragePool, GlobalMaxPool
// types: float32
// order: 10
// fuses: before, after
#pragma once

#include "parts/warps.cuh"
#include "plain/reduction.cuh"

KW_TUNE(REDUCE_BLOCK, 256, 128, 256, 512);
KW_TUNE(REDUCE_WAVES, 8, 2, 4, 8, 16);

constexpr int threads = REDUCE_BLOCK;
constexpr int kernels = 2;

struct AxesNode {
  Reduction view;
  int64_t results;
  int64_t lanes;   // threads that share a result
  int64_t across;  // 1: neighbours have different results; 0: the same one
  int64_t parts;   // that a result is made of
  int64_t four;    // elements of a result lie side by side, in fours
};

#ifdef __CUDACC__
struct FoldSum {
  using Value = float;
  static __device__ float start() { return 0; }
  static __device__ float with(float a, float x) { return a + x; }
  static __device__ float join(float a, float b) { return a + b; }
  static __device__ float finish(float a, float) { return a; }
};
struct FoldMean : FoldSum {
  static __device__ float finish(float a, float count) { return a / count; }
};
struct FoldL1 : FoldSum {
  static __device__ float with(float a, float x) { return a + fabsf(x); }
};
struct FoldSumSquare : FoldSum {
  static __device__ float with(float a, float x) { return a + x * x; }
};
struct FoldL2 : FoldSumSquare {
  static __device__ float finish(float a, float) { return sqrtf(a); }
};
struct FoldLogSum : FoldSum {
  static __device__ float finish(float a, float) { return logf(a); }
};
struct FoldProd {
  using Value = float;
  static __device__ float start() { return 1; }
  static __device__ float with(float a, float x) { return a * x; }
  static __device__ float join(float a, float b) { return a * b; }
  static __device__ float finish(float a, float) { return a; }
};
struct FoldMax {
  using Value = float;
  static __device__ float start() { return minus_infinity(); }
  static __device__ float with(float a, float x) { return JoinMax()(a, x); }
  static __device__ float join(float a, float b) { return JoinMax()(a, b); }
  static __device__ float finish(float a, float) { return a; }
};
struct FoldMin {
  using Value = float;
  static __device__ float start() { return -minus_infinity(); }
  static __device__ float with(float a, float x) { return x < a || x != x ? x : a; }
  static __device__ float join(float a, float b) { return with(a, b); }
  static __device__ float finish(float a, float) { return a; }
};
// The largest so far, and the sum of the exponentials of what lies below it.
struct FoldLogSumExp {
  struct Value {
    float largest, sum;
  };
  static __device__ Value start() { return {minus_infinity(), 0}; }
  static __device__ Value join(Value a, Value b) {
    const float largest = JoinMax()(a.largest, b.largest);
    return {largest, scaled(a, largest) + scaled(b, largest)};
  }
  static __device__ Value with(Value a, float x) { return join(a, {x, 1}); }
  static __device__ float finish(Value a, float) {
    return fabsf(a.largest) == -minus_infinity() ? a.largest : a.largest + logf(a.sum);
  }

 private:
  static __device__ float scaled(Value a, float largest) {
    return a.largest == largest ? a.sum : a.sum * expf(a.largest - largest);
  }
};

template <class Fold, int kernel, class X, class Y>
__device__ void reduce(const AxesNode& of, const X& x, const Y& y, unsigned char* room) {
  using Value = typename Fold::Value;
  Value* const partial = reinterpret_cast<Value*>(room);
  const float count = float(of.view.count);
  if constexpr (kernel == 1) {
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < of.results; i += int64_t(gridDim.x) * threads) {
      Value value = partial[i];
      for (int64_t k = 1; k < of.parts; ++k) value = Fold::join(value, partial[k * of.results + i]);
      y(i, Fold::finish(value, count));
    }
    return;
  }
  Value* const shared = reinterpret_cast<Value*>(shared_floats());
  const int lanes = int(of.lanes), together = threads / lanes, me = int(threadIdx.x);
  const int lane = of.across != 0 ? me / together : me % lanes, which = of.across != 0 ? me % together : me / lanes;
  const int next = of.across != 0 ? together : 1;  // thread of the next lane
  const int64_t part = blockIdx.y;
  const int64_t each = (of.view.count + of.parts - 1) / of.parts, begin = part * each;
  const int64_t end = begin + each < of.view.count ? begin + each : of.view.count;
  for (int64_t first = int64_t(blockIdx.x) * together; first < of.results; first += int64_t(gridDim.x) * together) {
    const int64_t i = first + which;
    Value value = Fold::start();
    if (i < of.results) {
      const int64_t from = of.view.kept.at(i);
      if (of.four != 0) {
        const bool packs = x.template packs<4>();
#pragma unroll 4
        for (int64_t k = begin + lane * 4; k < end; k += lanes * 4) {
          const auto four = four_at(x, packs, from + k);
#pragma unroll
          for (int j = 0; j < 4; ++j) value = Fold::with(value, four.at[j]);
        }
      } else if (of.view.reduced.rank <= 1) {
        const int64_t stride = of.view.reduced.rank == 0 ? 0 : of.view.reduced.strides[0];
#pragma unroll 8
        for (int64_t k = begin + lane; k < end; k += lanes) value = Fold::with(value, x(from + k * stride));
      } else {
        for (int64_t k = begin + lane; k < end; k += lanes) value = Fold::with(value, x(from + of.view.reduced.at(k)));
      }
    }
    __syncthreads();
    shared[me] = value;
    for (int half = lanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) shared[me] = Fold::join(shared[me], shared[me + half * next]);
    }
    if (lane != 0 || i >= of.results) continue;
    if (of.parts > 1) {
      partial[part * of.results + i] = shared[me];
    } else {
      y(i, Fold::finish(shared[me], count));
    }
  }
}
#define KW_REDUCTION(OP, FOLD)                                              \
  template <int kernel, class X, class... Rest>                             \
  __device__ void OP(const AxesNode& of, const X& x, const Rest&... rest) { \
    reduce_with<FOLD, kernel>(of, x, rest...);                              \
  }
// After the operand may come the axes, which the plan has seen.
template <class Fold, int kernel, class X, class Y>
__device__ void reduce_with(const AxesNode& of, const X& x, const Y& y, unsigned char* room) {
  reduce<Fold, kernel>(of, x, y, room);
}
template <class Fold, int kernel, class X, class Axes, class Y>
__device__ void reduce_with(const AxesNode& of, const X& x, const Axes* const&, const Y& y,
                            unsigned char* const& room) {
  reduce<Fold, kernel>(of, x, y, room);
}
#else
inline AxesNode plan_axes(Steps& steps, const Reduction& view, int64_t results, int64_t value_bytes) {
  AxesNode of{view, results, 1, 0, 1, 0};
  const int64_t last = view.reduced.rank == 0 ? 0 : view.reduced.strides[view.reduced.rank - 1];
  of.across = last != 1 && results > 1;
  of.four = view.reduced.rank == 1 && last == 1 && view.count % 4 == 0;
  for (int64_t axis = 0; axis < view.kept.rank; ++axis) of.four = of.four != 0 && view.kept.strides[axis] % 4 == 0;
  if (of.across != 0) {
    of.lanes = threads / 32;
    while (of.lanes > 1 && of.lanes > view.count) of.lanes /= 2;
  } else {
    of.lanes = threads;
    while (of.lanes > 8 && of.lanes * 8 > view.count) of.lanes /= 2;
  }
  const int64_t blocks = few_blocks(kw::blocks(results, threads / of.lanes), 1 << 20), wanted = 132 * REDUCE_WAVES;
  if (results == 0) return of;
  if (blocks * 2 <= wanted && view.count > 0) {
    const int64_t room_for = view.count / (of.lanes * 16);  // elements a thread at least
    of.parts = wanted / blocks < room_for ? wanted / blocks : room_for;
    if (of.parts < 1) of.parts = 1;
    if (of.four != 0 && of.parts > 1) of.four = kw::blocks(view.count, of.parts) % 4 == 0;
    // No part is empty.
    of.parts = kw::blocks(view.count, kw::blocks(view.count, of.parts));
  }
  steps.add(0, kw::Dim3(blocks, of.parts), threads * value_bytes);
  if (of.parts > 1) {
    steps.room = of.parts * results * value_bytes;
    steps.add(1, few_blocks(kw::blocks(results, threads)));
  }
  return of;
}
#define KW_REDUCTION(OP, FOLD)                                                                \
  inline AxesNode OP##_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, \
                            const Given& axes = {}) {                                         \
    const Reduction view = reduction_of(node, y, x, axes);                                    \
    return plan_axes(steps, view, y->count(), 8);                                             \
  }
// All axes after the channels.
inline AxesNode plan_global(Steps& steps, kw::Shape* y, const Given& x) {
  *y = x.shape;
  for (int axis = 2; axis < x.shape.rank; ++axis) (*y)[axis] = 1;
  const int64_t size = x.shape.count(2, x.shape.rank);
  return plan_axes(steps, {{1, {y->count()}, {size}, 0}, {1, {size}, {1}, 0}, size}, y->count(), 8);
}
inline AxesNode GlobalAveragePool_plan(const kw::Node&, Steps& steps, kw::Shape* y, const Given& x) {
  return plan_global(steps, y, x);
}
inline AxesNode GlobalMaxPool_plan(const kw::Node&, Steps& steps, kw::Shape* y, const Given& x) {
  return plan_global(steps, y, x);
}
#endif

KW_REDUCTION(ReduceSum, FoldSum)
KW_REDUCTION(ReduceMean, FoldMean)
KW_REDUCTION(ReduceMax, FoldMax)
KW_REDUCTION(ReduceMin, FoldMin)
KW_REDUCTION(ReduceProd, FoldProd)
KW_REDUCTION(ReduceL1, FoldL1)
KW_REDUCTION(ReduceL2, FoldL2)
KW_REDUCTION(ReduceSumSquare, FoldSumSquare)
KW_REDUCTION(ReduceLogSum, FoldLogSum)
KW_REDUCTION(ReduceLogSumExp, FoldLogSumExp)
#ifdef __CUDACC__
KW_REDUCTION(GlobalAveragePool, FoldMean)
KW_REDUCTION(GlobalMaxPool, FoldMax)
#endif
#undef KW_REDUCTION

using ReduceSum_node = AxesNode;
using ReduceMean_node = AxesNode;
using ReduceMax_node = AxesNode;
using ReduceMin_node = AxesNode;
using ReduceProd_node = AxesNode;
using ReduceL1_node = AxesNode;
using ReduceL2_node = AxesNode;
using ReduceSumSquare_node = AxesNode;
using ReduceLogSum_node = AxesNode;
using ReduceLogSumExp_node = AxesNode;
using GlobalAveragePool_node = AxesNode;
using GlobalMaxPool_node = AxesNode;
