// How the tensors of a convolution divide into groups, channels and windows, and the sums of products over them: what
// convolutions of reals and of integers share.
//
// A convolution and a transposed one are the same sums of products, x[position under tap] * w[tap], gathered at the
// window or scattered from it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/shape.h"
#include "ops/op.h"
#include "ops/window.h"

namespace kw::ops {

struct ConvolutionShape {
  std::int64_t batch, groups, in, out;  // in and out: channels of one group
  std::int64_t x_size, w_size, y_size;  // elements of one channel, of one kernel
  bool transposed;
  Window window;
  Shape result;

  // Products that go into one element of the result, padding counted.
  std::int64_t terms() const { return in * w_size; }

  // Calls f(x channel, kernel, y channel) for every pair of channels that a kernel joins, with the flat indices of
  // their first elements.
  template <class F>
  void each(F&& f) const {
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t g = 0; g < groups; ++g) {
        for (std::int64_t o = 0; o < out; ++o) {
          for (std::int64_t i = 0; i < in; ++i) {
            const std::int64_t x = (n * groups + g) * in + i;
            const std::int64_t w = transposed ? (g * in + i) * out + o : (g * out + o) * in + i;
            const std::int64_t y = (n * groups + g) * out + o;
            f(static_cast<std::size_t>(x * x_size), static_cast<std::size_t>(w * w_size),
              static_cast<std::size_t>(y * y_size));
          }
        }
      }
    }
  }

  // Adds the sums of products to y.
  void add(const std::vector<double>& x, const std::vector<double>& w, std::vector<double>& y) const;
};

// By the call's attributes (those of a window, and group). `bias` may be null.
Result<ConvolutionShape> convolution_shape(const Call& call, const Shape& x, const Shape& w, const Shape* bias,
                                           bool transposed);

// For random cases: shapes that fit together, and the attributes that go with them.
struct SampledConvolution {
  Shape x;
  Shape w;
  std::int64_t features = 0;
};
SampledConvolution sample_convolution(Random& random, bool transposed, Sample& sample);

}  // namespace kw::ops
