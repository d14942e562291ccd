#pragma once

#include "common.cuh"

// How a window slides over an image of up to three axes after the batch and the channels.
struct Windows {
  int64_t axes;
  int64_t input[3], output[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
};

#ifdef __CUDACC__
// f(place in the image, place in the window) for each element of window `index` that lies on the image.
template <class F>
__device__ void each_tap(const Windows& of, int64_t index, F f) {
  int64_t at[3] = {0, 0, 0};
  for (int64_t axis = of.axes - 1; axis >= 0; --axis) {
    at[axis] = index % of.output[axis] * of.stride[axis] - of.pad[axis];
    index /= of.output[axis];
  }
  for (int64_t a = 0; a < of.kernel[0]; ++a) {
    const int64_t p = at[0] + a * of.dilation[0];
    if (p < 0 || p >= of.input[0]) continue;
    for (int64_t b = 0; b < of.kernel[1]; ++b) {
      const int64_t q = at[1] + b * of.dilation[1];
      if (q < 0 || q >= of.input[1]) continue;
      for (int64_t c = 0; c < of.kernel[2]; ++c) {
        const int64_t r = at[2] + c * of.dilation[2];
        if (r < 0 || r >= of.input[2]) continue;
        f((p * of.input[1] + q) * of.input[2] + r, (a * of.kernel[1] + b) * of.kernel[2] + c);
      }
    }
  }
}
#else
inline int64_t at_or(const kw::List<int64_t>& list, int i, int64_t otherwise) {
  return i < list.size() ? list[i] : otherwise;
}

// `kernel`: the window's lengths. *y gets the lengths of the result after batch and channels.
inline Windows sliding_windows(const kw::Node& node, const kw::Shape& x, const int64_t* kernel, bool rounds_up,
                               kw::Shape* y) {
  Windows of{x.rank - 2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
  const char* automatic = node.text("auto_pad", "NOTSET");
  const bool same = strncmp(automatic, "SAME", 4) == 0;
  for (int i = 0; i < of.axes; ++i) {
    of.input[i] = x[i + 2];
    of.kernel[i] = kernel[i];
    of.stride[i] = at_or(node.integers("strides"), i, 1);
    of.dilation[i] = at_or(node.integers("dilations"), i, 1);
    const int64_t reach = (of.kernel[i] - 1) * of.dilation[i] + 1;
    int64_t before = 0, after = 0;
    if (same) {
      of.output[i] = (of.input[i] + of.stride[i] - 1) / of.stride[i];
      const int64_t needed = (of.output[i] - 1) * of.stride[i] + reach - of.input[i];
      const int64_t all = needed > 0 ? needed : 0;
      before = strcmp(automatic, "SAME_LOWER") == 0 ? (all + 1) / 2 : all / 2;
      after = all - before;
    } else {
      if (strcmp(automatic, "VALID") != 0) {
        before = at_or(node.integers("pads"), i, 0);
        after = at_or(node.integers("pads"), i + static_cast<int>(of.axes), 0);
      }
      const int64_t room = of.input[i] + before + after - reach;
      of.output[i] = (rounds_up ? (room + of.stride[i] - 1) / of.stride[i] : room / of.stride[i]) + 1;
      // A window that would begin after the image and what is before it is none.
      if (rounds_up && (of.output[i] - 1) * of.stride[i] >= of.input[i] + before) --of.output[i];
    }
    of.pad[i] = before;
    of.pad_end[i] = after;
    y->push(of.output[i]);
  }
  return of;
}

inline int64_t product(const int64_t* lengths) { return lengths[0] * lengths[1] * lengths[2]; }
#endif
