// Convolutions of 8-bit numbers by tiles in registers, four channels or taps in one dot product of bytes.
//
// serves: ConvInteger, QLinearConv
// types: float32, int8, uint8, int32
// when: rank0 <= 5
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/parts/of_slice.h"
#include "parts/byte_convolution.h"

namespace conv_bytes_parts {

template <class F>
inline const void* prepared(const kw::Call& call, const kw::Node& node, kw::Tensor<const F> w) {
  if (!w.given() || w.count() == 0) return nullptr;
  convolution::Axes axes;  // how words are made follows from the kernel alone
  for (int i = 2; i < w.rank(); ++i) axes[3 - w.rank() + i].kernel = w.shape(i);
  const int64_t groups = node.integer("group", 1);
  const bytes::Words words(axes, w.shape(1));
  int32_t* const packed = call.keep<int32_t>(bytes::weights_size(words, w.shape(0)));
  bytes::pack_weights(call, words, w.data(), groups, w.shape(0) / groups, packed);
  return packed;
}

template <class X, class F, class Y>
inline convolution::Axes shaped(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const F> w, kw::Tensor<Y>& y) {
  const convolution::Axes axes = convolution::axes_of(node, x.shape(), w.shape());
  kw::Shape shape{x.shape(0), w.shape(0)};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  return axes;
}

}  // namespace conv_bytes_parts

template <class X, class F>
inline const void* prepare_ConvInteger(const kw::Call& call, const kw::Node& node, kw::Tensor<const X>,
                                       kw::Tensor<const F> w, kw::Tensor<const X>, kw::Tensor<const F>) {
  return conv_bytes_parts::prepared(call, node, w);
}
template <class X, class F>
inline void ConvInteger(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const F> w, kw::Tensor<const X> x_zero,
                        kw::Tensor<const F> w_zero, kw::Tensor<int32_t>& y, const void* kept) {
  const convolution::Axes axes = conv_bytes_parts::shaped(node, x, w, y);
  if (y.count() == 0) return;
  bytes::convolve(node, axes, x, of_slice(x_zero, 0), w, w_zero, kept,
                  [&](int64_t, int64_t to, bytes::Unsigned sums, int64_t count)
                      KW_IN_PLACE { bytes::store_sums(sums, y.data() + to, count); });
}

template <class X, class S, class F, class Y, class B>
inline const void* prepare_QLinearConv(const kw::Call& call, const kw::Node& node, kw::Tensor<const X>,
                                       kw::Tensor<const S>, kw::Tensor<const X>, kw::Tensor<const F> w,
                                       kw::Tensor<const S>, kw::Tensor<const F>, kw::Tensor<const S>,
                                       kw::Tensor<const Y>, kw::Tensor<const B>) {
  return conv_bytes_parts::prepared(call, node, w);
}
// A bias of real numbers is what DequantizeLinear made (compose/quantized_products.h).
template <class X, class S, class F, class Y, class B>
inline void QLinearConv(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const S> x_scale,
                        kw::Tensor<const X> x_zero, kw::Tensor<const F> w, kw::Tensor<const S> w_scale,
                        kw::Tensor<const F> w_zero, kw::Tensor<const S> y_scale, kw::Tensor<const Y> y_zero,
                        kw::Tensor<const B> bias, kw::Tensor<Y>& y, const void* kept) {
  using namespace bytes;
  const convolution::Axes axes = conv_bytes_parts::shaped(node, x, w, y);
  if (y.count() == 0) return;
  const float zero = y_zero[0];
  bytes::convolve(node, axes, x, of_slice(x_zero, 0), w, w_zero, kept,
                  [&](int64_t f, int64_t to, Unsigned sums, int64_t count) KW_IN_PLACE {
                    const float scale = x_scale[0] * of_slice(w_scale, f) / y_scale[0];
                    float more = 0;
                    if constexpr (std::is_same_v<B, float>) {
                      if (bias.given()) more = bias[f] / y_scale[0];
                    } else {
                      if (bias.given()) sums += static_cast<uint32_t>(bias[f]);
                    }
                    store_rounded(simd::converted(Ints(sums)) * scale + more, zero, y.data() + to, count);
                  });
}
