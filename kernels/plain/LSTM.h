#pragma once

#include <kernelwright.h>

#include "parts/recurrent.h"

// LSTM: a long short-term memory: gates decide what enters, stays in and leaves a cell.
template <class T>
void LSTM(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> w, kw::Tensor<const T> r,
          kw::Tensor<const T> bias, kw::Tensor<const int32_t> lengths, kw::Tensor<const T> initial_h,
          kw::Tensor<const T> initial_c, kw::Tensor<const T> peepholes, kw::Tensor<T>& y, kw::Tensor<T>& y_h,
          kw::Tensor<T>& y_c) {
  using W = Wide<T>;
  constexpr int64_t kIn = 0, kOut = 1, kForget = 2, kCell = 3;
  const RecurrentLayer<T> layer(node, x, w, r, bias);
  const int64_t hidden = layer.hidden;
  const auto functions = activations_of<W>(node, {"Sigmoid", "Tanh", "Tanh"});
  const bool input_forget = node.integer("input_forget") != 0;
  W* next = node.scratch<W>(hidden);
  run_layer(node, layer, lengths, {initial_h, initial_c}, y, {&y_h, &y_c}, [&](int64_t d, const T* step, W* h) {
    const auto* f = functions.data() + 3 * d;
    W* c = h + hidden;
    const auto sum = [&](int64_t gate, int64_t k) {
      return layer.from_input(d, gate, k, step) + layer.from_state(d, gate, k, h);
    };
    // What a gate sees of the cell.
    const auto peep = [&](int64_t gate, int64_t k) {
      return peepholes.given() ? W(peepholes[(d * 3 + gate) * hidden + k]) * c[k] : W(0);
    };
    for (int64_t k = 0; k < hidden; ++k) {
      const W in = f[0](sum(kIn, k) + peep(kIn, k));
      const W forget = input_forget ? 1 - in : f[0](sum(kForget, k) + peep(kForget, k));
      c[k] = forget * c[k] + in * f[1](sum(kCell, k));
      next[k] = f[0](sum(kOut, k) + peep(kOut, k)) * f[2](c[k]);
    }
    std::copy_n(next, hidden, h);
  });
}
