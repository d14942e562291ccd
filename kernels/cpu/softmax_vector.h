// Softmax and its logarithm: the largest, then exponentials and their sum, then one factor; along columns many at a
// time.
//
// serves: Softmax, LogSoftmax
// types: float32
#pragma once

#include <kernelwright.h>

#include "../plain/parts/softmax_rows.h"
#include "parts/math_exp.h"
#include "parts/math_log.h"
#include "parts/reduction.h"

KW_TUNE(SOFTMAX_COLUMNS, 2, 1, 2, 4);  // vectors of columns that are done together

// One row. Lanes behind its end hold -infinity: their exponentials are zero.
template <bool kLog>
inline void softmax_row(const float* x, int64_t count, float* y) {
  using namespace simd;
  const Floats largest = splat(fold_row<LargestElement>(x, count));
  Floats sums[2] = {splat(0.0f), splat(0.0f)};
  const auto exponential = [&](int64_t i, Floats value) {
    const Floats e = exp_of_negative(value - largest);
    if (!kLog) i + kLanes <= count ? store(y + i, e) : store_some(y + i, e, count - i);
    return e;
  };
  int64_t i = 0;
  // With more at once, the constants would not stay in registers.
  KW_KEEP_LOOP
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    sums[0] += exponential(i, load(x + i));
    sums[1] += exponential(i + kLanes, load(x + i + kLanes));
  }
  if (i + kLanes <= count) {
    sums[0] += exponential(i, load(x + i));
    i += kLanes;
  }
  if (i < count) sums[1] += exponential(i, load_some(x + i, count - i, -INFINITY));
  const float sum = simd::sum(sums[0] + sums[1]);
  const float factor = kLog ? std::log(sum) : 1 / sum;
  const auto finished = [&](Floats value) { return kLog ? value - largest - factor : value * factor; };
  const float* from = kLog ? x : y;
  for (i = 0; i + kLanes <= count; i += kLanes) store(y + i, finished(load(from + i)));
  if (i < count) store_some(y + i, finished(load_some(from + i, count - i)), count - i);
}

// kVectors of columns that lie side by side; of the last vector `width` columns where it is not whole.
template <bool kLog, int kVectors>
inline void softmax_columns(const float* x, int64_t length, int64_t pitch, int64_t width, float* y) {
  using namespace simd;
  const auto get = [&](const float* from) { return width == kLanes ? load(from) : load_some(from, width); };
  const auto put = [&](float* to, Floats value) { width == kLanes ? store(to, value) : store_some(to, value, width); };
  Floats largest[kVectors], sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    largest[v] = splat(-INFINITY);
    sums[v] = splat(0.0f);
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int v = 0; v < kVectors; ++v) largest[v] = max(get(x + k * pitch + v * kLanes), largest[v]);
  }
  KW_KEEP_LOOP
  for (int64_t k = 0; k < length; ++k) {
    for (int v = 0; v < kVectors; ++v) {
      const Floats e = exp_of_negative(get(x + k * pitch + v * kLanes) - largest[v]);
      if (!kLog) put(y + k * pitch + v * kLanes, e);
      sums[v] += e;
    }
  }
  for (int v = 0; v < kVectors; ++v) sums[v] = kLog ? log(sums[v]) : 1 / sums[v];
  for (int64_t k = 0; k < length; ++k) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = k * pitch + v * kLanes;
      put(y + at, kLog ? get(x + at) - largest[v] - sums[v] : get(y + at) * sums[v]);
    }
  }
}

template <bool kLog>
inline void softmax_in_vectors(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  y.allocate(x.shape());
  if (x.count() == 0) return;
  const AlongAxis view = softmax_rows(node, x.shape());
  constexpr int64_t kStrip = SOFTMAX_COLUMNS * simd::kLanes;
  const int threads = threads_for(node, x.count());
  if (view.inner == 1) {
    share_ranges(node, threads, view.outer, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      for (int64_t o = begin; o < end; ++o) {
        softmax_row<kLog>(x.data() + o * view.length, view.length, y.data() + o * view.length);
      }
    });
    return;
  }
  const int64_t strips = (view.inner + kStrip - 1) / kStrip;
  share_ranges(node, threads, view.outer * strips, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t first = at / strips * view.length * view.inner;
      int64_t i = at % strips * kStrip;
      const int64_t last = std::min(i + kStrip, view.inner);
      if (i + kStrip == last) {
        softmax_columns<kLog, SOFTMAX_COLUMNS>(x.data() + first + i, view.length, view.inner, simd::kLanes,
                                               y.data() + first + i);
        continue;
      }
      for (; i < last; i += simd::kLanes) {
        const int64_t width = std::min<int64_t>(simd::kLanes, last - i);
        softmax_columns<kLog, 1>(x.data() + first + i, view.length, view.inner, width, y.data() + first + i);
      }
    }
  });
}

inline void Softmax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  softmax_in_vectors<false>(node, x, y);
}

inline void LogSoftmax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  softmax_in_vectors<true>(node, x, y);
}
