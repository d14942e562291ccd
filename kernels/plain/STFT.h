#pragma once

#include <kernelwright.h>

#include "parts/fourier.h"
#include "parts/stft_frames.h"
#include "parts/wide.h"

// STFT: the Fourier transforms of overlapping frames of a signal, each weighted by a window.
template <class T, class I>
void STFT(const kw::Node& node, kw::Tensor<const T> signal, kw::Tensor<const I> frame_step, kw::Tensor<const T> window,
          kw::Tensor<const I> frame_length, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const auto [batch, length, parts, step, frame, frames, bins] =
      stft_frames(node, signal, frame_step, window, frame_length);
  y.allocate({batch, frames, bins, 2});
  const Fourier<W> fourier(node, frame, false);
  T* to = y.data();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t f = 0; f < frames; ++f) {
      const T* from = signal.data() + (b * length + f * step) * parts;
      for (int64_t n = 0; n < frame; ++n) {
        const W weight = window.given() ? W(window[n]) : W(1);
        fourier.real[n] = W(from[n * parts]) * weight;
        if (parts == 2) fourier.imaginary[n] = W(from[n * parts + 1]) * weight;
      }
      for (int64_t k = 0; k < bins; ++k) {
        const auto [real, imaginary] = fourier.bin(k, parts == 1);
        *to++ = T(real);
        *to++ = T(imaginary);
      }
    }
  }
}
