#pragma once

#include <kernelwright.h>

#include <string_view>
#include <vector>

#include "wide.h"

// ---- Recurrent layers: what RNN, GRU and LSTM share.

// A function that gates and states go through. alpha and beta are NaN where it has none.
template <class W>
struct Activation {
  std::string_view name;
  W alpha, beta;
  W (*f)(W x, W alpha, W beta);
  W clip = INFINITY;  // what enters is cut to -clip ... clip

  W operator()(W x) const { return f(std::min(std::max(x, -clip), clip), alpha, beta); }
};

template <class W>
Activation<W> activation_of(std::string_view name) {
  constexpr W none = NAN;
  static const Activation<W> all[] = {
      {"Relu", none, none, [](W x, W, W) { return std::max(x, W(0)); }},
      {"Tanh", none, none, [](W x, W, W) { return std::tanh(x); }},
      {"Sigmoid", none, none, [](W x, W, W) { return 1 / (1 + std::exp(-x)); }},
      {"Affine", 1, 0, [](W x, W alpha, W beta) { return alpha * x + beta; }},
      {"LeakyRelu", W(0.01), none, [](W x, W alpha, W) { return x >= 0 ? x : alpha * x; }},
      {"ThresholdedRelu", 1, none, [](W x, W alpha, W) { return x >= alpha ? x : W(0); }},
      {"ScaledTanh", 1, 1, [](W x, W alpha, W beta) { return alpha * std::tanh(beta * x); }},
      {"HardSigmoid", W(0.2), W(0.5),
       [](W x, W alpha, W beta) { return std::min(std::max(alpha * x + beta, W(0)), W(1)); }},
      {"Elu", 1, none, [](W x, W alpha, W) { return x >= 0 ? x : alpha * std::expm1(x); }},
      {"Softsign", none, none, [](W x, W, W) { return x / (1 + std::abs(x)); }},
      {"Softplus", none, none, [](W x, W, W) { return std::max(x, W(0)) + std::log1p(std::exp(-std::abs(x))); }},
  };
  for (const Activation<W>& known : all) {
    if (known.name == name) return known;
  }
  return all[0];
}

// The functions of all directions, direction by direction; `defaults` are those of one. activation_alpha and
// activation_beta are used up by the functions that have such a parameter.
template <class W>
std::vector<Activation<W>> activations_of(const kw::Node& node, const std::vector<const char*>& defaults) {
  const kw::List<const char*> names = node.texts("activations");
  const kw::List<double> alphas = node.reals("activation_alpha"), betas = node.reals("activation_beta");
  const std::size_t directions = node.is("direction", "bidirectional") ? 2 : 1;
  std::vector<Activation<W>> result;
  int64_t alpha = 0, beta = 0;
  for (std::size_t i = 0; i < directions * defaults.size(); ++i) {
    Activation<W> next =
        activation_of<W>(names.empty() ? defaults[i % defaults.size()] : names[static_cast<int64_t>(i)]);
    if (!std::isnan(next.alpha) && alpha < alphas.size()) next.alpha = W(alphas[alpha++]);
    if (!std::isnan(next.beta) && beta < betas.size()) next.beta = W(betas[beta++]);
    // Sums are clipped; the cell, which enters the last function of an LSTM, is not.
    if (node.has("clip") && i % defaults.size() < 2) next.clip = W(node.real("clip"));
    result.push_back(next);
  }
  return result;
}

// The sizes and weights of a layer, and the sums that its gates are made of.
template <class T>
struct RecurrentLayer {
  using W = Wide<T>;
  kw::Tensor<const T> x, w, r, bias;
  bool batch_first;
  int64_t length, batch, input, hidden, directions, rows;  // rows: of W and R, those of all gates

  RecurrentLayer(const kw::Node& node, kw::Tensor<const T> x_, kw::Tensor<const T> w_, kw::Tensor<const T> r_,
                 kw::Tensor<const T> bias_)
      : x(x_), w(w_), r(r_), bias(bias_), batch_first(node.integer("layout") != 0) {
    length = x.shape(batch_first ? 1 : 0);
    batch = x.shape(batch_first ? 0 : 1);
    input = x.shape(2);
    hidden = r.shape(2);
    directions = r.shape(0);
    rows = r.shape(1);
  }

  static W dot(const T* a, const auto* b, int64_t count) {
    W sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += W(a[i]) * W(b[i]);
    return sum;
  }
  W bias_of(int64_t d, int64_t row) const { return bias.given() ? W(bias[d * 2 * rows + row]) : W(0); }
  // Of unit k of a gate in direction d: W x plus its bias, and R h plus its bias.
  W from_input(int64_t d, int64_t gate, int64_t k, const T* step) const {
    const int64_t row = gate * hidden + k;
    return dot(w.data() + (d * rows + row) * input, step, input) + bias_of(d, row);
  }
  W from_state(int64_t d, int64_t gate, int64_t k, const W* h) const {
    const int64_t row = gate * hidden + k;
    return dot(r.data() + (d * rows + row) * hidden, h, hidden) + bias_of(d, rows + row);
  }
};

// Walks every sequence in every direction. `step(d, x, state)` makes the next state of the one before it: h, and for an
// LSTM c behind it. The initial states and the results for the last ones come in that order.
template <class T, class Step>
void run_layer(const kw::Node& node, const RecurrentLayer<T>& layer, kw::Tensor<const int32_t> lengths,
               const std::vector<kw::Tensor<const T>>& initial, kw::Tensor<T>& y,
               const std::vector<kw::Tensor<T>*>& last, Step step) {
  using W = Wide<T>;
  const int64_t length = layer.length, batch = layer.batch, directions = layer.directions, hidden = layer.hidden;
  const bool batch_first = layer.batch_first;
  y.allocate(batch_first ? kw::Shape{batch, length, directions, hidden} : kw::Shape{length, directions, batch, hidden});
  for (kw::Tensor<T>* result : last) {
    result->allocate(batch_first ? kw::Shape{batch, directions, hidden} : kw::Shape{directions, batch, hidden});
  }
  std::fill(y.begin(), y.end(), T(0));  // what lies after the end of a sequence stays so
  const std::size_t states = last.size();
  W* state = node.scratch<W>(hidden * static_cast<int64_t>(states));
  for (int64_t d = 0; d < directions; ++d) {
    const bool backward = d == 1 || node.is("direction", "reverse");
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t first = (batch_first ? b * directions + d : d * batch + b) * hidden;
      for (std::size_t s = 0; s < states; ++s) {
        W* own = state + static_cast<int64_t>(s) * hidden;
        for (int64_t k = 0; k < hidden; ++k) own[k] = initial[s].given() ? W(initial[s][first + k]) : W(0);
      }
      const int64_t steps = lengths.given() ? lengths[b] : length;
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t t = backward ? steps - 1 - i : i;
        step(d, layer.x.data() + (batch_first ? b * length + t : t * batch + b) * layer.input, state);
        T* to =
            y.data() + (batch_first ? (b * length + t) * directions + d : (t * directions + d) * batch + b) * hidden;
        for (int64_t k = 0; k < hidden; ++k) to[k] = T(state[k]);
      }
      for (std::size_t s = 0; s < states; ++s) {
        const W* own = state + static_cast<int64_t>(s) * hidden;
        for (int64_t k = 0; k < hidden; ++k) (*last[s])[first + k] = T(own[k]);
      }
    }
  }
}
