#pragma once

#include "fourier.cuh"

// STFT: the Fourier transforms of overlapping frames of a signal, each weighted by a window.
struct STFT_node {
  int64_t length, parts, step, frame, frames, bins;
};

#ifdef __CUDACC__
template <class T, class I, class J>
__device__ T STFT(const STFT_node& of, int64_t i, const T* signal, const I*, const T* window, const J*) {
  const int64_t k = i / 2 % of.bins, frame = i / 2 / of.bins % of.frames, batch = i / 2 / of.bins / of.frames;
  const T* from = signal + (batch * of.length + frame * of.step) * of.parts;
  Complex bin{0, 0};
  for (int64_t n = 0; n < of.frame; ++n) {
    const double weight = window == nullptr ? 1 : double(window[n]);
    const Complex value{double(from[n * of.parts]) * weight,
                        of.parts == 2 ? double(from[n * of.parts + 1]) * weight : 0};
    add_turned(value, n, k, of.frame, false, &bin);
  }
  return T(i % 2 == 0 ? bin.real : bin.imaginary);
}
#else
inline STFT_node STFT_plan(const kw::Node& node, kw::Shape* y, const Given& signal, const Given& step,
                           const Given& window, const Given& frame_length) {
  STFT_node of{};
  of.length = signal.shape[1];
  of.parts = signal.shape.rank == 3 ? signal.shape[2] : 1;
  of.step = step.data == nullptr ? 1 : step.integer(0);
  of.frame = frame_length.data != nullptr ? frame_length.integer(0) : window.there ? window.shape[0] : of.length;
  of.frames = (of.length - of.frame) / of.step + 1;
  of.bins = node.integer("onesided", 1) != 0 ? of.frame / 2 + 1 : of.frame;
  *y = {signal.shape[0], of.frames, of.bins, 2};
  return of;
}
#endif
