#pragma once

#include <kernelwright.h>

// What an STFT makes of its signal: frames of `frame` elements, `step` apart, and how many bins of each.
struct StftFrames {
  int64_t batch, length;
  int64_t parts;  // 2: complex
  int64_t step, frame, frames, bins;
};

template <class T, class I>
StftFrames stft_frames(const kw::Node& node, kw::Tensor<const T> signal, kw::Tensor<const I> frame_step,
                       kw::Tensor<const T> window, kw::Tensor<const I> frame_length) {
  StftFrames of;
  of.batch = signal.shape(0);
  of.length = signal.shape(1);
  of.parts = signal.rank() == 3 ? signal.shape(2) : 1;
  of.step = frame_step[0];
  of.frame = frame_length.given() ? frame_length[0] : window.given() ? window.shape(0) : of.length;
  of.frames = (of.length - of.frame) / of.step + 1;
  of.bins = node.integer("onesided") != 0 ? of.frame / 2 + 1 : of.frame;
  return of;
}
