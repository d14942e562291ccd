// The largest under each window: rows of images folded in vectors, then across; a window that is the channel as a row.
//
// serves: MaxPool
// types: float32
#pragma once

#include <kernelwright.h>

#include "../plain/MaxPool.h"
#include "parts/pooling.h"

inline bool holds_nan(const float* x, int64_t count) {
  using namespace simd;
  Ints found[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    KW_UNROLL for (int v = 0; v < 4; ++v) {
      const Floats here = load(x + i + v * kLanes);
      found[v] |= here != here;
    }
  }
  bool rest = false;
  for (; i < count; ++i) rest |= x[i] != x[i];
  return rest || any((found[0] | found[1]) | (found[2] | found[3]));
}

// The row of the image that a row of windows begins with; may be beyond it.
inline int64_t first_row(const PoolAxis& down, int64_t oh) {
  return oh * down.stride - down.pad_begin + down.first_tap(oh) * down.dilation;
}

// Whether a window might begin with NaN: where rows are left out, only those that windows begin with are looked at.
inline bool may_begin_with_nan(const float* image, const PoolWindow& window) {
  const PoolAxis& down = window.down;
  const int64_t columns = window.across.input;
  if (down.stride < 3) return holds_nan(image, down.input * columns);
  for (int64_t oh = 0; oh < down.output; ++oh) {
    const int64_t row = first_row(down, oh);
    if (row < down.input && holds_nan(image + row * columns, columns)) return true;
  }
  return false;
}

// A window that begins with NaN is NaN; NaN behind is passed over.
inline void first_nan(const float* image, const PoolWindow& window, float* y) {
  const PoolAxis &down = window.down, &across = window.across;
  for (int64_t oh = 0; oh < down.output; ++oh, y += across.output) {
    const int64_t row = first_row(down, oh);
    if (row >= down.input) return;
    for (int64_t ow = 0; ow < across.output; ++ow) {
      const int64_t column = ow * across.stride - across.pad_begin + across.first_tap(ow) * across.dilation;
      if (column >= across.input) break;
      const float first = image[row * across.input + column];
      if (first != first) y[ow] = first;
    }
  }
}

inline const void* prepare_MaxPool(const kw::Call& call, const kw::Node& node, kw::Tensor<const float>) {
  return keep_pool_attributes(call, node);
}

inline void MaxPool(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y, kw::Tensor<int64_t>& places,
                    const void* kept) {
  const auto& attributes = *static_cast<const PoolAttributes*>(kept);
  const bool whole = window_is_channel(attributes, x.shape());
  if (places.given() || x.count() == 0 || (x.rank() != 4 && !whole)) return ::MaxPool(node, x, y, places);
  const int64_t channels = x.shape(0) * x.shape(1), x_size = x.shape().count(2, x.rank());
  const int threads = threads_within(node, threads_for(node, x.count()), kBytesOfFoldedRows);
  kw::Shape shape{x.shape(0), x.shape(1)};
  if (whole) {
    while (shape.rank < x.rank()) shape.push(1);
    y.allocate(shape);
    share_ranges(node, threads, channels, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      for (int64_t c = begin; c < end; ++c) {
        const float* from = x.data() + c * x_size;
        y[c] = from[0] != from[0] ? from[0] : fold_row<LargestElement>(from, x_size);
      }
    });
    return;
  }
  const PoolWindow window = pool_window(attributes, x.shape().dims + 2);
  const PoolAxis &down = window.down, &across = window.across;
  shape.push(down.output);
  shape.push(across.output);
  y.allocate(shape);
  const FoldedRows folded = folded_rows<LargestElement>(node, window, threads);
  const auto as_it_is = [](int64_t) { return [](auto largest, int64_t) { return largest; }; };
  share_ranges(node, threads, channels, 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
    for (int64_t c = begin; c < end; ++c) {
      const float* image = x.data() + c * x_size;
      float* largest = y.data() + c * down.output * across.output;
      pool_image<LargestElement>(image, window, folded.of_slot(slot), largest, as_it_is);
      if (may_begin_with_nan(image, window)) first_nan(image, window, largest);
    }
  });
}
