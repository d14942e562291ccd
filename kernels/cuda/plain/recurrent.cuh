#pragma once

#include "common.cuh"

// What RNN, GRU and LSTM share. One thread walks one sequence in one direction; its states lie in the room.
struct RecurrentFunction {
  int64_t kind;  // the first letters of its name, below
  double alpha, beta, clip;
};
struct Recurrent {
  int64_t rows, room;
  int64_t length, batch, input, hidden, directions, gates, batch_first, reverse;
  int64_t option;  // input_forget of an LSTM, linear_before_reset of a GRU
  RecurrentFunction functions[6];
};

#ifdef __CUDACC__
__device__ inline double activated(const RecurrentFunction& f, double x) {
  x = fmin(fmax(x, -f.clip), f.clip);
  switch (f.kind) {
    case 'R':
      return fmax(x, 0.0);
    case 'S':
      return 1 / (1 + exp(-x));
    case 'A':
      return f.alpha * x + f.beta;
    case 'L':
      return x >= 0 ? x : f.alpha * x;
    case 'H':
      return x >= f.alpha ? x : 0;
    case 'C':
      return f.alpha * tanh(f.beta * x);
    case 'D':
      return fmin(fmax(f.alpha * x + f.beta, 0.0), 1.0);
    case 'E':
      return x >= 0 ? x : f.alpha * expm1(x);
    case 'G':
      return x / (1 + fabs(x));
    case 'P':
      return fmax(x, 0.0) + log1p(exp(-fabs(x)));
    default:
      return tanh(x);
  }
}

// Of unit k of a gate: W x plus its bias, and R h plus its bias.
template <class T>
struct RecurrentGate {
  const Recurrent& of;
  const T *x, *w, *r, *bias;
  int64_t direction;

  __device__ double from_input(int64_t gate, int64_t k) const {
    const int64_t row = gate * of.hidden + k, all = of.gates * of.hidden;
    double sum = bias == nullptr ? 0 : double(bias[direction * 2 * all + row]);
    const T* weights = w + (direction * all + row) * of.input;
    for (int64_t i = 0; i < of.input; ++i) sum += double(weights[i]) * double(x[i]);
    return sum;
  }
  __device__ double from_state(int64_t gate, int64_t k, const double* h) const {
    const int64_t row = gate * of.hidden + k, all = of.gates * of.hidden;
    double sum = bias == nullptr ? 0 : double(bias[direction * 2 * all + all + row]);
    const T* weights = r + (direction * all + row) * of.hidden;
    for (int64_t i = 0; i < of.hidden; ++i) sum += double(weights[i]) * h[i];
    return sum;
  }
};

// `step(gates, h, c, more)` makes the next state; c and more are memory of as many units as h. `last` and `last_c` are
// null where nobody wants them, `start_c` where there is no cell.
template <class T, class L, class Step>
__device__ void walk_sequence(const Recurrent& of, int64_t row, const T* x, const T* w, const T* r, const T* bias,
                              const L* lengths, const T* start, const T* start_c, T* y, T* last, T* last_c,
                              uint8_t* room, Step step) {
  const int64_t d = row / of.batch, b = row % of.batch, hidden = of.hidden;
  double* h = reinterpret_cast<double*>(room) + row * 5 * hidden;
  double* c = h + hidden;
  const int64_t first = (of.batch_first != 0 ? b * of.directions + d : d * of.batch + b) * hidden;
  for (int64_t k = 0; k < hidden; ++k) {
    h[k] = start == nullptr ? 0 : double(start[first + k]);
    c[k] = start_c == nullptr ? 0 : double(start_c[first + k]);
  }
  const int64_t steps = lengths == nullptr ? of.length : int64_t(lengths[b]);
  const bool backward = d == 1 || of.reverse != 0;
  const auto place = [&](int64_t t) {
    const int64_t at = of.batch_first != 0 ? (b * of.length + t) * of.directions + d : (t * of.directions + d) * of.batch + b;
    return at * hidden;
  };
  for (int64_t t = steps; t < of.length && y != nullptr; ++t) {
    for (int64_t k = 0; k < hidden; ++k) y[place(t) + k] = T(0);
  }
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backward ? steps - 1 - i : i;
    const T* now = x + (of.batch_first != 0 ? b * of.length + t : t * of.batch + b) * of.input;
    step(RecurrentGate<T>{of, now, w, r, bias, d}, h, c, c + hidden);
    for (int64_t k = 0; k < hidden && y != nullptr; ++k) y[place(t) + k] = T(h[k]);
  }
  for (int64_t k = 0; k < hidden; ++k) {
    if (last != nullptr) last[first + k] = T(h[k]);
    if (last_c != nullptr) last_c[first + k] = T(c[k]);
  }
}
#else
// `usual`: the functions of one direction by their kinds; y gets the shapes of all states and of the last ones.
inline Recurrent recurrent_layer(const kw::Node& node, kw::Shape* y, int outputs, const Given& x, const Given& r,
                                 const char* usual, const char* option) {
  struct Known {
    const char* name;
    char kind;
    double alpha, beta;
    bool has_alpha, has_beta;
  };
  static const Known known[] = {{"Relu", 'R', 0, 0, false, false},
                                {"Tanh", 'T', 0, 0, false, false},
                                {"Sigmoid", 'S', 0, 0, false, false},
                                {"Affine", 'A', 1, 0, true, true},
                                {"LeakyRelu", 'L', 0.01, 0, true, false},
                                {"ThresholdedRelu", 'H', 1, 0, true, false},
                                {"ScaledTanh", 'C', 1, 1, true, true},
                                {"HardSigmoid", 'D', 0.2, 0.5, true, true},
                                {"Elu", 'E', 1, 0, true, false},
                                {"Softsign", 'G', 0, 0, false, false},
                                {"Softplus", 'P', 0, 0, false, false}};
  Recurrent of{};
  of.batch_first = node.integer("layout");
  of.length = x.shape[of.batch_first != 0 ? 1 : 0];
  of.batch = x.shape[of.batch_first != 0 ? 0 : 1];
  of.input = x.shape[2];
  of.hidden = r.shape[2];
  of.directions = r.shape[0];
  of.gates = of.hidden == 0 ? 0 : r.shape[1] / of.hidden;
  of.reverse = node.is("direction", "reverse") ? 1 : 0;
  of.option = option[0] == 0 ? 0 : node.integer(option);
  of.rows = of.directions * of.batch;
  of.room = of.rows * 5 * of.hidden * 8;
  const kw::List<const char*> names = node.texts("activations");
  const kw::List<double> alphas = node.reals("activation_alpha"), betas = node.reals("activation_beta");
  const int each = static_cast<int>(strlen(usual));
  int64_t alpha = 0, beta = 0;
  for (int i = 0; i < of.directions * each; ++i) {
    for (const Known& one : known) {
      const bool wanted = names.empty() ? one.kind == usual[i % each] : strcmp(one.name, names[i]) == 0;
      if (!wanted) continue;
      RecurrentFunction& f = of.functions[i];
      f = {one.kind, one.alpha, one.beta, INFINITY};
      if (one.has_alpha && alpha < alphas.size()) f.alpha = alphas[alpha++];
      if (one.has_beta && beta < betas.size()) f.beta = betas[beta++];
      // Sums are clipped; the cell, which enters the last function of an LSTM, is not.
      if (node.has("clip") && i % each < 2) f.clip = node.real("clip");
    }
  }
  const kw::Shape all = of.batch_first != 0 ? kw::Shape{of.batch, of.length, of.directions, of.hidden}
                                            : kw::Shape{of.length, of.directions, of.batch, of.hidden};
  const kw::Shape last = of.batch_first != 0 ? kw::Shape{of.batch, of.directions, of.hidden}
                                             : kw::Shape{of.directions, of.batch, of.hidden};
  for (int i = 0; i < outputs; ++i) y[i] = i == 0 ? all : last;
  return of;
}
#endif
