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

// The window of a node over an image; `spatial`: its two lengths.
inline PoolWindow pool_window(const kw::Node& node, const int64_t* spatial) {
  const kw::List<int64_t> kernel = node.integers("kernel_shape"), strides = node.integers("strides"),
                          dilations = node.integers("dilations"), pads = node.integers("pads");
  const char* auto_pad = node.text("auto_pad");
  const bool ceil = node.integer("ceil_mode") != 0;
  PoolAxis axes[2];
  for (int i = 0; i < 2; ++i) {
    PoolAxis& axis = axes[i];
    axis = {.input = spatial[i],
            .output = 0,
            .kernel = kernel[i],
            .stride = strides.empty() ? 1 : strides[i],
            .dilation = dilations.empty() ? 1 : dilations[i],
            .pad_begin = pads.empty() ? 0 : pads[i],
            .pad_end = pads.empty() ? 0 : pads[2 + i]};
    if (auto_pad[0] == 'S') {  // SAME_UPPER or SAME_LOWER
      axis.output = (axis.input + axis.stride - 1) / axis.stride;
      const int64_t total = std::max<int64_t>((axis.output - 1) * axis.stride + axis.span() - axis.input, 0);
      axis.pad_begin = auto_pad[5] == 'U' ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
      continue;
    }
    const int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.span();
    axis.output = room / axis.stride + 1;
    if (ceil && auto_pad[0] != 'V' && room % axis.stride != 0 &&
        axis.output * axis.stride < axis.input + axis.pad_begin) {
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
};

// Room for them, the margins filled. Behind each row vectors may read on.
template <class F>
inline FoldedRows folded_rows(const kw::Node& node, const PoolWindow& window) {
  const PoolAxis& across = window.across;
  const int64_t reach = (across.output - 1) * across.stride + across.span();  // of the last window
  const int64_t size = std::max(reach, across.pad_begin + across.input);
  const int64_t pitch = size + 4 * simd::kLanes;
  const int64_t rows = std::min(std::max<int64_t>(POOL_BLOCK / pitch, 1), window.down.output);
  const FoldedRows folded{node.scratch<float>(rows * pitch), pitch, rows, across.pad_begin};
  for (int64_t r = 0; r < rows; ++r) {
    std::fill_n(folded.row(r), across.pad_begin, F::kNeutral);
    for (int64_t i = across.pad_begin + across.input; i < size; ++i) folded.row(r)[i] = F::kNeutral;
  }
  return folded;
}

// `taps` rows, `pitch` apart, folded into one; its last vector begins earlier where it has to.
template <class F>
inline void fold_taps(const float* x, int64_t pitch, int64_t taps, int64_t columns, float* to) {
  using namespace simd;
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
template <class F, int kStride, class Finish>
inline void fold_windows(const float* row, const PoolAxis& across, float* y, Finish finish) {
  using namespace simd;
  int64_t ow = 0;
  for (;;) {
    const float* at = row + ow * kStride;
    Floats folded[kStride];
    KW_UNROLL for (int v = 0; v < kStride; ++v) folded[v] = load(at + v * kLanes);
    for (int64_t tap = 1; tap < across.kernel; ++tap) {
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

// One channel. finish(row of windows) gives what finishes its windows: a function of what is folded, one number or a
// vector, and of the place across.
template <class F, class Finish>
inline void pool_image(const float* x, const PoolWindow& window, const FoldedRows& folded, float* y, Finish finish) {
  const PoolAxis &down = window.down, &across = window.across;
  for (int64_t begin = 0; begin < down.output; begin += folded.rows) {
    const int64_t end = std::min(begin + folded.rows, down.output);
    for (int64_t oh = begin; oh < end; ++oh) {
      const int64_t first = down.first_tap(oh), taps = down.end_tap(oh, down.input) - first;
      const float* from = x + (oh * down.stride - down.pad_begin + first * down.dilation) * across.input;
      fold_taps<F>(from, down.dilation * across.input, std::max<int64_t>(taps, 0), across.input,
                   folded.row(oh - begin) + folded.margin);
    }
    for (int64_t oh = begin; oh < end; ++oh, y += across.output) {
      const float* row = folded.row(oh - begin);
      const auto finished = finish(oh);
      if (across.output < simd::kLanes || across.stride > 4) {
        fold_each_window<F>(row, across, y, finished);
      } else if (across.stride == 1) {
        fold_windows<F, 1>(row, across, y, finished);
      } else if (across.stride == 2) {
        fold_windows<F, 2>(row, across, y, finished);
      } else if (across.stride == 3) {
        fold_windows<F, 3>(row, across, y, finished);
      } else {
        fold_windows<F, 4>(row, across, y, finished);
      }
    }
  }
}

// Whether one window covers all of a channel, and nothing else.
inline bool window_is_channel(const kw::Node& node, const kw::Shape& x) {
  const kw::List<int64_t> kernel = node.integers("kernel_shape");
  for (int i = 0; i < kernel.size(); ++i) {
    if (kernel[i] != x[2 + i]) return false;
  }
  for (int64_t pad : node.integers("pads")) {
    if (pad != 0) return false;
  }
  for (int64_t dilation : node.integers("dilations")) {
    if (dilation != 1) return false;
  }
  return node.text("auto_pad")[0] != 'S';
}
