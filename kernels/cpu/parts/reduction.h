#pragma once

#include <kernelwright.h>

#include "threads.h"
#include "vector.h"

// Reductions along any axes. A shape is first seen as runs of axes that are kept and reduced in turn; what is left in
// the innermost two is either rows, each folded with several accumulators, or columns, folded eight rows at a time into
// a block of results that stays in the first cache. Sums are made of partial sums, so that they keep float's accuracy.

#pragma GCC diagnostic ignored "-Wunused-const-variable"  // not all of what is folded is used

KW_TUNE(REDUCE_ROW, 4096, 1024, 4096, 16384);         // elements of a row whose partial result is made apart
KW_TUNE(REDUCE_BLOCK, 4096, 1024, 2048, 4096, 8192);  // columns that are folded together
// Rows of this many elements are read in four places at once: memory answers one stream at half of its speed.
KW_TUNE(REDUCE_STREAMS_FROM, 65536, 16384, 65536, 1073741824);

constexpr int64_t kBeyondCaches = 8 << 20;  // elements

struct ReductionRuns {
  int rank = 0;
  int64_t length[KW_MAX_RANK];
  bool reduced[KW_MAX_RANK];
  kw::Shape result;
  int64_t terms = 1;   // how many elements go into one result
  bool large = false;  // it does not fit into the caches

  void add(int64_t size, bool is_reduced) {
    if (is_reduced) terms *= size;
    if (size == 1) return;
    if (rank > 0 && reduced[rank - 1] == is_reduced) {
      length[rank - 1] *= size;
    } else {
      length[rank] = size;
      reduced[rank++] = is_reduced;
    }
  }
};

// Without axes all are reduced, unless noop_with_empty_axes says none.
inline ReductionRuns reduction_runs(const kw::Node& node, const kw::Shape& shape, kw::Tensor<const int64_t> axes) {
  const kw::List<int64_t> list = axes.given() ? kw::List<int64_t>{axes.data(), axes.count()} : node.integers("axes");
  unsigned named = list.empty() && node.integer("noop_with_empty_axes") == 0 ? ~0u : 0u;
  for (int64_t axis : list) named |= 1u << (axis < 0 ? axis + shape.rank : axis);
  const bool keeps = node.integer("keepdims", 1) != 0;
  ReductionRuns runs;
  runs.large = shape.count() >= kBeyondCaches;
  for (int axis = 0; axis < shape.rank; ++axis) {
    const bool reduced = (named >> axis & 1) != 0;
    runs.add(shape.dims[axis], reduced);
    if (!reduced || keeps) runs.result.push(reduced ? 1 : shape.dims[axis]);
  }
  return runs;
}

// The same, found once for all calls: null where the shape or the axes are not known before a call.
[[gnu::cold, gnu::noinline]] inline const void* keep_reduction_runs(const kw::Call& call, const kw::Node& node,
                                                                    kw::Tensor<const float> x,
                                                                    kw::Tensor<const int64_t> axes) {
  if (x.rank() == 0 || (axes.rank() > 0 && !axes.given())) return nullptr;
  auto* runs = call.keep<ReductionRuns>(1);
  *runs = reduction_runs(node, x.shape(), axes);
  return runs;
}
inline const ReductionRuns& kept_reduction_runs(const void* kept, const kw::Node& node, const kw::Shape& shape,
                                                kw::Tensor<const int64_t> axes, ReductionRuns& own) {
  if (kept != nullptr) return *static_cast<const ReductionRuns*>(kept);
  own = reduction_runs(node, shape, axes);
  return own;
}

// What is folded: `term` of every element joined with what is there, from kStart on. kNeutral is an element that
// changes nothing. Where kShifted, terms also take a number that belongs to their result.
struct SumOfElements {
  static constexpr float kStart = 0, kNeutral = 0;
  static constexpr bool kShifted = false;
  template <class V>
  static V term(V x, V) {
    return x;
  }
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
};
struct SumOfMagnitudes : SumOfElements {
  static float term(float x, float) { return __builtin_fabsf(x); }
  static simd::Floats term(simd::Floats x, simd::Floats) { return simd::abs(x); }
};
struct SumOfSquares : SumOfElements {
  template <class V>
  static V term(V x, V) {
    return x * x;
  }
};
struct LargestElement : SumOfElements {
  static constexpr float kStart = -INFINITY, kNeutral = -INFINITY;
  template <class V>
  static V join(V best, V value) {  // NaN is passed over
    return value > best ? value : best;
  }
};
struct SmallestElement : SumOfElements {
  static constexpr float kStart = INFINITY, kNeutral = INFINITY;
  template <class V>
  static V join(V best, V value) {
    return value < best ? value : best;
  }
};
struct ProductOfElements : SumOfElements {
  static constexpr float kStart = 1, kNeutral = 1;
  template <class V>
  static V join(V a, V b) {
    return a * b;
  }
};

// The four quarters of a row side by side; each has `quarter` elements, a multiple of two vectors.
template <class F, class Term>
inline simd::Floats fold_quarters(int64_t quarter, const Term& term) {
  using namespace simd;
  constexpr int64_t kPart = std::max(REDUCE_ROW / 4, 2 * kLanes);  // of a quarter, whose partial result is made apart
  const Floats start = splat(F::kStart);
  Floats total = start;
  for (int64_t i = 0; i < quarter;) {
    Floats parts[4] = {start, start, start, start}, more[4] = {start, start, start, start};
    const int64_t end = std::min(i + kPart, quarter);
    KW_KEEP_LOOP
    for (; i < end; i += 2 * kLanes) {
      KW_UNROLL
      for (int64_t q = 0; q < 4; ++q) {
        parts[q] = F::join(parts[q], term(q * quarter + i));
        more[q] = F::join(more[q], term(q * quarter + i + kLanes));
      }
    }
    for (int q = 0; q < 4; ++q) total = F::join(total, F::join(parts[q], more[q]));
  }
  return total;
}

template <class F>
inline float fold_row(const float* x, int64_t count, float shift = 0) {
  using namespace simd;
  if (count < kLanes) {
    float folded = F::kStart;
    for (int64_t i = 0; i < count; ++i) folded = F::join(folded, F::term(x[i], shift));
    return folded;
  }
  const Floats shifts = splat(shift), start = splat(F::kStart);
  const auto term = [&](int64_t at) { return F::term(load(x + at), shifts); };
  Floats total = start;
  int64_t i = 0;
  if (count >= REDUCE_STREAMS_FROM) {
    const int64_t quarter = count / (8 * kLanes) * (2 * kLanes);
    total = fold_quarters<F>(quarter, term);
    i = 4 * quarter;
  }
  while (i + kLanes <= count) {
    Floats a = start, b = start, c = start, d = start;
    const int64_t end = std::min<int64_t>(i + REDUCE_ROW, count);
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      a = F::join(a, term(i));
      b = F::join(b, term(i + kLanes));
      c = F::join(c, term(i + 2 * kLanes));
      d = F::join(d, term(i + 3 * kLanes));
    }
    for (; i + kLanes <= end; i += kLanes) a = F::join(a, term(i));
    total = F::join(total, F::join(F::join(a, b), F::join(c, d)));
  }
  if (i < count) total = F::join(total, F::term(load_some(x + i, count - i, F::kNeutral), shifts));
  return combined(total, [](auto a, auto b) { return F::join(a, b); });
}

// One vector of each of kRows rows, joined by halves.
template <class F, int kRows, class Element>
inline simd::Floats joined_rows(const float* x, int64_t pitch, Element element) {
  if constexpr (kRows == 1) {
    return element(x);
  } else {
    return F::join(joined_rows<F, kRows / 2>(x, pitch, element),
                   joined_rows<F, kRows / 2>(x + kRows / 2 * pitch, pitch, element));
  }
}

// Folds kRows rows, `pitch` apart, into y; kFresh where nothing is there yet. kAhead asks memory for the rows behind
// them: with as many streams the processor itself looks ahead too little.
template <class F, int kRows, bool kFresh, bool kAhead>
inline void fold_some_rows(const float* x, int64_t pitch, int64_t columns, const float* shift, float* y) {
  using namespace simd;
  const Floats start = splat(F::kStart);
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    const Floats shifts = F::kShifted ? load(shift + i) : start;
    if constexpr (kAhead) {
      KW_UNROLL for (int r = kRows; r < 2 * kRows; ++r) __builtin_prefetch(x + i + r * pitch, 0, 2);
    }
    const Floats rows =
        joined_rows<F, kRows>(x + i, pitch, [shifts](const float* at) { return F::term(load(at), shifts); });
    store(y + i, F::join(kFresh ? start : load(y + i), rows));
  }
  if (i == columns) return;
  const int64_t rest = columns - i;
  const Floats shifts = F::kShifted ? load_some(shift + i, rest) : start;
  const Floats rows = joined_rows<F, kRows>(
      x + i, pitch, [shifts, rest](const float* at) { return F::term(load_some(at, rest, F::kNeutral), shifts); });
  store_some(y + i, F::join(kFresh ? start : load_some(y + i, rest), rows), rest);
}

// `pitch`: from a row to the next, which may be wider than the columns that are folded where those fill a vector.
template <class F>
inline void fold_columns_of(const float* x, int64_t rows, int64_t pitch, int64_t columns, const float* shift,
                            bool fresh, float* y, bool large = false) {
  constexpr int64_t kChunk = 512;  // rows whose partial results are made apart
  if (columns < simd::kLanes) {
    constexpr int64_t kTogether = simd::kLanes;  // as many narrow rows are a wide one
    float wide[kTogether * simd::kLanes], shifts[kTogether * simd::kLanes];
    if (F::kShifted) {
      for (int64_t i = 0; i < kTogether * columns; ++i) shifts[i] = shift[i % columns];
    }
    const int64_t groups = rows >= 2 * kTogether ? rows / kTogether : 0;
    if (groups > 0) fold_columns_of<F>(x, groups, kTogether * columns, kTogether * columns, shifts, true, wide);
    for (int64_t c = 0; c < columns; ++c) {
      float folded = fresh ? F::kStart : y[c];
      for (int64_t r = 0; groups > 0 && r < kTogether; ++r) folded = F::join(folded, wide[r * columns + c]);
      for (int64_t r = groups * kTogether; r < rows; ++r) {
        folded = F::join(folded, F::term(x[r * columns + c], F::kShifted ? shift[c] : 0));
      }
      y[c] = folded;
    }
    return;
  }
  float chunk[REDUCE_BLOCK];
  for (int64_t begin = 0; begin < columns; begin += REDUCE_BLOCK) {
    const int64_t width = std::min<int64_t>(REDUCE_BLOCK, columns - begin);
    for (int64_t first = 0; first < rows; first += kChunk) {
      const int64_t last = std::min(first + kChunk, rows);
      float* to = first == 0 ? y + begin : chunk;
      bool nothing_there = first > 0 || fresh;
      const float* shifts = F::kShifted ? shift + begin : nullptr;
      const auto fold = [&]<int kRows>(std::integral_constant<int, kRows>, int64_t r) {
        const float* from = x + r * pitch + begin;
        const auto some = [&]<bool kAhead>(std::bool_constant<kAhead>) {
          if (nothing_there) {
            fold_some_rows<F, kRows, true, kAhead>(from, pitch, width, shifts, to);
          } else {
            fold_some_rows<F, kRows, false, kAhead>(from, pitch, width, shifts, to);
          }
        };
        if (kRows == 8 && large) {
          some(std::bool_constant<kRows == 8>());
        } else {
          some(std::false_type());
        }
        nothing_there = false;
      };
      int64_t r = first;
      for (; r + 8 <= last; r += 8) fold(std::integral_constant<int, 8>(), r);
      for (; r + 2 <= last; r += 2) fold(std::integral_constant<int, 2>(), r);
      if (r < last) fold(std::integral_constant<int, 1>(), r);
      if (first > 0) {
        for (int64_t i = 0; i < width; ++i) y[begin + i] = F::join(y[begin + i], chunk[i]);
      }
    }
  }
}

template <class F>
inline void fold_columns(const float* x, int64_t rows, int64_t columns, const float* shift, bool fresh, float* y,
                         bool large = false) {
  fold_columns_of<F>(x, rows, columns, columns, shift, fresh, y, large);
}

// Folds the runs from `level` on into y. `shift`: the numbers of the results, where terms take one.
template <class F>
inline void fold_runs(const float* x, const ReductionRuns& runs, int level, const float* shift, bool fresh, float* y) {
  const int left = runs.rank - level;
  const auto put = [fresh](float* to, float folded) { *to = fresh ? folded : F::join(*to, folded); };
  const auto shift_of = [shift](int64_t i) { return F::kShifted ? shift[i] : 0; };
  if (left == 0) {
    put(y, F::join(F::kStart, F::term(x[0], shift_of(0))));
  } else if (left == 1 && runs.reduced[level]) {
    put(y, fold_row<F>(x, runs.length[level], shift_of(0)));
  } else if (left == 1) {
    fold_columns<F>(x, 1, runs.length[level], shift, fresh, y);
  } else if (left == 2 && runs.reduced[level]) {
    fold_columns<F>(x, runs.length[level], runs.length[level + 1], shift, fresh, y, runs.large);
  } else if (left == 2) {
    const int64_t size = runs.length[level + 1];
    for (int64_t i = 0; i < runs.length[level]; ++i) put(y + i, fold_row<F>(x + i * size, size, shift_of(i)));
  } else {
    int64_t x_step = 1, y_step = 1;
    for (int i = level + 1; i < runs.rank; ++i) {
      x_step *= runs.length[i];
      if (!runs.reduced[i]) y_step *= runs.length[i];
    }
    if (runs.reduced[level]) y_step = 0;
    for (int64_t i = 0; i < runs.length[level]; ++i) {
      fold_runs<F>(x + i * x_step, runs, level + 1, F::kShifted ? shift + i * y_step : nullptr,
                   fresh && (i == 0 || y_step > 0), y + i * y_step);
    }
  }
}

// ---- On the threads that are lent.

// A row so long that threads share it is folded in pieces of this length, with any number of threads, so that what is
// joined with what does not depend on them.
constexpr int64_t kLongRow = KW_LONG_ROW, kPieceOfRow = kLongRow / 8;

template <class F>
inline float fold_long_row(const kw::Node& node, int threads, const float* x, int64_t count, float shift) {
  const int64_t pieces = count / kPieceOfRow;
  float* folded = node.scratch<float>(pieces);
  share(node, threads, pieces, [&](int64_t i, int) KW_IN_PLACE {
    const int64_t begin = cut_of(count, 1, pieces, i);
    folded[i] = fold_row<F>(x + begin, cut_of(count, 1, pieces, i + 1) - begin, shift);
  });
  float all = folded[0];
  for (int64_t i = 1; i < pieces; ++i) all = F::join(all, folded[i]);
  return all;
}

// Threads share results: those of the outermost axis that is kept, or columns, where it has too few.
template <class F>
[[gnu::noinline]] void fold_many(const kw::Node& node, const float* x, int64_t count, const ReductionRuns& runs,
                                 const float* shift, float* y) {
  const int threads = threads_for(node, count);
  const auto shift_of = [shift](int64_t i) { return F::kShifted ? shift + i : nullptr; };
  const int last = runs.rank - 1;
  const bool rows = runs.rank > 0 && runs.reduced[last] && runs.rank <= 2;  // each a result
  if (rows && runs.length[last] >= kLongRow) {
    for (int64_t i = 0; i < count / runs.length[last]; ++i) {
      const float* row = x + i * runs.length[last];
      y[i] = fold_long_row<F>(node, threads, row, runs.length[last], F::kShifted ? shift[i] : 0);
    }
    return;
  }
  const int kept = runs.rank > 0 && runs.reduced[0] ? 1 : 0;
  if (threads <= 1 || runs.rank <= kept) return fold_runs<F>(x, runs, 0, shift, true, y);
  if (last == kept && kept == 1) {  // columns
    const int64_t columns = runs.length[1];
    return share_ranges(node, threads, columns, 2 * simd::kLanes, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      fold_columns_of<F>(x + begin, runs.length[0], columns, end - begin, shift_of(begin), true, y + begin, runs.large);
    });
  }
  int64_t x_step = 1, y_step = 1;  // of the axis that is shared
  for (int i = kept + 1; i < runs.rank; ++i) {
    x_step *= runs.length[i];
    if (!runs.reduced[i]) y_step *= runs.length[i];
  }
  const int64_t all = runs.length[kept], before = kept == 1 ? runs.length[0] : 1;
  if (kept == 0 && last == 2 && all < 2 * threads) {  // columns of one after the other
    for (int64_t i = 0; i < all; ++i) {
      share_ranges(node, threads, y_step, 2 * simd::kLanes, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
        const int64_t at = i * y_step + begin;
        fold_columns_of<F>(x + i * x_step + begin, runs.length[1], y_step, end - begin, shift_of(at), true, y + at,
                           runs.large);
      });
    }
    return;
  }
  share_ranges(node, threads, all, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    ReductionRuns part = runs;
    part.length[kept] = end - begin;
    for (int64_t i = 0; i < before; ++i) {
      fold_runs<F>(x + (i * all + begin) * x_step, part, kept, shift_of(begin * y_step), i == 0, y + begin * y_step);
    }
  });
}

// All of the runs, of `count` elements, into y, which holds nothing yet.
template <class F>
inline void fold_all(const kw::Node& node, const float* x, int64_t count, const ReductionRuns& runs, const float* shift,
                     float* y) {
  if (count < kLeastShared) return fold_runs<F>(x, runs, 0, shift, true, y);
  fold_many<F>(node, x, count, runs, shift, y);
}

// A few elements, one by one: with no recursion and no vectors to set up. The runs are some that are kept, some that
// are reduced and some that are kept, any of which may be missing.
constexpr int64_t kFewElements = 64;
template <class F>
inline void fold_few(const float* x, const ReductionRuns& runs, float* y) {
  int at = 0;
  const auto next = [&](bool reduced) {
    return at < runs.rank && runs.reduced[at] == reduced ? runs.length[at++] : int64_t{1};
  };
  const int64_t outer = next(false), terms = next(true), inner = next(false);
  for (int64_t o = 0; o < outer; ++o, x += terms * inner) {
    for (int64_t i = 0; i < inner; ++i) {
      float folded = F::kStart;
      KW_KEEP_LOOP for (int64_t k = 0; k < terms; ++k) folded = F::join(folded, F::term(x[k * inner + i], 0.0f));
      *y++ = folded;
    }
  }
}
inline bool are_few(const ReductionRuns& runs, int64_t count) {
  return count <= kFewElements && (runs.rank < 3 || (runs.rank == 3 && !runs.reduced[0]));
}

// All of it: y = finish(folded elements). `kept`: by keep_reduction_runs, or null.
template <class F, class Finish>
inline void reduce_in_vectors(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                              kw::Tensor<float>& y, const void* kept, Finish finish) {
  ReductionRuns own;
  const ReductionRuns& runs = kept_reduction_runs(kept, node, x.shape(), axes, own);
  y.allocate(runs.result);
  if (runs.terms == 0) {
    std::fill(y.begin(), y.end(), F::kStart);
  } else if (are_few(runs, x.count())) {
    fold_few<F>(x.data(), runs, y.data());
  } else if (y.count() > 0) {
    fold_all<F>(node, x.data(), x.count(), runs, nullptr, y.data());
  }
  finish(y.data(), y.count(), float(runs.terms));
}
template <class F>
inline void reduce_in_vectors(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                              kw::Tensor<float>& y, const void* kept) {
  reduce_in_vectors<F>(node, x, axes, y, kept, [](float*, int64_t, float) {});
}
