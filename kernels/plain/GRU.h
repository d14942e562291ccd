#pragma once

#include <kernelwright.h>

#include "parts/recurrent.h"

// GRU: a gated recurrent layer: an update and a reset gate decide what of the state stays.
template <class T>
void GRU(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> w, kw::Tensor<const T> r,
         kw::Tensor<const T> bias, kw::Tensor<const int32_t> lengths, kw::Tensor<const T> initial_h, kw::Tensor<T>& y,
         kw::Tensor<T>& y_h) {
  using W = Wide<T>;
  constexpr int64_t kUpdate = 0, kReset = 1, kHidden = 2;
  const RecurrentLayer<T> layer(node, x, w, r, bias);
  const int64_t hidden = layer.hidden;
  const auto functions = activations_of<W>(node, {"Sigmoid", "Tanh"});
  const bool linear_before_reset = node.integer("linear_before_reset") != 0;
  W* reset = node.scratch<W>(hidden);
  W* kept = node.scratch<W>(hidden);  // the state times the reset gate
  W* next = node.scratch<W>(hidden);
  run_layer(node, layer, lengths, {initial_h}, y, {&y_h}, [&](int64_t d, const T* step, W* h) {
    const auto* f = functions.data() + 2 * d;
    for (int64_t k = 0; k < hidden; ++k) {
      reset[k] = f[0](layer.from_input(d, kReset, k, step) + layer.from_state(d, kReset, k, h));
      kept[k] = reset[k] * h[k];
    }
    for (int64_t k = 0; k < hidden; ++k) {
      const W update = f[0](layer.from_input(d, kUpdate, k, step) + layer.from_state(d, kUpdate, k, h));
      const W old =
          linear_before_reset ? reset[k] * layer.from_state(d, kHidden, k, h) : layer.from_state(d, kHidden, k, kept);
      const W fresh = f[1](layer.from_input(d, kHidden, k, step) + old);
      next[k] = (1 - update) * fresh + update * h[k];
    }
    std::copy_n(next, hidden, h);
  });
}
