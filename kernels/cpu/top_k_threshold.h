// The k best along an axis. A bound that at least k elements reach comes from the best of each of some parts of a row;
// the few that reach it find their places by counting who is before them, which takes no branch that could be guessed
// wrong. Columns are brought into rows first.
//
// serves: TopK
// types: float32
#pragma once

#include <kernelwright.h>

#include "../plain/parts/axis.h"
#include "parts/vector.h"

struct Ranked {
  float value;
  int32_t place;
};

// ---- Of a row its best `count` in order, of equal ones the first first. For kLargest false, the smallest.

constexpr int64_t kRanked = 128;  // elements that are ranked at most

// How many of the first `count` elements of x come before each of them; none is NaN. Reads and writes whole vectors.
template <bool kLargest>
inline void rank(const float* x, int64_t count, int32_t* ranks) {
  using namespace simd;
  Ints lane{};
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  for (int64_t b = 0; b < count; b += kLanes) {
    const Floats mine = load(x + b);
    Ints before{};
    int64_t j = 0;
    for (; j < b; ++j) before -= Ints(kLargest ? splat(x[j]) >= mine : splat(x[j]) <= mine);
    for (; j < std::min<int64_t>(b + kLanes, count); ++j) {
      const Floats other = splat(x[j]);
      before -= Ints(kLargest ? other > mine : other < mine) | (Ints(other == mine) & Ints(lane > int32_t(j - b)));
    }
    for (; j < count; ++j) before -= Ints(kLargest ? splat(x[j]) > mine : splat(x[j]) < mine);
    store(ranks + b, before);
  }
}

// A bound that at least `count` elements of a row reach, from the best of kParts vectors' lanes; false where there is a
// NaN. The row has at least kParts vectors, and these at least `count` lanes.
template <bool kLargest, int kParts>
inline bool bound_of_row(const float* x, int64_t length, int64_t count, float& bound) {
  using namespace simd;
  Floats best[kParts];
  Ints unordered{};
  const auto see = [&](Floats value, Floats& to) {
    to = kLargest ? max(value, to) : min(value, to);
    unordered |= Ints(value != value);
  };
  for (int p = 0; p < kParts; ++p) best[p] = load(x + p * kLanes);
  int64_t i = 0;
  for (; i + kParts * kLanes <= length; i += kParts * kLanes) {
    KW_UNROLL for (int p = 0; p < kParts; ++p) see(load(x + i + p * kLanes), best[p]);
  }
  for (; i < length; i += kLanes) see(load_some(x + i, length - i, kLargest ? -INFINITY : INFINITY), best[0]);
  if (any(unordered)) return false;
  float values[kParts * kLanes], sorted[kParts * kLanes];
  int32_t ranks[kParts * kLanes];
  for (int p = 0; p < kParts; ++p) store(values + p * kLanes, best[p]);
  rank<kLargest>(values, kParts * kLanes, ranks);
  for (int k = 0; k < kParts * kLanes; ++k) sorted[ranks[k]] = values[k];
  bound = sorted[count - 1];
  return true;
}

// The elements that reach the bound, with their places; how many, or -1 where they are too many.
template <bool kLargest>
inline int64_t those_that_reach(const float* x, int64_t length, float bound, float* values, int32_t* places) {
  using namespace simd;
  int64_t found = 0;
  for (int64_t i = 0; i < length; i += kLanes) {
    const int64_t end = std::min<int64_t>(i + kLanes, length);
    if (end == i + kLanes) {
      const Floats some = load(x + i), least = splat(bound);
      if (!any(kLargest ? some >= least : some <= least)) continue;
    }
    if (found + kLanes > kRanked) return -1;
    KW_KEEP_LOOP for (int64_t k = i; k < end; ++k) {
      values[found] = x[k];
      places[found] = static_cast<int32_t>(k);
      found += kLargest ? x[k] >= bound : x[k] <= bound;
    }
  }
  return found;
}

// By rank, into memory for kRanked elements; false where that is no way for this row.
template <bool kLargest>
inline bool ranked_of_row(const float* x, int64_t length, int64_t count, Ranked* sorted) {
  using namespace simd;
  float values[kRanked];
  int32_t places[kRanked], ranks[kRanked];
  int64_t found = length;
  if (length <= 2 * kLanes) {
    for (int64_t i = 0; i < length; ++i) {
      if (x[i] != x[i]) return false;
      values[i] = x[i];
      places[i] = static_cast<int32_t>(i);
    }
  } else {
    float bound = 0;
    const auto bounded = [&]<int kParts>(std::integral_constant<int, kParts>) {
      return length >= kParts * kLanes && bound_of_row<kLargest, kParts>(x, length, count, bound);
    };
    const bool known = count <= kLanes       ? bounded(std::integral_constant<int, 1>())
                       : count <= 2 * kLanes ? bounded(std::integral_constant<int, 2>())
                       : count <= 4 * kLanes ? bounded(std::integral_constant<int, 4>())
                                             : false;
    if (!known) return false;
    found = those_that_reach<kLargest>(x, length, bound, values, places);
    if (found < 0) return false;
  }
  rank<kLargest>(values, found, ranks);
  for (int64_t i = 0; i < found; ++i) sorted[ranks[i]] = {values[i], places[i]};
  return true;
}

// A sorted list of the best so far, and vectors of elements passed over where none beats its last.
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

// A heap whose top is the last of the best so far, sorted in the end.
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

constexpr int64_t kMostOfList = 32;  // up to this number are kept as a list

template <bool kLargest>
inline void top_k(const kw::Node& node, kw::Tensor<const float> x, const AlongAxis& view, int64_t count, float* values,
                  int64_t* indices) {
  constexpr int64_t kTogether = 2 * simd::kLanes;  // columns that are brought into rows at once
  Ranked* found = node.scratch<Ranked>(std::max(count, kRanked));
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
      if (!ranked_of_row<kLargest>(row, view.length, count, found)) {
        const auto by_list_or_heap = count <= kMostOfList ? best_of_row<kLargest> : many_of_row<kLargest>;
        by_list_or_heap(row, view.length, count, found);
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
