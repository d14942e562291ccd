#pragma once

#include <kernelwright.h>

#include <utility>

#include "reduction.h"

// Pooling of two-dimensional images in two steps: the rows under a row of windows are folded in vectors into one, with
// margins of neutral elements where windows run over the edge; windows then fold what they see of it, those of small
// strides in vectors too.

KW_TUNE(POOL_BLOCK, 4096, 1024, 4096);  // elements of folded rows that are there at a time

struct PoolAxis {
  int64_t input, output, kernel, stride, dilation, pad_begin, pad_end;

  int64_t span() const { return (kernel - 1) * dilation + 1; }
  // The first tap of a window that lies on the input, and the end of those.
  int64_t first_tap(int64_t window) const {
    const int64_t before = pad_begin - window * stride;
    return before <= 0 ? 0 : (before + dilation - 1) / dilation;
  }
  int64_t end_tap(int64_t window, int64_t end) const {
    const int64_t way = end - (window * stride - pad_begin);
    if (way >= span()) return kernel;
    return way <= 0 ? 0 : std::min(kernel, (way + dilation - 1) / dilation);
  }
};

struct PoolWindow {
  PoolAxis down, across;
};

// What a node says of its windows, read once.
struct PoolAttributes {
  kw::Shape kernel;
  kw::Shape strides, dilations, pads_begin, pads_end;  // of each axis, with what is meant where nothing is said
  bool same, same_upper, ceil, counts_padding;
};

inline PoolAttributes pool_attributes(const kw::Node& node) {
  const kw::List<int64_t> kernel = node.integers("kernel_shape"), strides = node.integers("strides"),
                          dilations = node.integers("dilations"), pads = node.integers("pads");
  const char* auto_pad = node.text("auto_pad");
  PoolAttributes attributes;
  attributes.kernel = kw::Shape(static_cast<int>(kernel.size()), kernel.begin());
  for (int64_t i = 0; i < kernel.size(); ++i) {
    attributes.strides.push(strides.empty() ? 1 : strides[i]);
    attributes.dilations.push(dilations.empty() ? 1 : dilations[i]);
    attributes.pads_begin.push(pads.empty() ? 0 : pads[i]);
    attributes.pads_end.push(pads.empty() ? 0 : pads[kernel.size() + i]);
  }
  attributes.same = auto_pad[0] == 'S';  // SAME_UPPER or SAME_LOWER
  attributes.same_upper = attributes.same && auto_pad[5] == 'U';
  attributes.ceil = node.integer("ceil_mode") != 0 && auto_pad[0] != 'V';
  attributes.counts_padding = node.integer("count_include_pad") != 0;
  return attributes;
}
inline const void* keep_pool_attributes(const kw::Call& call, const kw::Node& node) {
  auto* kept = call.keep<PoolAttributes>(1);
  *kept = pool_attributes(node);
  return kept;
}

// The window of a node over an image; `spatial`: its two lengths.
inline PoolWindow pool_window(const PoolAttributes& attributes, const int64_t* spatial) {
  PoolAxis axes[2];
  for (int i = 0; i < 2; ++i) {
    PoolAxis& axis = axes[i];
    axis = {.input = spatial[i],
            .output = 0,
            .kernel = attributes.kernel[i],
            .stride = attributes.strides[i],
            .dilation = attributes.dilations[i],
            .pad_begin = attributes.pads_begin[i],
            .pad_end = attributes.pads_end[i]};
    if (attributes.same) {
      axis.output = (axis.input + axis.stride - 1) / axis.stride;
      const int64_t total = std::max<int64_t>((axis.output - 1) * axis.stride + axis.span() - axis.input, 0);
      axis.pad_begin = attributes.same_upper ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
      continue;
    }
    const int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.span();
    axis.output = room / axis.stride + 1;
    if (attributes.ceil && room % axis.stride != 0 && axis.output * axis.stride < axis.input + axis.pad_begin) {
      ++axis.output;
    }
  }
  return {axes[0], axes[1]};
}

// Rows under a row of windows, folded into one, with their margins; a few of them, for the first cache.
struct FoldedRows {
  float* first;
  int64_t pitch, rows, margin;

  float* row(int64_t r) const { return first + r * pitch; }
  // Those of a thread: each has its own.
  FoldedRows of_slot(int slot) const { return {first + slot * rows * pitch, pitch, rows, margin}; }
};

// What they take of a thread, about, where an image is not very wide.
inline constexpr int64_t kBytesOfFoldedRows = int64_t{1} << 17;

// Room for them for each thread, the margins filled. Behind each row vectors may read on.
template <class F>
inline FoldedRows folded_rows(const kw::Node& node, const PoolWindow& window, int threads = 1) {
  const PoolAxis& across = window.across;
  const int64_t reach = (across.output - 1) * across.stride + across.span();  // of the last window
  const int64_t size = std::max(reach, across.pad_begin + across.input);
  const int64_t pitch = size + 4 * simd::kLanes;
  const int64_t rows = std::min(std::max<int64_t>(POOL_BLOCK / pitch, 1), window.down.output);
  const FoldedRows folded{node.scratch<float>(threads * rows * pitch), pitch, rows, across.pad_begin};
  for (int64_t r = 0; r < threads * rows; ++r) {
    std::fill_n(folded.row(r), across.pad_begin, F::kNeutral);
    for (int64_t i = across.pad_begin + across.input; i < size; ++i) folded.row(r)[i] = F::kNeutral;
  }
  return folded;
}

// `taps` rows, `pitch` apart, folded into one; its last vector begins earlier where it has to. kTaps: how many they
// are, where that is known.
template <class F, int kTaps = 0>
inline void fold_taps(const float* x, int64_t pitch, int64_t some_taps, int64_t columns, float* to) {
  using namespace simd;
  const int64_t taps = kTaps > 0 ? kTaps : some_taps;
  if (taps == 0) {
    std::fill_n(to, columns, F::kStart);
    return;
  }
  const auto fold = [=]<int kVectors>(std::integral_constant<int, kVectors>, int64_t i) {
    Floats folded[kVectors];
    const float* at = x + i;
    KW_UNROLL for (int v = 0; v < kVectors; ++v) folded[v] = F::join(splat(F::kStart), load(at + v * kLanes));
    for (int64_t k = 1; k < taps; ++k) {
      at += pitch;
      KW_UNROLL for (int v = 0; v < kVectors; ++v) folded[v] = F::join(folded[v], load(at + v * kLanes));
    }
    KW_UNROLL for (int v = 0; v < kVectors; ++v) store(to + i + v * kLanes, folded[v]);
  };
  int64_t i = 0;
  for (; i + 4 * kLanes <= columns; i += 4 * kLanes) fold(std::integral_constant<int, 4>(), i);
  for (; i + kLanes <= columns; i += kLanes) fold(std::integral_constant<int, 1>(), i);
  if (i == columns) return;
  if (columns >= kLanes) return fold(std::integral_constant<int, 1>(), columns - kLanes);
  for (; i < columns; ++i) {
    float folded = F::kStart;
    for (int64_t k = 0; k < taps; ++k) folded = F::join(folded, x[k * pitch + i]);
    to[i] = folded;
  }
}

// Every kStep-th element of kStep vectors.
template <int kStep, int... kLane>
inline simd::Floats every(const simd::Floats* from, std::integer_sequence<int, kLane...> lanes) {
  constexpr int kTwo = 2 * simd::kLanes;  // elements of two vectors
  if constexpr (kStep == 1) {
    return from[0];
  } else if constexpr (kStep == 2) {
    return __builtin_shufflevector(from[0], from[1], (2 * kLane)...);
  } else if constexpr (kStep == 3) {
    const simd::Floats most = __builtin_shufflevector(from[0], from[1], (3 * kLane < kTwo ? 3 * kLane : 0)...);
    return __builtin_shufflevector(most, from[2], (3 * kLane < kTwo ? kLane : 3 * kLane - simd::kLanes)...);
  } else {
    const simd::Floats halves[] = {every<2>(from, lanes), every<2>(from + 2, lanes)};
    return every<2>(halves, lanes);
  }
}

// A row of windows that are kStride apart, in vectors: what windows at every place would fold, and of that every
// kStride-th. At the end windows are computed twice.
template <class F, int kStride, int kTaps, class Finish>
inline void fold_windows(const float* row, const PoolAxis& across, float* y, Finish finish) {
  using namespace simd;
  const int64_t taps = kTaps > 0 ? kTaps : across.kernel;
  int64_t ow = 0;
  for (;;) {
    const float* at = row + ow * kStride;
    Floats folded[kStride];
    KW_UNROLL for (int v = 0; v < kStride; ++v) folded[v] = load(at + v * kLanes);
    for (int64_t tap = 1; tap < taps; ++tap) {
      at += across.dilation;
      KW_UNROLL for (int v = 0; v < kStride; ++v) folded[v] = F::join(folded[v], load(at + v * kLanes));
    }
    store(y + ow, finish(every<kStride>(folded, std::make_integer_sequence<int, kLanes>()), ow));
    if (ow + kLanes == across.output) return;
    ow = std::min(ow + kLanes, across.output - kLanes);
  }
}

// The same of any stride, window by window.
template <class F, class Finish>
inline void fold_each_window(const float* row, const PoolAxis& across, float* y, Finish finish) {
  using namespace simd;
  const int64_t step = across.stride;
  int64_t ow = 0;
  if (across.dilation == 1 && across.kernel >= kLanes) {
    const auto joined = [](auto a, auto b) { return F::join(a, b); };
    const int64_t rest = across.kernel % kLanes;
    for (; ow < across.output; ++ow) {
      const float* at = row + ow * step;
      Floats folded = load_some(at, rest, F::kNeutral);
      for (at += rest; at < row + ow * step + across.kernel; at += kLanes) folded = F::join(folded, load(at));
      y[ow] = finish(combined(folded, joined), ow);
    }
    return;
  }
  for (; ow + 4 <= across.output; ow += 4) {  // four windows side by side: each waits for its own last step only
    const float* at = row + ow * step;
    float a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
    for (int64_t tap = 1; tap < across.kernel; ++tap) {
      at += across.dilation;
      a = F::join(a, at[0]);
      b = F::join(b, at[step]);
      c = F::join(c, at[2 * step]);
      d = F::join(d, at[3 * step]);
    }
    y[ow] = finish(a, ow);
    y[ow + 1] = finish(b, ow + 1);
    y[ow + 2] = finish(c, ow + 2);
    y[ow + 3] = finish(d, ow + 3);
  }
  for (; ow < across.output; ++ow) {
    const float* at = row + ow * step;
    float folded = at[0];
    for (int64_t tap = 1; tap < across.kernel; ++tap) folded = F::join(folded, at[tap * across.dilation]);
    y[ow] = finish(folded, ow);
  }
}

// Folds the rows under the rows of windows from `begin` to `end`.
template <class F>
[[gnu::noinline]] void fold_down(const float* x, const PoolWindow& window, const FoldedRows& folded, int64_t begin,
                                 int64_t end) {
  const PoolAxis& down = window.down;
  const int64_t columns = window.across.input, pitch = down.dilation * columns;
  float* row = folded.first + folded.margin;
  for (int64_t oh = begin; oh < end; ++oh, row += folded.pitch) {
    const int64_t first = down.first_tap(oh), taps = down.end_tap(oh, down.input) - first;
    const float* from = x + (oh * down.stride - down.pad_begin + first * down.dilation) * columns;
    if (taps == 2) {
      fold_taps<F, 2>(from, pitch, taps, columns, row);
    } else if (taps == 3) {
      fold_taps<F, 3>(from, pitch, taps, columns, row);
    } else {
      fold_taps<F>(from, pitch, std::max<int64_t>(taps, 0), columns, row);
    }
  }
}

// One channel. finish(row of windows) gives what finishes its windows: a function of what is folded, one number or a
// vector, and of the place across. `fold_row` is one of the two above.
template <class F, class Finish, class FoldRow>
[[gnu::noinline]] void pool_rows(const float* x, const PoolWindow& window, const FoldedRows& folded, float* y,
                                 const Finish& finish, FoldRow fold_row) {
  const PoolAxis across = window.across;
  for (int64_t begin = 0; begin < window.down.output; begin += folded.rows) {
    const int64_t end = std::min(begin + folded.rows, window.down.output);
    fold_down<F>(x, window, folded, begin, end);
    const float* row = folded.first;
    for (int64_t oh = begin; oh < end; ++oh, row += folded.pitch, y += across.output) {
      fold_row(row, across, y, finish(oh));
    }
  }
}
template <class F, class Finish>
inline void pool_image(const float* x, const PoolWindow& window, const FoldedRows& folded, float* y,
                       const Finish& finish) {
  const PoolAxis& across = window.across;
  const auto with_stride = [&]<int kStride, int kTaps>(std::integer_sequence<int, kStride, kTaps>) {
    pool_rows<F>(x, window, folded, y, finish, [](const float* row, const PoolAxis& axis, float* to, auto finished) {
      fold_windows<F, kStride, kTaps>(row, axis, to, finished);
    });
  };
  if (across.output < simd::kLanes || across.stride > 4) {
    pool_rows<F>(x, window, folded, y, finish, [](const float* row, const PoolAxis& axis, float* to, auto finished) {
      fold_each_window<F>(row, axis, to, finished);
    });
  } else if (across.stride == 1 && across.kernel == 2) {
    with_stride(std::integer_sequence<int, 1, 2>());
  } else if (across.stride == 1 && across.kernel == 3) {
    with_stride(std::integer_sequence<int, 1, 3>());
  } else if (across.stride == 1) {
    with_stride(std::integer_sequence<int, 1, 0>());
  } else if (across.stride == 2 && across.kernel == 3) {
    with_stride(std::integer_sequence<int, 2, 3>());
  } else if (across.stride == 2) {
    with_stride(std::integer_sequence<int, 2, 0>());
  } else if (across.stride == 3) {
    with_stride(std::integer_sequence<int, 3, 0>());
  } else {
    with_stride(std::integer_sequence<int, 4, 0>());
  }
}

// Whether one window covers all of a channel, and nothing else.
inline bool window_is_channel(const PoolAttributes& attributes, const kw::Shape& x) {
  for (int i = 0; i < attributes.kernel.rank; ++i) {
    if (attributes.kernel[i] != x[2 + i] || attributes.dilations[i] != 1) return false;
    if (attributes.pads_begin[i] != 0 || attributes.pads_end[i] != 0) return false;
  }
  return !attributes.same;
}
