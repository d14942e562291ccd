// Fourier transforms of overlapping frames, a vector of frames at a time, by passes over the factors of their length.
//
// A real frame of even length is half as many complex numbers, its even and its odd elements; the spectra of both are
// taken apart at the end.
//
// serves: STFT
// types: float32
// order: 10
#include "parts/fast_fourier.h"
#include "parts/turn.h"
#include "../plain/parts/stft_frames.h"

// Bin k of a real signal of twice `half` elements, from the spectrum of its even and odd ones, both halved.
inline fourier::Complex bin_of_real(const fourier::Roots& roots, const float* spectrum, int64_t half, int64_t k) {
  const bool mirrored = k > half;
  if (mirrored) k = 2 * half - k;
  const fourier::Complex here = fourier::load(spectrum, k == half ? 0 : k),
                         there = fourier::load(spectrum, k == 0 ? 0 : half - k);
  const fourier::Complex even{here.real + there.real, here.imaginary - there.imaginary};
  const fourier::Complex odd{here.imaginary + there.imaginary, there.real - here.real};
  const fourier::Complex bin = even + odd.times(roots.cosine[k], roots.sine[k]);
  return {bin.real, mirrored ? -bin.imaginary : bin.imaginary};
}

template <class I>
inline void STFT(const kw::Node& node, kw::Tensor<const float> signal, kw::Tensor<const I> frame_step,
                 kw::Tensor<const float> window, kw::Tensor<const I> frame_length, kw::Tensor<float>& y) {
  using namespace fourier;
  const auto [batch, length, parts, step, frame, frames, bins] =
      stft_frames(node, signal, frame_step, window, frame_length);
  y.allocate({batch, frames, bins, 2});
  if (y.count() == 0) return;
  const bool in_halves = parts == 1 && frame % 2 == 0;
  const int64_t numbers = frame * parts, elements = in_halves ? frame / 2 : frame;
  const Roots roots(node, frame);
  float* weights = node.scratch<float>(numbers);
  for (int64_t i = 0; i < numbers; ++i) {
    weights[i] = (window.given() ? window[i / parts] : 1.0f) * (in_halves ? 0.5f : 1.0f);
  }
  float* x = node.scratch<float>(elements * 2 * kLanes);
  float* between = node.scratch<float>(elements * 2 * kLanes);
  float* result = node.scratch<float>(bins * 2 * kLanes);
  std::fill_n(x, elements * 2 * kLanes, 0.0f);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t f = 0; f < frames; f += kLanes) {
      const int64_t count = std::min<int64_t>(kLanes, frames - f);
      turn_matrix(signal.data() + (b * length + f * step) * parts, count, numbers, step * parts, x, kLanes);
      if (parts == 2 || in_halves) {
        for (int64_t i = 0; i < numbers; ++i) simd::store(x + i * kLanes, simd::load(x + i * kLanes) * weights[i]);
      } else {
        for (int64_t i = numbers - 1; i >= 0; --i) {  // with room for imaginary parts
          fourier::store(x, i, {simd::load(x + i * kLanes) * weights[i], Floats{}});
        }
      }
      const float* spectrum = transform(roots, elements, x, between);
      const float* bins_of_lanes = spectrum;
      if (in_halves) {
        for (int64_t k = 0; k < bins; ++k) fourier::store(result, k, bin_of_real(roots, spectrum, elements, k));
        bins_of_lanes = result;
      }
      turn_matrix(bins_of_lanes, bins * 2, count, kLanes, y.data() + (b * frames + f) * bins * 2, bins * 2);
    }
  }
}
