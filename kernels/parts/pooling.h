#include "reduction.h"

// Pooling of two-dimensional images in two steps: the rows under a row of windows are folded in vectors into one, with
// margins of neutral elements where windows run over the edge; windows then fold what they see of it.

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

// One channel. `margin` has room for the row with its margins; calls finish(row of windows, folded windows).
template <class F, class Finish>
inline void pool_image(const float* x, const PoolWindow& window, float* margin, float* y, Finish finish) {
  using namespace simd;
  const PoolAxis &down = window.down, &across = window.across;
  float* row = margin + across.pad_begin;
  for (int64_t oh = 0; oh < down.output; ++oh, y += across.output) {
    int64_t k = down.first_tap(oh);
    const int64_t end = down.end_tap(oh, down.input);
    const int64_t pitch = down.dilation * across.input;
    const float* from = x + (oh * down.stride - down.pad_begin) * across.input;
    bool fresh = true;
    const auto fold = [&]<int kRows>(std::integral_constant<int, kRows>) {
      for (; k + kRows <= end; k += kRows, fresh = false) {
        if (fresh) {
          fold_some_rows<F, kRows, true>(from + k * pitch, pitch, across.input, nullptr, row);
        } else {
          fold_some_rows<F, kRows, false>(from + k * pitch, pitch, across.input, nullptr, row);
        }
      }
    };
    fold(std::integral_constant<int, 4>());
    fold(std::integral_constant<int, 2>());
    fold(std::integral_constant<int, 1>());
    if (fresh) std::fill_n(row, across.input, F::kStart);
    int64_t ow = 0;
    if (across.stride == 1) {
      for (; ow + kLanes <= across.output; ow += kLanes) {
        Floats folded = load(margin + ow);
        for (int64_t tap = 1; tap < across.kernel; ++tap) {
          folded = F::join(folded, load(margin + ow + tap * across.dilation));
        }
        store(y + ow, folded);
      }
    }
    for (; ow + 4 <= across.output; ow += 4) {  // four windows side by side: each waits for its own last step only
      const float* at = margin + ow * across.stride;
      const int64_t step = across.stride;
      float a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
      for (int64_t tap = 1; tap < across.kernel; ++tap) {
        at += across.dilation;
        a = F::join(a, at[0]);
        b = F::join(b, at[step]);
        c = F::join(c, at[2 * step]);
        d = F::join(d, at[3 * step]);
      }
      y[ow] = a;
      y[ow + 1] = b;
      y[ow + 2] = c;
      y[ow + 3] = d;
    }
    for (; ow < across.output; ++ow) {
      const float* at = margin + ow * across.stride;
      float folded = at[0];
      for (int64_t tap = 1; tap < across.kernel; ++tap) folded = F::join(folded, at[tap * across.dilation]);
      y[ow] = folded;
    }
    finish(oh, y);
  }
}

// The row that pool_image wants, its margins filled.
template <class F>
inline float* pool_margin(const kw::Node& node, const PoolAxis& across) {
  const int64_t reach = (across.output - 1) * across.stride + across.span();  // of the last window
  const int64_t size = std::max(reach, across.pad_begin + across.input);
  float* margin = node.scratch<float>(size);
  std::fill_n(margin, across.pad_begin, F::kNeutral);
  for (int64_t i = across.pad_begin + across.input; i < size; ++i) margin[i] = F::kNeutral;
  return margin;
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
