// Recurrent layers: the weights of all gates turned and packed once, so that a step is one row times a matrix in
// vectors, and a vector of units goes through its functions together.
//
// serves: RNN, LSTM, GRU
// types: float32
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/GRU.h"
#include "../plain/LSTM.h"
#include "../plain/RNN.h"
#include "parts/math_hyperbolic.h"

namespace recurrent {

using simd::Floats;
using simd::kLanes;

// A layer in memory: for each direction the biases, then a row for each input and each unit of the state. In a row all
// gates of a vector of units stand together, before those of the next.
struct Layout {
  int64_t input, hidden, directions, gates;

  int64_t vectors() const { return (hidden + kLanes - 1) / kLanes; }  // of units
  int64_t row() const { return vectors() * gates * kLanes; }
  int64_t direction() const { return (1 + input + hidden) * row(); }
  int64_t place(int64_t gate, int64_t unit) const { return (unit / kLanes * gates + gate) * kLanes + unit % kLanes; }
};
inline Layout layout_of(kw::Tensor<const float> w, kw::Tensor<const float> r) {
  return {w.shape(2), r.shape(2), r.shape(0), r.shape(2) == 0 ? 1 : r.shape(1) / r.shape(2)};
}

// Before the first direction: a vector that says whether biases are in it.
inline int64_t packed_size(const Layout& layout) { return kLanes + layout.directions * layout.direction(); }

inline void pack(const Layout& layout, kw::Tensor<const float> w, kw::Tensor<const float> r,
                 kw::Tensor<const float> bias, float* to) {
  std::fill_n(to, packed_size(layout), 0.0f);
  to[0] = bias.given();
  to += kLanes;
  const int64_t rows = layout.gates * layout.hidden;
  for (int64_t d = 0; d < layout.directions; ++d, to += layout.direction()) {
    for (int64_t i = 0; i < rows; ++i) {
      float* column = to + layout.place(i / layout.hidden, i % layout.hidden);
      if (bias.given()) *column = bias[d * 2 * rows + i] + bias[(d * 2 + 1) * rows + i];
      for (int64_t k = 0; k < layout.input; ++k) {
        column[(1 + k) * layout.row()] = w[(d * rows + i) * layout.input + k];
      }
      for (int64_t k = 0; k < layout.hidden; ++k) {
        column[(1 + layout.input + k) * layout.row()] = r[(d * rows + i) * layout.hidden + k];
      }
    }
  }
}

inline const void* prepare(const kw::Call& call, kw::Tensor<const float> w, kw::Tensor<const float> r,
                           kw::Tensor<const float> bias) {
  if (!w.given() || !r.given()) return nullptr;
  const Layout layout = layout_of(w, r);
  float* packed = call.keep<float>(packed_size(layout));
  pack(layout, w, r, bias, packed);
  return packed;
}

// What was kept, or packed now: a bias that was not constant was not there.
inline const float* packed(const kw::Node& node, const Layout& layout, kw::Tensor<const float> w,
                           kw::Tensor<const float> r, kw::Tensor<const float> bias, const void* kept) {
  const auto* ready = static_cast<const float*>(kept);
  if (ready == nullptr || (bias.given() && ready[0] == 0)) {
    float* fresh = node.scratch<float>(packed_size(layout));
    pack(layout, w, r, bias, fresh);
    ready = fresh;
  }
  return ready + kLanes;
}

// kVectors vectors of the sums of all gates, in kChains partial sums each: enough to keep the processor busy.
template <int kVectors>
inline const float* some_sums(const Layout& layout, const float* packed, const float* x, const float* h, float* to) {
  constexpr int kChains = kVectors >= 8 ? 1 : kVectors >= 2 ? 2 : 4;
  Floats sums[kChains][kVectors] = {};
  KW_UNROLL for (int v = 0; v < kVectors; ++v) sums[0][v] = simd::load(packed + v * kLanes);
  const int64_t row = layout.row();
  const float* from = packed + row;
  const auto add = [&](const float* factors, int64_t count) {
    int64_t k = 0;
    for (; k + kChains <= count; k += kChains) {
      KW_UNROLL for (int c = 0; c < kChains; ++c, from += row) {
        KW_UNROLL for (int v = 0; v < kVectors; ++v) {
          sums[c][v] = simd::fma(simd::splat(factors[k + c]), simd::load(from + v * kLanes), sums[c][v]);
        }
      }
    }
    for (; k < count; ++k, from += row) {
      KW_UNROLL for (int v = 0; v < kVectors; ++v) {
        sums[0][v] = simd::fma(simd::splat(factors[k]), simd::load(from + v * kLanes), sums[0][v]);
      }
    }
  };
  add(x, layout.input);
  add(h, layout.hidden);
  KW_UNROLL for (int v = 0; v < kVectors; ++v) {
    Floats sum = sums[0][v];
    if constexpr (kChains == 2) sum += sums[1][v];
    if constexpr (kChains == 4) sum = (sum + sums[1][v]) + (sums[2][v] + sums[3][v]);
    simd::store(to + v * kLanes, sum);
  }
  return packed + kVectors * kLanes;
}

inline void all_sums(const Layout& layout, const float* packed, const float* x, const float* h, float* to) {
  int64_t left = layout.row() / kLanes;
  const auto some = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
    for (; left >= kVectors; left -= kVectors, to += kVectors * kLanes) {
      packed = some_sums<kVectors>(layout, packed, x, h, to);
    }
  };
  some(std::integral_constant<int, 8>());
  some(std::integral_constant<int, 4>());
  some(std::integral_constant<int, 3>());
  some(std::integral_constant<int, 2>());
  some(std::integral_constant<int, 1>());
}

// The functions that are here in vectors.
enum class Curve : char { relu, tanh, sigmoid, other };
struct Functions {
  Curve curves[6];
  float clip;
  bool known = true;

  Floats operator()(int i, Floats x) const {
    switch (curves[i]) {
      case Curve::tanh:
        return simd::tanh(x);
      case Curve::sigmoid:
        return simd::sigmoid(x);
      default:
        return x < 0 ? simd::splat(0.0f) : x;
    }
  }
  Floats clipped(Floats x) const {
    x = x < -clip ? simd::splat(-clip) : x;
    return x > clip ? simd::splat(clip) : x;
  }
};
// kCount for each direction, the first where nothing is said.
template <int kCount>
inline Functions functions_of(const kw::Node& node, const Curve (&usual)[kCount], int64_t directions) {
  Functions functions;
  const kw::List<const char*> names = node.texts("activations");
  for (int i = 0; i < kCount * directions; ++i) {
    Curve& curve = functions.curves[i];
    curve = usual[i % kCount];
    if (names.empty()) continue;
    curve = strcmp(names[i], "Tanh") == 0      ? Curve::tanh
            : strcmp(names[i], "Sigmoid") == 0 ? Curve::sigmoid
            : strcmp(names[i], "Relu") == 0    ? Curve::relu
                                               : Curve::other;
    functions.known &= curve != Curve::other;
  }
  functions.clip = float(node.real("clip", INFINITY));
  return functions;
}

// Where a layer's tensors have the state of a sequence at a time.
struct Sequences {
  bool batch_first;
  int64_t length, batch, directions, hidden;

  Sequences(const kw::Node& node, const kw::Shape& x, const Layout& layout)
      : batch_first(node.integer("layout") != 0), directions(layout.directions), hidden(layout.hidden) {
    length = x[batch_first ? 1 : 0];
    batch = x[batch_first ? 0 : 1];
  }
  kw::Shape all() const {
    return batch_first ? kw::Shape{batch, length, directions, hidden} : kw::Shape{length, directions, batch, hidden};
  }
  kw::Shape last() const {
    return batch_first ? kw::Shape{batch, directions, hidden} : kw::Shape{directions, batch, hidden};
  }
  int64_t in(int64_t b, int64_t t) const { return batch_first ? b * length + t : t * batch + b; }
  int64_t at(int64_t d, int64_t b, int64_t t) const {
    return (batch_first ? (b * length + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  }
  int64_t at_end(int64_t d, int64_t b) const { return (batch_first ? b * directions + d : d * batch + b) * hidden; }
};

// Walks every sequence in every direction. `step(d, sums, h, c)` makes the next state.
template <class Step>
inline void run(const kw::Node& node, const Layout& layout, const float* packed, kw::Tensor<const float> x,
                kw::Tensor<const int32_t> lengths, kw::Tensor<const float> initial_h, kw::Tensor<const float> initial_c,
                kw::Tensor<float>& y, kw::Tensor<float>& y_h, kw::Tensor<float>* y_c, Step step) {
  const Sequences places(node, x.shape(), layout);
  const int64_t hidden = layout.hidden, units = layout.vectors() * kLanes;
  y.allocate(places.all());
  y_h.allocate(places.last());
  if (y_c != nullptr) y_c->allocate(places.last());
  if (lengths.given()) std::fill(y.begin(), y.end(), 0.0f);  // what lies after the end of a sequence stays so
  float* h = node.scratch<float>(2 * units + layout.row());
  float *c = h + units, *sums = c + units;
  const bool reverse = node.is("direction", "reverse");
  for (int64_t d = 0; d < layout.directions; ++d, packed += layout.direction()) {
    for (int64_t b = 0; b < places.batch; ++b) {
      const int64_t end = places.at_end(d, b);
      std::fill_n(h, 2 * units, 0.0f);
      if (initial_h.given()) std::copy_n(initial_h.data() + end, hidden, h);
      if (initial_c.given()) std::copy_n(initial_c.data() + end, hidden, c);
      const int64_t steps = lengths.given() ? lengths[b] : places.length;
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t t = d == 1 || reverse ? steps - 1 - i : i;
        all_sums(layout, packed, x.data() + places.in(b, t) * layout.input, h, sums);
        step(d, sums, h, c);
        std::copy_n(h, hidden, y.data() + places.at(d, b, t));
      }
      std::copy_n(h, hidden, y_h.data() + end);
      if (y_c != nullptr) std::copy_n(c, hidden, y_c->data() + end);
    }
  }
}

}  // namespace recurrent

inline const void* prepare_RNN(const kw::Call& call, const kw::Node&, kw::Tensor<const float>,
                               kw::Tensor<const float> w, kw::Tensor<const float> r, kw::Tensor<const float> bias,
                               kw::Tensor<const int32_t>, kw::Tensor<const float>) {
  return recurrent::prepare(call, w, r, bias);
}

inline void RNN(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w, kw::Tensor<const float> r,
                kw::Tensor<const float> bias, kw::Tensor<const int32_t> lengths, kw::Tensor<const float> initial_h,
                kw::Tensor<float>& y, kw::Tensor<float>& y_h, const void* kept) {
  using namespace recurrent;
  const Layout layout = layout_of(w, r);
  const Functions f = functions_of(node, {Curve::tanh}, layout.directions);
  if (!f.known) return ::RNN(node, x, w, r, bias, lengths, initial_h, y, y_h);
  const float* weights = packed(node, layout, w, r, bias, kept);
  run(node, layout, weights, x, lengths, initial_h, {}, y, y_h, nullptr,
      [&](int64_t d, const float* sums, float* h, float*) {
        for (int64_t i = 0; i < layout.row(); i += kLanes) {
          simd::store(h + i, f(static_cast<int>(d), f.clipped(simd::load(sums + i))));
        }
      });
}

inline const void* prepare_LSTM(const kw::Call& call, const kw::Node&, kw::Tensor<const float>,
                                kw::Tensor<const float> w, kw::Tensor<const float> r, kw::Tensor<const float> bias,
                                kw::Tensor<const int32_t>, kw::Tensor<const float>, kw::Tensor<const float>,
                                kw::Tensor<const float>) {
  return recurrent::prepare(call, w, r, bias);
}

inline void LSTM(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w, kw::Tensor<const float> r,
                 kw::Tensor<const float> bias, kw::Tensor<const int32_t> lengths, kw::Tensor<const float> initial_h,
                 kw::Tensor<const float> initial_c, kw::Tensor<const float> peepholes, kw::Tensor<float>& y,
                 kw::Tensor<float>& y_h, kw::Tensor<float>& y_c, const void* kept) {
  using namespace recurrent;
  constexpr int kIn = 0, kOut = 1, kForget = 2, kCell = 3;
  const Layout layout = layout_of(w, r);
  const Functions f = functions_of(node, {Curve::sigmoid, Curve::tanh, Curve::tanh}, layout.directions);
  if (!f.known) return ::LSTM(node, x, w, r, bias, lengths, initial_h, initial_c, peepholes, y, y_h, y_c);
  const float* weights = packed(node, layout, w, r, bias, kept);
  const bool input_forget = node.integer("input_forget") != 0;
  run(node, layout, weights, x, lengths, initial_h, initial_c, y, y_h, &y_c,
      [&](int64_t d, const float* sums, float* h, float* c) {
        const int first = 3 * static_cast<int>(d);
        for (int64_t i = 0; i < layout.hidden; i += kLanes, sums += 4 * kLanes) {
          Floats cell = simd::load(c + i);
          // A gate's sum and what it sees of the cell.
          const auto entering = [&](int gate) {
            const Floats sum = simd::load(sums + gate * kLanes);
            if (gate == kCell || !peepholes.given()) return f.clipped(sum);
            const float* peep = peepholes.data() + (d * 3 + gate) * layout.hidden + i;
            return f.clipped(simd::fma(simd::load_some(peep, layout.hidden - i), cell, sum));
          };
          const Floats in = f(first, entering(kIn));
          const Floats forget = input_forget ? 1 - in : f(first, entering(kForget));
          cell = simd::fma(forget, cell, in * f(first + 1, entering(kCell)));
          simd::store(c + i, cell);
          simd::store(h + i, f(first, entering(kOut)) * f(first + 2, cell));
        }
      });
}

// The sums of GRU's new state come apart: what the input gives stands in one gate of the layout, what the state gives
// in another. Where the reset gate works on the state itself (not linear_before_reset), the latter is a product of its
// own.
namespace recurrent {

struct GruLayout {
  static constexpr int kUpdate = 0, kReset = 1, kFromInput = 2, kFromState = 3;
  bool together;  // linear_before_reset
  Layout sums, from_state;

  GruLayout(const kw::Node& node, kw::Tensor<const float> w, kw::Tensor<const float> r)
      : together(node.integer("linear_before_reset") != 0),
        sums{w.shape(2), r.shape(2), r.shape(0), together ? 4 : 3},
        from_state{0, r.shape(2), r.shape(0), 1} {}
  int64_t size() const { return packed_size(sums) + (together ? 0 : from_state.directions * from_state.direction()); }
  const float* second(const float* packed) const { return packed + sums.directions * sums.direction(); }
};

inline void pack(const GruLayout& layout, kw::Tensor<const float> w, kw::Tensor<const float> r,
                 kw::Tensor<const float> bias, float* to) {
  const int64_t hidden = layout.sums.hidden, input = layout.sums.input, rows = 3 * hidden;
  std::fill_n(to, layout.size(), 0.0f);
  to[0] = bias.given();
  float *first = to + kLanes, *second = first + layout.sums.directions * layout.sums.direction();
  for (int64_t d = 0; d < layout.sums.directions; ++d) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t gate = i / hidden, unit = i % hidden;
      const bool is_state = gate == GruLayout::kFromInput;
      float* const column = first + layout.sums.place(gate, unit);
      float* state = column + (1 + input) * layout.sums.row();
      int64_t state_row = layout.sums.row();
      float* state_bias = column;
      if (is_state && layout.together) {
        state_bias = first + layout.sums.place(GruLayout::kFromState, unit);
        state = state_bias + (1 + input) * state_row;
      } else if (is_state) {
        state_bias = second + layout.from_state.place(0, unit);
        state_row = layout.from_state.row();
        state = state_bias + state_row;
      }
      if (bias.given()) {
        *column += bias[d * 2 * rows + i];
        *state_bias += bias[(d * 2 + 1) * rows + i];
      }
      for (int64_t k = 0; k < input; ++k) column[(1 + k) * layout.sums.row()] = w[(d * rows + i) * input + k];
      for (int64_t k = 0; k < hidden; ++k) state[k * state_row] = r[(d * rows + i) * hidden + k];
    }
    first += layout.sums.direction();
    second += layout.from_state.direction();
  }
}

}  // namespace recurrent

inline const void* prepare_GRU(const kw::Call& call, const kw::Node& node, kw::Tensor<const float>,
                               kw::Tensor<const float> w, kw::Tensor<const float> r, kw::Tensor<const float> bias,
                               kw::Tensor<const int32_t>, kw::Tensor<const float>) {
  if (!w.given() || !r.given()) return nullptr;
  const recurrent::GruLayout layout(node, w, r);
  float* const packed = call.keep<float>(layout.size());
  recurrent::pack(layout, w, r, bias, packed);
  return packed;
}

inline void GRU(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w, kw::Tensor<const float> r,
                kw::Tensor<const float> bias, kw::Tensor<const int32_t> lengths, kw::Tensor<const float> initial_h,
                kw::Tensor<float>& y, kw::Tensor<float>& y_h, const void* kept) {
  using namespace recurrent;
  const GruLayout layout(node, w, r);
  const Functions f = functions_of(node, {Curve::sigmoid, Curve::tanh}, layout.sums.directions);
  if (!f.known) return ::GRU(node, x, w, r, bias, lengths, initial_h, y, y_h);
  const auto* ready = static_cast<const float*>(kept);
  if (ready == nullptr || (bias.given() && ready[0] == 0)) {  // a bias that was not constant was not there
    float* const fresh = node.scratch<float>(layout.size());
    pack(layout, w, r, bias, fresh);
    ready = fresh;
  }
  const float* const weights = ready + kLanes;
  const int64_t units = layout.sums.vectors() * kLanes, gates = layout.sums.gates;
  float* const reset_state = node.scratch<float>(2 * units);
  float* const from_state = reset_state + units;
  run(node, layout.sums, weights, x, lengths, initial_h, {}, y, y_h, nullptr,
      [&](int64_t d, const float* sums, float* h, float*) {
        const int first = 2 * static_cast<int>(d);
        const auto sum = [&](int gate, int64_t i) { return simd::load(sums + i * gates + gate * kLanes); };
        const auto reset = [&](int64_t i) { return f(first, f.clipped(sum(GruLayout::kReset, i))); };
        if (!layout.together) {
          for (int64_t i = 0; i < units; i += kLanes) simd::store(reset_state + i, reset(i) * simd::load(h + i));
          all_sums(layout.from_state, layout.second(weights) + d * layout.from_state.direction(), nullptr, reset_state,
                   from_state);
        }
        for (int64_t i = 0; i < units; i += kLanes) {
          const Floats old = layout.together ? reset(i) * sum(GruLayout::kFromState, i) : simd::load(from_state + i);
          const Floats fresh = f(first + 1, f.clipped(sum(GruLayout::kFromInput, i) + old));
          const Floats update = f(first, f.clipped(sum(GruLayout::kUpdate, i)));
          simd::store(h + i, simd::fma(update, simd::load(h + i), (1 - update) * fresh));
        }
      });
}
