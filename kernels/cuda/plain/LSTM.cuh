#pragma once

#include "recurrent.cuh"

// LSTM: a long short-term memory: gates decide what enters, stays in and leaves a cell.
using LSTM_node = Recurrent;

#ifdef __CUDACC__
template <class T, class L>
__device__ void LSTM_row(const LSTM_node& of, int64_t row, const T* x, const T* w, const T* r, const T* bias,
                         const L* lengths, const T* start, const T* start_c, const T* peepholes, T* y, T* last,
                         T* last_c, uint8_t* room) {
  constexpr int64_t kIn = 0, kOut = 1, kForget = 2, kCell = 3;
  walk_sequence(of, row, x, w, r, bias, lengths, start, start_c, y, last, last_c, room,
                [&](const RecurrentGate<T>& gate, double* h, double* c, double* next) {
                  const RecurrentFunction* f = of.functions + 3 * gate.direction;
                  const auto sum = [&](int64_t g, int64_t k) { return gate.from_input(g, k) + gate.from_state(g, k, h); };
                  // What a gate sees of the cell.
                  const auto peep = [&](int64_t g, int64_t k) {
                    return peepholes == nullptr ? 0 : double(peepholes[(gate.direction * 3 + g) * of.hidden + k]) * c[k];
                  };
                  for (int64_t k = 0; k < of.hidden; ++k) {
                    const double in = activated(f[0], sum(kIn, k) + peep(kIn, k));
                    const double forget = of.option != 0 ? 1 - in : activated(f[0], sum(kForget, k) + peep(kForget, k));
                    c[k] = forget * c[k] + in * activated(f[1], sum(kCell, k));
                    next[k] = activated(f[0], sum(kOut, k) + peep(kOut, k)) * activated(f[2], c[k]);
                  }
                  for (int64_t k = 0; k < of.hidden; ++k) h[k] = next[k];
                });
}
#else
template <int outputs>
LSTM_node LSTM_plan(const kw::Node& node, kw::Shape (&y)[outputs], const Given& x, const Given&, const Given& r,
                    const Given&, const Given&, const Given&, const Given&, const Given&) {
  return recurrent_layer(node, y, outputs, x, r, "STT", "input_forget");
}
#endif
