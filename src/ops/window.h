// Where windows lie on a tensor's spatial axes: the arithmetic that convolutions and poolings share.
//
// A window slides along each axis on its own. At output position o its tap k lies on input position
// o * stride - pad_begin + k * dilation; positions outside the input are padding. A transposed convolution is the same
// picture read backwards: its result is the window's input.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/shape.h"
#include "ops/op.h"

namespace kw::ops {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const { return end > begin ? end - begin : 0; }
};

struct WindowAxis {
  std::int64_t input = 1;   // length
  std::int64_t output = 1;  // how many windows
  std::int64_t kernel = 1;  // taps
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;

  std::int64_t span() const { return (kernel - 1) * dilation + 1; }
  std::int64_t position(std::int64_t window, std::int64_t tap) const {
    return window * stride - pad_begin + tap * dilation;
  }
  // The taps of a window that lie on the input, and those that lie on it or on its padding.
  Range taps_on_input(std::int64_t window) const;
  Range taps_on_padded(std::int64_t window) const;
  // The windows whose tap lies on the input.
  Range windows_on_input(std::int64_t tap) const;
};

using Window = std::vector<WindowAxis>;

// kernel_shape, strides, dilations, pads and auto_pad.
std::vector<AttributeSpec> window_attributes();

// The window that a call's attributes describe over these spatial lengths. With `ceil` a last window may run off the
// end, but none may start beyond the input and its first padding.
Result<Window> sliding_window(const Call& call, const Shape& input, const Shape& kernel, bool ceil);

// The window of a transposed convolution over these spatial lengths, with output_padding and output_shape; the axes'
// `output` is what the convolution is given, their `input` what it gives.
Result<Window> transposed_window(const Call& call, const Shape& given, const Shape& kernel);

// The spatial axes of a tensor: those after batch and channel.
Shape spatial_axes(const Shape& shape);

// For random cases: sets the attributes of a window over `rank` axes (not kernel_shape) that suit the shapes returned.
struct SampledWindow {
  Shape input;
  Shape kernel;
};
SampledWindow sample_window(Random& random, int rank, Sample& sample);

}  // namespace kw::ops
