// Resizing one axis after the other, axes that shrink first: rows as vectors, the last axis by gathering.
//
// serves: Resize
// types: float32
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/Resize.h"
#include "parts/threads.h"
#include "parts/vector.h"

namespace resize_taps_parts {

using simd::Floats;
using simd::Ints;
using simd::kLanes;

// What the elements of a result read along an axis: element k those from begins[k] on. Where all read equally many,
// `each` of them, these lie besides in an order for vectors: tap t of element k at t * to + k.
struct Taps {
  int64_t to;
  const int64_t* begins;
  const int32_t* from;
  const float* weights;
  int64_t each;
  const int32_t* even_from;
  const float* even_weights;
};

inline Taps taps_of(const kw::Node& node, const ResizeAxis& axis) {
  std::vector<ResizeTap> all;
  for (int64_t k = 0; k < axis.to; ++k) add_resize_taps(node, axis, k, resize_place(node, axis, k), all);
  const auto count = static_cast<int64_t>(all.size());
  auto* const begins = node.scratch<int64_t>(axis.to + 1);
  auto* const from = node.scratch<int32_t>(2 * count);
  auto* const weights = node.scratch<float>(2 * count);
  int64_t i = 0;
  int64_t each = axis.to == 0 ? 0 : count / axis.to;
  for (int64_t k = 0; k < axis.to; ++k) {
    begins[k] = i;
    for (; i < count && all[static_cast<size_t>(i)].to == k; ++i) {
      from[i] = static_cast<int32_t>(all[static_cast<size_t>(i)].from);
      weights[i] = static_cast<float>(all[static_cast<size_t>(i)].weight);
    }
    if (i - begins[k] != each) each = 0;
  }
  begins[axis.to] = i;
  for (int64_t k = 0; k < axis.to && each > 0; ++k) {
    for (int64_t t = 0; t < each; ++t) {
      from[count + t * axis.to + k] = from[k * each + t];
      weights[count + t * axis.to + k] = weights[k * each + t];
    }
  }
  return {axis.to, begins, from, weights, each, from + count, weights + count};
}

inline Floats gathered(const float* from, const int32_t* places) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m512i at = _mm512_loadu_si512(places);
    return std::bit_cast<Floats>(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), simd::kAll, at, from, 4));
  }
#endif
  Floats value{};
  for (int i = 0; i < kLanes; ++i) value[i] = from[places[i]];
  return value;
}

// A row whose elements lie side by side.
inline void resize_row(const Taps& taps, bool copies, const float* x, float* y) {
  int64_t k = 0;
  if (taps.each > 0) {
    for (; k + kLanes <= taps.to; k += kLanes) {
      Floats sum = gathered(x, taps.even_from + k);
      if (!copies) sum *= simd::load(taps.even_weights + k);
      for (int64_t t = 1; t < taps.each; ++t) {
        sum = simd::fma(simd::load(taps.even_weights + t * taps.to + k), gathered(x, taps.even_from + t * taps.to + k),
                        sum);
      }
      simd::store(y + k, sum);
    }
  }
  for (; k < taps.to; ++k) {
    const int64_t first = taps.begins[k], last = taps.begins[k + 1];
    if (copies) {
      y[k] = x[taps.from[first]];
      continue;
    }
    float sum = 0;
    for (int64_t i = first; i < last; ++i) sum += taps.weights[i] * x[taps.from[i]];
    y[k] = sum;
  }
}

// Element k of an axis whose elements are rows of `inner` numbers.
inline void resize_element(const Taps& taps, bool copies, int64_t k, const float* x, int64_t inner, float* y) {
  const int64_t first = taps.begins[k], last = taps.begins[k + 1];
  if (copies) {
    memcpy(y, x + taps.from[first] * inner, static_cast<size_t>(inner) * sizeof(float));
    return;
  }
  int64_t j = 0;
  for (; j + kLanes <= inner; j += kLanes) {
    Floats sum{};
    for (int64_t i = first; i < last; ++i) {
      sum = simd::fma(simd::splat(taps.weights[i]), simd::load(x + taps.from[i] * inner + j), sum);
    }
    simd::store(y + j, sum);
  }
  for (; j < inner; ++j) {
    float sum = 0;
    for (int64_t i = first; i < last; ++i) sum += taps.weights[i] * x[taps.from[i] * inner + j];
    y[j] = sum;
  }
}

}  // namespace resize_taps_parts

template <class R>
void Resize(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const R> roi, kw::Tensor<const float> scales,
            kw::Tensor<const int64_t> sizes, kw::Tensor<float>& y) {
  using namespace resize_taps_parts;
  if (node.is("coordinate_transformation_mode", "tf_crop_and_resize")) {
    return ::Resize(node, x, roi, scales, sizes, y);
  }
  const std::vector<ResizeAxis> axes = resize_axes(node, x.shape(), roi, scales, sizes, false);
  kw::Shape shape;
  for (const ResizeAxis& axis : axes) shape.push(axis.to);
  y.allocate(shape);
  if (y.count() == 0) return;
  const bool copies = node.is("mode", "nearest");
  std::vector<int> touched;
  for (int i = 0; i < x.rank(); ++i) {
    const ResizeAxis& axis = axes[static_cast<size_t>(i)];
    if (axis.from != axis.to || axis.scale != 1) touched.push_back(i);
  }
  if (touched.empty()) {
    memcpy(y.data(), x.data(), static_cast<size_t>(y.count()) * sizeof(float));
    return;
  }
  const auto growth = [&](int i) {
    const ResizeAxis& axis = axes[static_cast<size_t>(i)];
    return double(axis.to) / double(std::max<int64_t>(axis.from, 1));
  };
  std::stable_sort(touched.begin(), touched.end(), [&](int a, int b) { return growth(a) < growth(b); });
  const float* source = x.data();
  kw::Shape now = x.shape();
  for (const int i : touched) {
    const Taps taps = taps_of(node, axes[static_cast<size_t>(i)]);
    const AlongAxis from = along(now, i);
    now[i] = taps.to;
    float* const next = i == touched.back() ? y.data() : node.scratch<float>(now.count());
    const int64_t rows = from.inner == 1 ? from.outer : from.outer * taps.to;
    share_ranges(node, threads_for(node, now.count()), rows, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      for (int64_t row = begin; row < end; ++row) {
        if (from.inner == 1) {
          resize_row(taps, copies, source + row * from.length, next + row * taps.to);
        } else {
          const int64_t outer = row / taps.to, k = row % taps.to;
          resize_element(taps, copies, k, source + outer * from.length * from.inner, from.inner,
                         next + row * from.inner);
        }
      }
    });
    source = next;
  }
}
