#pragma once

#include "recurrent.cuh"

// GRU: a gated recurrent layer: an update and a reset gate decide what of the state stays.
using GRU_node = Recurrent;

#ifdef __CUDACC__
template <class T, class L>
__device__ void GRU_row(const GRU_node& of, int64_t row, const T* x, const T* w, const T* r, const T* bias,
                        const L* lengths, const T* start, T* y, T* last, uint8_t* room) {
  constexpr int64_t kUpdate = 0, kReset = 1, kHidden = 2;
  const T* no_cell = nullptr;
  T* no_last_cell = nullptr;
  walk_sequence(of, row, x, w, r, bias, lengths, start, no_cell, y, last, no_last_cell, room,
                [&](const RecurrentGate<T>& gate, double* h, double* reset, double* kept) {
                  const RecurrentFunction* f = of.functions + 2 * gate.direction;
                  double* next = kept + of.hidden;
                  for (int64_t k = 0; k < of.hidden; ++k) {
                    reset[k] = activated(f[0], gate.from_input(kReset, k) + gate.from_state(kReset, k, h));
                    kept[k] = reset[k] * h[k];
                  }
                  for (int64_t k = 0; k < of.hidden; ++k) {
                    const double update = activated(f[0], gate.from_input(kUpdate, k) + gate.from_state(kUpdate, k, h));
                    const double old = of.option != 0 ? reset[k] * gate.from_state(kHidden, k, h)
                                                      : gate.from_state(kHidden, k, kept);
                    const double fresh = activated(f[1], gate.from_input(kHidden, k) + old);
                    next[k] = (1 - update) * fresh + update * h[k];
                  }
                  for (int64_t k = 0; k < of.hidden; ++k) h[k] = next[k];
                });
}
#else
template <int outputs>
GRU_node GRU_plan(const kw::Node& node, kw::Shape (&y)[outputs], const Given& x, const Given&, const Given& r,
                  const Given&, const Given&, const Given&) {
  return recurrent_layer(node, y, outputs, x, r, "ST", "linear_before_reset");
}
#endif
