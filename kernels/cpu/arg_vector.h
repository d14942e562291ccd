// The place of the largest or smallest element: along rows block by block, then a search in the block that has it;
// along columns with the best of many columns and their places side by side.
//
// serves: ArgMax, ArgMin, Hardmax
// types: float32
#include "parts/reduction.h"
#include "../plain/parts/softmax_rows.h"

KW_TUNE(ARG_BLOCK, 512, 256, 512, 1024, 2048);  // elements of a row, or columns, that are looked at together

struct ForLargest : LargestElement {
  template <class V>
  static auto better(V a, V b) {
    return a > b;
  }
};
struct ForSmallest : SmallestElement {
  template <class V>
  static auto better(V a, V b) {
    return a < b;
  }
};

// Element by element: what NaN gives here is the rule.
template <class F>
inline int64_t place_in_short_row(const float* x, int64_t count, bool last) {
  int64_t place = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (F::better(x[i], x[place]) || (last && !F::better(x[place], x[i]))) place = i;
  }
  return place;
}

// Where `value` stands among the elements from `begin` on, seen from the front or from the back. It is there.
inline int64_t place_of(float value, const float* x, int64_t begin, int64_t end, bool last) {
  using namespace simd;
  if (last) {
    while (x[--end] != value) continue;
    return end;
  }
  const Floats values = splat(value);
  for (; begin + 4 * kLanes <= end; begin += 4 * kLanes) {
    const float* at = x + begin;
    if (any((load(at) == values) | (load(at + kLanes) == values) | (load(at + 2 * kLanes) == values) |
            (load(at + 3 * kLanes) == values))) {
      break;
    }
  }
  for (; begin + kLanes <= end && !any(load(x + begin) == values); begin += kLanes) continue;
  while (x[begin] != value) ++begin;
  return begin;
}

template <class F>
inline int64_t place_in_row(const float* x, int64_t count, bool last) {
  if (count < 2 * simd::kLanes) return place_in_short_row<F>(x, count, last);
  if (last) {
    bool numbers = true;
    for (int64_t i = 0; i < count; ++i) numbers &= x[i] == x[i];
    if (!numbers) return place_in_short_row<F>(x, count, last);
  } else if (x[0] != x[0]) {
    return 0;
  }
  float best = x[0];
  int64_t found = 0;
  for (int64_t begin = 0; begin < count; begin += ARG_BLOCK) {
    const float of_block = fold_row<F>(x + begin, std::min<int64_t>(ARG_BLOCK, count - begin));
    if (!F::better(of_block, best) && !(last && of_block == best)) continue;
    best = of_block;
    found = begin;
  }
  return place_of(best, x, found, std::min(found + ARG_BLOCK, count), last);
}

// Looks at kRows rows, of which the first is number `row`.
template <class F, int kRows>
inline void look_at_rows(const float* x, int64_t pitch, int64_t columns, int32_t row, bool last, float* best,
                         int32_t* places) {
  using namespace simd;
  for (int64_t i = 0; i < columns; i += kLanes) {
    Floats value = load(best + i);
    Ints place = load_as<Ints>(places + i);
    for (int r = 0; r < kRows; ++r) {
      const Floats other = i + kLanes <= columns ? load(x + r * pitch + i) : load_some(x + r * pitch + i, columns - i);
      const Ints taken = last ? ~F::better(value, other) : F::better(other, value);
      value = taken ? other : value;
      place = taken ? splat(row + r) : place;
    }
    store(best + i, value);
    store(places + i, place);
  }
}

template <class F>
inline void places_in_columns(const float* x, const AlongAxis& view, bool last, int64_t* y) {
  float best[ARG_BLOCK];
  int32_t places[ARG_BLOCK];
  for (int64_t begin = 0; begin < view.inner; begin += ARG_BLOCK) {
    const int64_t width = std::min<int64_t>(ARG_BLOCK, view.inner - begin);
    for (int64_t i = 0; i < (width + simd::kLanes - 1) / simd::kLanes * simd::kLanes; ++i) {
      best[i] = i < width ? x[begin + i] : 0;
      places[i] = 0;
    }
    const float* from = x + begin;
    int64_t row = 1;
    for (; row + 4 <= view.length; row += 4) {
      look_at_rows<F, 4>(from + row * view.inner, view.inner, width, static_cast<int32_t>(row), last, best, places);
    }
    for (; row < view.length; ++row) {
      look_at_rows<F, 1>(from + row * view.inner, view.inner, width, static_cast<int32_t>(row), last, best, places);
    }
    for (int64_t i = 0; i < width; ++i) y[begin + i] = places[i];
  }
}

template <class F>
inline void places_along_axis(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<int64_t>& y) {
  const int64_t given = node.integer("axis");
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
  const AlongAxis view = along(x.shape(), axis);
  const bool last = node.integer("select_last_index") != 0;
  const bool keeps = node.integer("keepdims", 1) != 0;
  kw::Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis || keeps) shape.push(i == axis ? 1 : x.shape(i));
  }
  y.allocate(shape);
  for (int64_t o = 0; o < view.outer; ++o) {
    const float* from = x.data() + o * view.length * view.inner;
    if (view.inner == 1) {
      y[o] = place_in_row<F>(from, view.length, last);
    } else {
      places_in_columns<F>(from, view, last, y.data() + o * view.inner);
    }
  }
}

inline void ArgMax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<int64_t>& y) {
  places_along_axis<ForLargest>(node, x, y);
}

inline void ArgMin(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<int64_t>& y) {
  places_along_axis<ForSmallest>(node, x, y);
}

inline void Hardmax(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  y.allocate(x.shape());
  std::fill(y.begin(), y.end(), 0.0f);
  if (x.count() == 0) return;
  const AlongAxis view = softmax_rows(node, x.shape());
  int64_t* places = node.scratch<int64_t>(view.inner);
  for (int64_t o = 0; o < view.outer; ++o) {
    const int64_t first = o * view.length * view.inner;
    if (view.inner == 1) {
      y[first + place_in_row<ForLargest>(x.data() + first, view.length, false)] = 1;
      continue;
    }
    places_in_columns<ForLargest>(x.data() + first, view, false, places);
    for (int64_t i = 0; i < view.inner; ++i) y[first + places[i] * view.inner + i] = 1;
  }
}
