#pragma once

#include "along_axis.cuh"
#include "fourier.cuh"

// DFT: the discrete Fourier transform along an axis, or its inverse; the last axis holds real and imaginary part.
struct DFT_node {
  AlongAxis from, to;
  int64_t length, used, parts, y_parts, inverse, from_half;
};

#ifdef __CUDACC__
template <class T, class... Constants>
__device__ T DFT(const DFT_node& of, int64_t i, const T* x, const Constants*...) {
  const int64_t part = i % of.y_parts, inner = i % of.to.inner / of.y_parts;
  const int64_t k = i / of.to.inner % of.to.length, outer = i / of.to.inner / of.to.length;
  const T* signal = x + outer * of.from.length * of.from.inner + inner * of.parts;
  Complex bin{0, 0};
  for (int64_t n = 0; n < of.length; ++n) {
    // Of half a spectrum, bin N - k is the conjugate of bin k.
    const bool mirrored = of.from_half != 0 && n > of.length / 2;
    const int64_t at = mirrored ? of.length - n : n;
    if (at >= of.used) continue;
    Complex value{double(signal[at * of.from.inner]), of.parts == 2 ? double(signal[at * of.from.inner + 1]) : 0};
    if (mirrored) value.imaginary = -value.imaginary;
    if (of.from_half != 0 && (n == 0 || 2 * n == of.length)) value.imaginary = 0;
    add_turned(value, n, k, of.length, of.inverse != 0, &bin);
  }
  return T((part == 0 ? bin.real : bin.imaginary) / (of.inverse != 0 ? double(of.length) : 1));
}
#else
inline DFT_node DFT_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& dft_length,
                         const Given& axis) {
  const int64_t usual = node.integer("axis", node.integer("opset") < 20 ? 1 : -2);
  const int at = from_front(axis.data != nullptr ? axis.integer(0) : usual, x.shape.rank);
  const bool inverse = node.integer("inverse") != 0, onesided = node.integer("onesided") != 0;
  const bool from_half = inverse && onesided;
  DFT_node of{};
  of.from = along(x.shape, at);
  of.length = dft_length.data != nullptr ? dft_length.integer(0) : from_half ? 2 * (x.shape[at] - 1) : x.shape[at];
  of.used = std::min(x.shape[at], from_half ? of.length / 2 + 1 : of.length);
  of.parts = x.shape[-1];
  of.y_parts = from_half ? 1 : 2;
  of.inverse = inverse ? 1 : 0;
  of.from_half = from_half ? 1 : 0;
  *y = x.shape;
  (*y)[at] = onesided && !inverse ? of.length / 2 + 1 : of.length;
  (*y)[-1] = of.y_parts;
  of.to = along(*y, at);
  return of;
}
#endif
