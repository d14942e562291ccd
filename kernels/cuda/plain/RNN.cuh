#pragma once

#include "recurrent.cuh"

// RNN: a recurrent layer: the state is a function of the input and the state before.
using RNN_node = Recurrent;

#ifdef __CUDACC__
template <class T, class L>
__device__ void RNN_row(const RNN_node& of, int64_t row, const T* x, const T* w, const T* r, const T* bias,
                        const L* lengths, const T* start, T* y, T* last, uint8_t* room) {
  const T* no_cell = nullptr;
  T* no_last_cell = nullptr;
  walk_sequence(of, row, x, w, r, bias, lengths, start, no_cell, y, last, no_last_cell, room,
                [&](const RecurrentGate<T>& gate, double* h, double*, double* next) {
                  const RecurrentFunction& f = of.functions[gate.direction];
                  for (int64_t k = 0; k < of.hidden; ++k) {
                    next[k] = activated(f, gate.from_input(0, k) + gate.from_state(0, k, h));
                  }
                  for (int64_t k = 0; k < of.hidden; ++k) h[k] = next[k];
                });
}
#else
template <int outputs>
RNN_node RNN_plan(const kw::Node& node, kw::Shape (&y)[outputs], const Given& x, const Given&, const Given& r,
                  const Given&, const Given&, const Given&) {
  return recurrent_layer(node, y, outputs, x, r, "T", "");
}
#endif
