#pragma once

#include <kernelwright.h>

#include "parts/axis.h"
#include "parts/fourier.h"
#include "parts/normal_axis.h"
#include "parts/wide.h"

// DFT: the discrete Fourier transform along an axis, or its inverse; the last axis holds real and imaginary part.
template <class T, class I>
void DFT(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const I> dft_length, kw::Tensor<const int64_t> axis,
         kw::Tensor<T>& y) {
  using W = Wide<T>;
  const int64_t usual_axis = node.integer("axis", node.integer("opset") < 20 ? 1 : -2);
  const int along_axis = normal_axis(axis.given() ? axis[0] : usual_axis, x.rank());
  const bool inverse = node.integer("inverse") != 0, onesided = node.integer("onesided") != 0;
  const bool from_half = inverse && onesided;  // half the spectrum of a real signal
  const AlongAxis from = along(x.shape(), along_axis);
  const int64_t usual_length = from_half ? 2 * (from.length - 1) : from.length;
  const int64_t length = dft_length.given() ? dft_length[0] : usual_length;
  const int64_t parts = x.shape(-1), y_parts = from_half ? 1 : 2;
  kw::Shape shape = x.shape();
  shape[along_axis] = onesided && !inverse ? length / 2 + 1 : length;
  shape[-1] = y_parts;
  y.allocate(shape);
  const AlongAxis to = along(shape, along_axis);
  const int64_t used = std::min(from.length, from_half ? length / 2 + 1 : length);
  const W scale = inverse ? 1 / W(length) : W(1);
  const Fourier<W> fourier(node, length, inverse);
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t i = 0; i < from.inner / parts; ++i) {
      const T* signal = x.data() + o * from.length * from.inner + i * parts;
      for (int64_t n = 0; n < length; ++n) {
        fourier.real[n] = n < used ? W(signal[n * from.inner]) : W(0);
        fourier.imaginary[n] = n < used && parts == 2 ? W(signal[n * from.inner + 1]) : W(0);
      }
      if (from_half) {  // bin N - k is the conjugate of bin k
        fourier.imaginary[0] = 0;
        if (length % 2 == 0) fourier.imaginary[length / 2] = 0;
        for (int64_t n = length / 2 + 1; n < length; ++n) {
          fourier.real[n] = fourier.real[length - n];
          fourier.imaginary[n] = -fourier.imaginary[length - n];
        }
      }
      T* result = y.data() + o * to.length * to.inner + i * y_parts;
      for (int64_t k = 0; k < to.length; ++k) {
        const auto [real, imaginary] = fourier.bin(k, parts == 1);
        result[k * to.inner] = T(scale * real);
        if (y_parts == 2) result[k * to.inner + 1] = T(scale * imaginary);
      }
    }
  }
}
