#pragma once

#include <kernelwright.h>

#include "parts/recurrent.h"

// RNN: a recurrent layer: the state is a function of the input and the state before.
template <class T>
void RNN(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> w, kw::Tensor<const T> r,
         kw::Tensor<const T> bias, kw::Tensor<const int32_t> lengths, kw::Tensor<const T> initial_h, kw::Tensor<T>& y,
         kw::Tensor<T>& y_h) {
  const RecurrentLayer<T> layer(node, x, w, r, bias);
  const auto functions = activations_of<Wide<T>>(node, {"Tanh"});
  Wide<T>* next = node.scratch<Wide<T>>(layer.hidden);
  run_layer(node, layer, lengths, {initial_h}, y, {&y_h}, [&](int64_t d, const T* step, Wide<T>* h) {
    const auto& f = functions[static_cast<std::size_t>(d)];
    for (int64_t k = 0; k < layer.hidden; ++k) {
      next[k] = f(layer.from_input(d, 0, k, step) + layer.from_state(d, 0, k, h));
    }
    std::copy_n(next, layer.hidden, h);
  });
}
