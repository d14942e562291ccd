// How a window slides over images of up to three axes, in 32 bits and with division by multiplication: what kernels of
// convolutions and pooling need of parts of an image.
#pragma once

#include "../plain/windows.cuh"
#include "tensors.cuh"

// Division of numbers below 2^31 by a constant of the plan.
struct Divisor {
  uint32_t by, factor, shift;
#ifdef __CUDACC__
  __device__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, factor) + n) >> shift; }
  // The quotient; *rest gets what is left.
  __device__ uint32_t divide(uint32_t n, uint32_t* rest) const {
    const uint32_t q = quotient(n);
    *rest = n - q * by;
    return q;
  }
#else
  static Divisor of(int64_t by) {
    uint32_t shift = 0;
    while ((int64_t{1} << shift) < by) ++shift;
    const uint64_t factor = (uint64_t{1} << 32) * ((uint64_t{1} << shift) - uint64_t(by)) / uint64_t(by) + 1;
    return {uint32_t(by), uint32_t(factor), shift};
  }
#endif
};

struct Sliding {
  int32_t input[3], stride[3], dilation[3], pad[3];
  Divisor output[3], kernel[3];  // their lengths
  int32_t x_size, y_size, w_size;
#ifdef __CUDACC__
  // Where output `place` of an image begins, without padding; of a result three numbers, slowest axis first.
  __device__ void begin_of(uint32_t place, int32_t* at) const {
    uint32_t c, b;
    const uint32_t ab = output[2].divide(place, &c), a = output[1].divide(ab, &b);
    at[0] = int32_t(a), at[1] = int32_t(b), at[2] = int32_t(c);
  }
  __device__ void tap_of(uint32_t tap, int32_t* at) const {
    uint32_t c, b;
    const uint32_t ab = kernel[2].divide(tap, &c), a = kernel[1].divide(ab, &b);
    at[0] = int32_t(a), at[1] = int32_t(b), at[2] = int32_t(c);
  }
  // The element of an image under tap `tap` of a window that begins at `at`; -1: outside.
  __device__ int32_t under(const int32_t* at, const int32_t* tap) const {
    int32_t from = 0;
    bool inside = true;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int32_t p = at[axis] * stride[axis] - pad[axis] + tap[axis] * dilation[axis];
      inside = inside && uint32_t(p) < uint32_t(input[axis]);
      from = from * input[axis] + p;
    }
    return inside ? from : -1;
  }
#endif
};

// Results in fours for a thread, so that it finds its place and its windows' rows once for all four: those of one axis
// that lie a quarter of it apart, and neighbouring threads have neighbouring results.
struct Strips {
  static constexpr int kFour = 4;
  Divisor places[3];  // of an image's results along each axis
  int32_t axis, far;  // where the four lie apart, and how far
  Divisor count;      // of fours in an image
  int32_t all;        // fours of all images
#ifdef __CUDACC__
  // The place of the first of four.
  __device__ void begin_of(uint32_t four, int32_t* at) const {
    uint32_t c, b;
    const uint32_t ab = places[2].divide(four, &c), a = places[1].divide(ab, &b);
    at[0] = int32_t(a), at[1] = int32_t(b), at[2] = int32_t(c);
  }
  // f(which of the four, element of the image, tap) for all that lies under their windows.
  template <class F>
  __device__ void each_tap(const Sliding& window, const int32_t* first, F f) const {
    int32_t begin[kFour][3];
#pragma unroll
    for (int j = 0; j < kFour; ++j) {
#pragma unroll
      for (int i = 0; i < 3; ++i)
        begin[j][i] = (first[i] + (i == axis ? j * far : 0)) * window.stride[i] - window.pad[i];
    }
    const int32_t deep = int32_t(window.kernel[0].by), high = int32_t(window.kernel[1].by);
    const int32_t wide = int32_t(window.kernel[2].by);
    // Windows that lie inside of the image need no more checks.
    bool inside = true;
#pragma unroll
    for (int j = 0; j < kFour; ++j) {
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const int32_t last = begin[j][i] + int32_t(window.kernel[i].by - 1) * window.dilation[i];
        inside = inside && begin[j][i] >= 0 && last < window.input[i];
      }
    }
    int32_t tap = 0;
    if (inside) {
      int32_t row[kFour];
#pragma unroll
      for (int j = 0; j < kFour; ++j)
        row[j] = (begin[j][0] * window.input[1] + begin[j][1]) * window.input[2] + begin[j][2];
      for (int32_t a = 0; a < deep; ++a) {
        for (int32_t b = 0; b < high; ++b) {
          const int32_t at = (a * window.dilation[0] * window.input[1] + b * window.dilation[1]) * window.input[2];
#pragma unroll 4
          for (int32_t c = 0; c < wide; ++c, ++tap) {
#pragma unroll
            for (int j = 0; j < kFour; ++j) f(j, row[j] + at + c * window.dilation[2], tap);
          }
        }
      }
      return;
    }
    for (int32_t a = 0; a < deep; ++a) {
      const int32_t p = begin[0][0] + a * window.dilation[0];
      if (uint32_t(p) >= uint32_t(window.input[0])) {
        tap += high * wide;
        continue;
      }
      for (int32_t b = 0; b < high; ++b) {
        int32_t row[kFour];
        bool is_row[kFour];
#pragma unroll
        for (int j = 0; j < kFour; ++j) {
          const int32_t q = begin[j][1] + b * window.dilation[1];
          is_row[j] = uint32_t(q) < uint32_t(window.input[1]);
          row[j] = (p * window.input[1] + q) * window.input[2];
        }
#pragma unroll 1
        for (int32_t c = 0; c < wide; ++c, ++tap) {
#pragma unroll
          for (int j = 0; j < kFour; ++j) {
            const int32_t r = begin[j][2] + c * window.dilation[2];
            if (is_row[j] && uint32_t(r) < uint32_t(window.input[2])) f(j, row[j] + r, tap);
          }
        }
      }
    }
  }
  // f(which of the four, its coordinates, its place in the image) for those that there are.
  template <class F>
  __device__ void each_result(const Sliding& window, const int32_t* first, F f) const {
#pragma unroll
    for (int j = 0; j < kFour; ++j) {
      int32_t at[3];
#pragma unroll
      for (int i = 0; i < 3; ++i) at[i] = first[i] + (i == axis ? j * far : 0);
      if (at[1] >= int32_t(window.output[1].by) || at[2] >= int32_t(window.output[2].by)) continue;
      f(j, at, (at[0] * int32_t(window.output[1].by) + at[1]) * int32_t(window.output[2].by) + at[2]);
    }
  }
#endif
};

#ifndef __CUDACC__
// Of so many images, each with results; one launch of blocks of `threads` for all.
inline Strips strips_of(Steps& steps, const Sliding& window, int64_t images, int threads) {
  Strips of{};
  of.axis = window.output[1].by >= 4 ? 1 : 2;
  int64_t count = 1;
  for (int i = 0; i < 3; ++i) {
    const int64_t length = window.output[i].by;
    of.places[i] = i == of.axis ? Divisor::of(length > 0 ? kw::blocks(length, Strips::kFour) : 1) : window.output[i];
    count *= of.places[i].by;
  }
  of.far = static_cast<int32_t>(of.places[of.axis].by);
  of.count = Divisor::of(count);
  of.all = static_cast<int32_t>(count * images);
  if (count * images >= (int64_t{1} << 31) - threads) steps.cannot = "more windows than this kernel counts";
  steps.add(0, kw::blocks(count * images, threads));
  return of;
}

// False: more elements in an image than 32 bits count.
inline bool sliding_of(const Windows& windows, Sliding* of, Steps& steps) {
  int64_t sizes[3] = {1, 1, 1};
  // Axes that there are not come first, with one place.
  for (int i = 0; i < 3; ++i) {
    const int from = i - (3 - static_cast<int>(windows.axes));
    const bool there = from >= 0;
    of->input[i] = static_cast<int32_t>(there ? windows.input[from] : 1);
    of->stride[i] = static_cast<int32_t>(there ? windows.stride[from] : 1);
    of->dilation[i] = static_cast<int32_t>(there ? windows.dilation[from] : 1);
    of->pad[i] = static_cast<int32_t>(there ? windows.pad[from] : 0);
    of->output[i] = Divisor::of(there ? windows.output[from] : 1);
    of->kernel[i] = Divisor::of(there ? windows.kernel[from] : 1);
    sizes[0] *= there ? windows.input[from] : 1;
    sizes[1] *= there ? windows.output[from] : 1;
    sizes[2] *= there ? windows.kernel[from] : 1;
  }
  for (const int64_t size : sizes) {
    if (size < (int64_t{1} << 31)) continue;
    steps.cannot = "an image has more elements than this kernel counts";
    return false;
  }
  of->x_size = static_cast<int32_t>(sizes[0]);
  of->y_size = static_cast<int32_t>(sizes[1]);
  of->w_size = static_cast<int32_t>(sizes[2]);
  return true;
}
#endif
