// The k best along an axis: a sorted list of the best so far, and vectors of elements passed over where none beats its
// last. Columns are brought into rows first.
//
// serves: TopK
// types: float32
#include "parts/vector.h"
#include "plain/parts/axis.h"

struct Ranked {
  float value;
  int32_t place;
};

// The best `count` of a row in order, of equal ones the first first. For kLargest false, the smallest.
template <bool kLargest>
inline void best_of_row(const float* x, int64_t length, int64_t count, Ranked* found) {
  using namespace simd;
  const auto better = [](auto a, auto b) { return kLargest ? a > b : a < b; };
  int64_t kept = 0;
  const auto offer = [&](int64_t place) {
    const float value = x[place];
    if (kept == count && !better(value, found[count - 1].value)) return;
    int64_t at = kept < count ? kept++ : count - 1;
    for (; at > 0 && better(value, found[at - 1].value); --at) found[at] = found[at - 1];
    found[at] = {value, static_cast<int32_t>(place)};
  };
  int64_t i = 0;
  for (; i < length && (kept < count || i % kLanes != 0); ++i) offer(i);
  for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
    const Floats last = splat(found[count - 1].value);
    if (!any(better(load(x + i), last) | better(load(x + i + kLanes), last))) continue;
    for (int k = 0; k < 2 * kLanes; ++k) offer(i + k);
  }
  for (; i < length; ++i) offer(i);
}

// Many of a row: a heap whose top is the last of the best so far, sorted in the end.
template <bool kLargest>
inline void many_of_row(const float* x, int64_t length, int64_t count, Ranked* found) {
  const auto before = [](const Ranked& a, const Ranked& b) {
    if (a.value == b.value) return a.place < b.place;
    return kLargest ? a.value > b.value : a.value < b.value;
  };
  for (int64_t i = 0; i < count; ++i) found[i] = {x[i], static_cast<int32_t>(i)};
  std::make_heap(found, found + count, before);
  for (int64_t i = count; i < length; ++i) {
    const Ranked next{x[i], static_cast<int32_t>(i)};
    if (!before(next, found[0])) continue;
    std::pop_heap(found, found + count, before);
    found[count - 1] = next;
    std::push_heap(found, found + count, before);
  }
  std::sort_heap(found, found + count, before);
}

KW_TUNE(TOP_K_LIST, 32, 8, 16, 32, 64);  // up to so many are kept as a list

template <bool kLargest>
inline void top_k(const kw::Node& node, kw::Tensor<const float> x, const AlongAxis& view, int64_t count, float* values,
                  int64_t* indices) {
  constexpr int64_t kTogether = 2 * simd::kLanes;  // columns that are brought into rows at once
  Ranked* found = node.scratch<Ranked>(count);
  float* rows = view.inner == 1 ? nullptr : node.scratch<float>(kTogether * view.length);
  for (int64_t o = 0; o < view.outer; ++o) {
    const float* from = x.data() + o * view.length * view.inner;
    for (int64_t i = 0; i < view.inner; ++i) {
      const float* row = from;
      if (view.inner > 1) {
        if (i % kTogether == 0) {
          const int64_t width = std::min(kTogether, view.inner - i);
          for (int64_t k = 0; k < view.length; ++k) {
            for (int64_t c = 0; c < width; ++c) rows[c * view.length + k] = from[k * view.inner + i + c];
          }
        }
        row = rows + i % kTogether * view.length;
      }
      if (count <= TOP_K_LIST) {
        best_of_row<kLargest>(row, view.length, count, found);
      } else {
        many_of_row<kLargest>(row, view.length, count, found);
      }
      for (int64_t n = 0; n < count; ++n) {
        const int64_t to = (o * count + n) * view.inner + i;
        values[to] = found[n].value;
        indices[to] = found[n].place;
      }
    }
  }
}

inline void TopK(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> k,
                 kw::Tensor<float>& values, kw::Tensor<int64_t>& indices) {
  const int axis = static_cast<int>(node.integer("axis", -1));
  const int64_t count = k.given() ? k[0] : node.integer("k");
  kw::Shape shape = x.shape();
  shape[axis] = count;
  values.allocate(shape);
  indices.allocate(shape);
  if (values.count() == 0) return;
  const AlongAxis view = along(x.shape(), axis);
  if (node.integer("largest", 1) != 0) {
    top_k<true>(node, x, view, count, values.data(), indices.data());
  } else {
    top_k<false>(node, x, view, count, values.data(), indices.data());
  }
}
