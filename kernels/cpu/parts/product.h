#pragma once

#include <kernelwright.h>

#include "half.h"
#include "threads.h"
#include "vector.h"

// Matrix products. A tile of the result, some rows of a few vectors, stays in registers while its sums run over the
// depth; each step takes one element of every row of the left matrix and a few vectors of the right one. The right
// matrix comes in panels as wide as a tile, packed row behind row, or, where all of it is small, as it lies. The order
// of each sum depends on the depth alone.

KW_TUNE(PRODUCT_ROWS, 6, 4, 6, 8, 12);    // of a tile
KW_TUNE(PRODUCT_VECTORS, 2, 1, 2, 3, 4);  // in each of its rows
KW_TUNE(PRODUCT_DEPTH, 256, 128, 256,
        384);  // steps before a tile goes back to memory: a panel's part in the first cache
KW_TUNE(PRODUCT_BLOCK, 120, 48, 72, 120, 240);  // rows of the left matrix that are packed at a time, for the second one
KW_REQUIRE(PRODUCT_ROWS* PRODUCT_VECTORS <= 24);

namespace product {

using simd::Floats;
using simd::kLanes;
inline constexpr int kPanel = PRODUCT_VECTORS * kLanes;  // columns of a panel

// Element (i, k) of the left matrix is data[i * row + k * step].
struct Left {
  const float* data;
  int64_t row, step;

  Left at(int64_t i, int64_t k) const { return {data + i * row + k * step, row, step}; }
};
// Row k of the right matrix begins at data + k * step. Right is RightOf<float>.
template <class T>
struct RightOf {
  const T* data;
  int64_t step;

  const T* row(int64_t k) const { return data + k * step; }
  RightOf at(int64_t j) const { return {data + j, step}; }
};
using Right = RightOf<float>;
// Row k of the right matrix begins at data + offsets[k].
struct Gathered {
  const float* data;
  const int32_t* offsets;

  const float* row(int64_t k) const { return data + offsets[k]; }
  Gathered at(int64_t j) const { return {data + j, offsets}; }
};
// What becomes of a sum: alpha * sum + beta * added, where something is added. `step` is 0 or 1, 0 repeats it.
struct Finish {
  float alpha = 1, beta = 1;
  const float* added = nullptr;
  int64_t row = 0, step = 0;

  bool does_nothing() const { return alpha == 1 && added == nullptr; }
  bool only_adds() const { return alpha == 1 && beta == 1 && added != nullptr; }
  Finish at(int64_t i, int64_t j) const {
    return {alpha, beta, added == nullptr ? added : added + i * row + j * step, row, step};
  }
};
// Where a tile goes: the part of the result that begins here, `columns` wide.
struct Result {
  float* data;
  int64_t row, columns;
  bool begun;            // it holds the sums of what came before
  const Finish* finish;  // once the sums are complete

  Result at(int64_t i, int64_t j) const { return {data + i * row + j, row, columns - j, begun, finish}; }
};

// A tile that is not simply stored, from its sums: one that goes beyond the result's last column, one that continues
// sums, or one with something to do at the end.
[[gnu::noinline]] inline void store_part(const float* sums, int64_t width, int64_t rows, const Result& to) {
  const Finish finish = to.finish == nullptr ? Finish{} : *to.finish;
  const int64_t columns = std::min(to.columns, width);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; j += kLanes) {
      const auto there = [&](const float* from) {
        return columns - j >= kLanes ? simd::load(from) : simd::load_some(from, columns - j);
      };
      float* put = to.data + r * to.row + j;
      Floats sum = simd::load(sums + r * width + j);
      if (to.begun) sum += there(put);
      sum *= finish.alpha;
      if (finish.added != nullptr) {
        const float* added = finish.added + r * finish.row;
        sum += finish.beta * (finish.step == 0 ? simd::splat(*added) : there(added + j));
      }
      if (columns - j >= kLanes) {
        simd::store(put, sum);
      } else {
        simd::store_some(put, sum, columns - j);
      }
    }
  }
}

template <int kRows, int kVectors, class B>
[[gnu::always_inline]] inline void tile(Left a, B b, int64_t depth, Result to) {
  // What is only added is where the sums begin.
  const float zero = 0;
  const bool whole = to.columns >= kVectors * kLanes;
  const bool from_added =
      to.finish != nullptr && to.finish->only_adds() && !to.begun && (whole || to.finish->step == 0);
  const float* begin = from_added ? to.finish->added : &zero;
  const int64_t begin_row = from_added ? to.finish->row : 0;
  Floats sums[kRows][kVectors];
  if (from_added && to.finish->step != 0) {
    KW_UNROLL for (int r = 0; r < kRows; ++r) {
      KW_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = simd::load(begin + r * begin_row + v * kLanes);
    }
  } else {
    KW_UNROLL for (int r = 0; r < kRows; ++r) {
      KW_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = simd::splat(begin[r * begin_row]);
    }
  }
  const float* left = a.data;
  for (int64_t k = 0; k < depth; ++k) {
    const auto* right = b.row(k);
    Floats row[kVectors];
    KW_UNROLL for (int v = 0; v < kVectors; ++v) row[v] = simd::load(right + v * kLanes);
    KW_UNROLL for (int r = 0; r < kRows; ++r) {
      const float& element = left[r * a.row];
      KW_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = simd::fma_each(element, row[v], sums[r][v]);
    }
    left += a.step;
  }
  const bool simply = whole && !to.begun && (from_added || to.finish == nullptr || to.finish->does_nothing());
  float parts[kRows][kVectors * kLanes];
  float* data = simply ? to.data : parts[0];
  const int64_t row = simply ? to.row : kVectors * kLanes;
  KW_UNROLL for (int r = 0; r < kRows; ++r) {
    KW_UNROLL for (int v = 0; v < kVectors; ++v) simd::store(data + r * row + v * kLanes, sums[r][v]);
  }
  if (simply) return;
  if (from_added) to.finish = nullptr;
  store_part(parts[0], kVectors * kLanes, kRows, to);
}

// Tiles next to each other, from column j on; how far they came. At the end the last tile begins earlier, and some of
// its columns come out twice the same; without `to_the_end` only whole tiles are made.
template <int kRows, int kVectors, class B>
[[gnu::noinline]] int64_t tiles(const Left& a, const B& b, int64_t depth, const Result& to, int64_t j,
                                bool to_the_end) {
  constexpr int64_t kWidth = kVectors * kLanes;
  while (j < to.columns) {
    if (j + kWidth > to.columns) {
      if (!to_the_end) return j;
      j = std::max<int64_t>(to.columns - kWidth, 0);
    }
    const Finish here = to.finish == nullptr ? Finish{} : to.finish->at(0, j);
    tile<kRows, kVectors>(a, b.at(j), depth,
                          {to.data + j, to.row, to.columns - j, to.begun, to.finish == nullptr ? nullptr : &here});
    j += kWidth;
  }
  return j;
}

// The same of up to PRODUCT_ROWS rows.
template <int kMost = PRODUCT_ROWS, class B>
inline void tiles_of(int64_t rows, const Left& a, const B& b, int64_t depth, const Result& to, int64_t j = 0) {
  if constexpr (kMost > 0) {
    if (rows == kMost) {
      tiles<kMost, PRODUCT_VECTORS>(a, b, depth, to, j, true);
    } else {
      tiles_of<kMost - 1>(rows, a, b, depth, to, j);
    }
  }
}

// Rows as evenly as possible in tiles: calls of(first, rows).
template <class Of>
inline void each_rows(int64_t m, const Of& of) {
  const int64_t tiles = (m + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
  int64_t first = 0;
  for (int64_t i = tiles; i > 0; --i) {
    const int64_t rows = (m - first) / i;
    of(first, rows);
    first += rows;
  }
}

// A few rows of a product, with the right matrix as it lies. Tiles of one to three rows are wider, so that there are
// enough sums to keep the processor busy. With fewer columns than kPanel, memory behind the right matrix's rows is
// read.
template <class B>
inline void multiply_rows(int64_t rows, int64_t depth, Left a, B b, Result to) {
  const int64_t j = rows == 1   ? tiles<1, 8>(a, b, depth, to, 0, false)
                    : rows == 2 ? tiles<2, 4>(a, b, depth, to, 0, false)
                    : rows == 3 ? tiles<3, 4>(a, b, depth, to, 0, false)
                                : 0;
  tiles_of(rows, a, b, depth, to, j);
}

// The product of small matrices as they lie, of at least kPanel columns.
inline void multiply_as_it_lies(int64_t m, int64_t depth, Left a, Right b, Result y) {
  each_rows(m, [&](int64_t i, int64_t rows) {
    const Finish finish = y.finish->at(i, 0);
    Result to = y.at(i, 0);
    to.finish = &finish;
    multiply_rows(rows, depth, a.at(i, 0), b, to);
  });
}

// ---- Panels.

// Elements that all panels of a right matrix take.
inline int64_t packed_size(int64_t depth, int64_t n) { return (n + kPanel - 1) / kPanel * depth * kPanel; }

// One panel of `columns` columns: element (k, j) is from[k * row + j * step].
inline void pack_panel(const float* from, int64_t row, int64_t step, int64_t depth, int64_t columns, float* to) {
  if (step == 1 && columns >= kPanel) {
    for (int64_t k = 0; k < depth; ++k, from += row, to += kPanel) {
      KW_UNROLL for (int v = 0; v < PRODUCT_VECTORS; ++v) simd::store(to + v * kLanes, simd::load(from + v * kLanes));
    }
    return;
  }
  columns = std::min<int64_t>(columns, kPanel);
  for (int64_t j = 0; j < kPanel; ++j) {
    if (j < columns) {
      KW_KEEP_LOOP for (int64_t k = 0; k < depth; ++k) to[k * kPanel + j] = from[k * row + j * step];
    } else {
      KW_KEEP_LOOP for (int64_t k = 0; k < depth; ++k) to[k * kPanel + j] = 0;
    }
  }
}
inline void pack(const float* from, int64_t row, int64_t step, int64_t depth, int64_t n, float* to) {
  for (int64_t j = 0; j < n; j += kPanel, to += depth * kPanel) {
    pack_panel(from + j * step, row, step, depth, n - j, to);
  }
}

// Elements that a block of the left matrix takes.
inline int64_t block_size(int64_t m, int64_t depth) {
  return std::min<int64_t>(m, PRODUCT_BLOCK) * std::min<int64_t>(depth, PRODUCT_DEPTH);
}
// Is the left matrix used often enough to pay for the packing, and too large to be read as it lies?
inline bool packs_left(int64_t m, int64_t n, int64_t depth) { return m * depth > 16384 && n >= 8 * kPanel; }

// Eight columns of up to eight rows, `pitch` apart: each column as one vector, that goes beyond its own elements.
inline void pack_eight(const float* from, int64_t row, int64_t rows, int64_t pitch, float* to) {
  using simd::Eight;
  Eight v[8], pairs[8], fours[8];
  KW_UNROLL for (int r = 0; r < 8; ++r) v[r] = simd::load_as<Eight>(from + (r < rows ? r * row : 0));
  KW_UNROLL for (int r = 0; r < 8; r += 2) {
    pairs[r] = simd::shuffled<0, 8, 1, 9, 4, 12, 5, 13>(v[r], v[r + 1]);
    pairs[r + 1] = simd::shuffled<2, 10, 3, 11, 6, 14, 7, 15>(v[r], v[r + 1]);
  }
  KW_UNROLL for (int r = 0; r < 4; ++r) {
    const int at = r / 2 * 4 + r % 2;
    fours[2 * r] = simd::shuffled<0, 1, 8, 9, 4, 5, 12, 13>(pairs[at], pairs[at + 2]);
    fours[2 * r + 1] = simd::shuffled<2, 3, 10, 11, 6, 7, 14, 15>(pairs[at], pairs[at + 2]);
  }
  KW_UNROLL for (int k = 0; k < 4; ++k) {
    simd::store(to + k * pitch, simd::shuffled<0, 1, 2, 3, 8, 9, 10, 11>(fours[k], fours[k + 4]));
  }
  KW_UNROLL for (int k = 0; k < 4; ++k) {
    simd::store(to + (k + 4) * pitch, simd::shuffled<4, 5, 6, 7, 12, 13, 14, 15>(fours[k], fours[k + 4]));
  }
}

[[gnu::noinline]] inline void pack_rows(Left a, int64_t rows, int64_t depth, float* to) {
  int64_t k = 0;
  const int64_t beyond = rows > 8 ? 16 : 8;
  for (; a.step == 1 && (k + 7) * rows + beyond <= depth * rows; k += 8) {
    if (rows > 8) pack_eight(a.data + 8 * a.row + k, a.row, rows - 8, rows, to + k * rows + 8);
    pack_eight(a.data + k, a.row, std::min<int64_t>(rows, 8), rows, to + k * rows);
  }
  KW_KEEP_LOOP for (; k < depth; ++k) {
    KW_KEEP_LOOP for (int64_t r = 0; r < rows; ++r) to[k * rows + r] = a.data[r * a.row + k * a.step];
  }
}

// y = a * b with b packed in panels, of floats or of what half.h widens: the depth in parts whose panels fit the first
// cache, the rows in blocks that fit the second. `block`: memory for one, or null where a is read as it lies.
template <class T>
inline void multiply_packed(int64_t m, int64_t depth, Left a, const T* packed, Result y, float* block) {
  const Finish* finish = y.finish;
  int64_t k = 0;
  do {
    const int64_t part = std::min<int64_t>(depth - k, PRODUCT_DEPTH);
    y.begun = k > 0;
    const int64_t block_rows = block == nullptr ? m : PRODUCT_BLOCK;
    for (int64_t i0 = 0; i0 < m; i0 += block_rows) {
      const int64_t height = std::min(m - i0, block_rows);
      if (block != nullptr) {
        each_rows(height, [&](int64_t i, int64_t rows) { pack_rows(a.at(i0 + i, k), rows, part, block + i * part); });
      }
      for (int64_t j = 0; j < y.columns; j += kPanel) {
        const RightOf<T> panel{packed + j * depth + k * kPanel, kPanel};
        each_rows(height, [&](int64_t i, int64_t rows) {
          const Left left = block == nullptr ? a.at(i0 + i, k) : Left{block + i * part, 1, rows};
          const Finish here = finish->at(i0 + i, j);
          Result to = y.at(i0 + i, j);
          to.columns = std::min<int64_t>(to.columns, kPanel);
          to.finish = k + part == depth ? &here : nullptr;
          tiles_of(rows, left, panel, part, to);
        });
      }
    }
    k += part;
  } while (k < depth);
}

// ---- On the threads that are lent: the result in pieces of rows and columns.

inline int threads_for_product(const kw::Node& node, int64_t m, int64_t depth, int64_t n) {
  return threads_for(node, m * depth * n, kLeastSharedProducts);
}

// Rows and columns at which a result is cut. Rows first: each piece of columns packs its part of the left matrix again.
struct Pieces {
  int64_t rows, columns;

  Pieces(int threads, int64_t m, int64_t n) : rows(1), columns(1) {
    if (threads <= 1) return;
    constexpr int64_t kFewestRows = 48, kFewestPanels = 4;
    const int64_t wanted = int64_t{threads} * kPiecesOfThread;
    rows = std::clamp<int64_t>(m / kFewestRows, 1, wanted);
    if (rows < wanted / 2) {
      columns = std::clamp<int64_t>(n / (kFewestPanels * kPanel), 1, (wanted + rows - 1) / rows);
    }
  }
};
// piece(first row, rows, first column, columns, slot)
template <class Piece>
inline void each_piece(const kw::Node& node, int threads, int64_t m, int64_t n, int64_t row_step, Piece&& piece) {
  const Pieces cuts(threads, m, n);
  share(node, threads, cuts.rows * cuts.columns, [&](int64_t i, int slot) KW_IN_PLACE {
    const int64_t row = i / cuts.columns, column = i % cuts.columns;
    const int64_t i0 = cut_of(m, row_step, cuts.rows, row), j0 = cut_of(n, kPanel, cuts.columns, column);
    piece(i0, cut_of(m, row_step, cuts.rows, row + 1) - i0, j0, cut_of(n, kPanel, cuts.columns, column + 1) - j0, slot);
  });
}
// The part of a result from (i, j) on, with its own finish, which has to stay where it is.
inline Result part_of(const Result& y, int64_t i, int64_t j, int64_t columns, Finish& finish) {
  finish = y.finish->at(i, j);
  Result part = y.at(i, j);
  part.columns = columns;
  part.finish = &finish;
  return part;
}

// Tiles of rows as each_rows makes them: of(first, rows, slot).
template <class Of>
inline void share_rows(const kw::Node& node, int threads, int64_t m, const Of& of) {
  const int64_t tiles = (m + PRODUCT_ROWS - 1) / PRODUCT_ROWS, shorter = m / std::max<int64_t>(tiles, 1),
                longer = m - shorter * tiles;  // how many have one row more: the last ones
  share_ranges(node, threads, tiles, 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t before = std::max<int64_t>(i - (tiles - longer), 0);
      of(i * shorter + before, shorter + (i >= tiles - longer ? 1 : 0), slot);
    }
  });
}

inline void pack(const kw::Node& node, int threads, const float* from, int64_t row, int64_t step, int64_t depth,
                 int64_t n, float* to) {
  share_ranges(node, threads, n, kPanel, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    pack(from + begin * step, row, step, depth, end - begin, to + begin * depth);
  });
}

// `blocks`: memory for a block of each thread, or null where a is read as it lies.
template <class T>
inline void multiply_packed(const kw::Node& node, int threads, int64_t m, int64_t depth, Left a, const T* packed,
                            const Result& y, float* blocks) {
  if (threads <= 1) return multiply_packed(m, depth, a, packed, y, blocks);
  const int64_t size = block_size(m, depth);
  each_piece(node, threads, m, y.columns, PRODUCT_ROWS,
             [&](int64_t i, int64_t rows, int64_t j, int64_t columns, int slot) {
               Finish finish;
               multiply_packed(rows, depth, a.at(i, 0), packed + j * depth, part_of(y, i, j, columns, finish),
                               blocks == nullptr ? nullptr : blocks + slot * size);
             });
}
inline float* scratch_for_blocks(const kw::Node& node, int& threads, int64_t m, int64_t n, int64_t depth) {
  if (!packs_left(m, n, depth)) return nullptr;
  threads = threads_within(node, threads, block_size(m, depth) * 4);
  return node.scratch<float>(threads * block_size(m, depth));
}

inline void multiply_as_it_lies(const kw::Node& node, int threads, int64_t m, int64_t depth, Left a, Right b,
                                const Result& y) {
  if (threads <= 1) return multiply_as_it_lies(m, depth, a, b, y);
  each_piece(node, threads, m, y.columns, PRODUCT_ROWS, [&](int64_t i, int64_t rows, int64_t j, int64_t columns, int) {
    Finish finish;
    multiply_as_it_lies(rows, depth, a.at(i, 0), b.at(j), part_of(y, i, j, columns, finish));
  });
}

// y = a * b by the way that suits the sizes. Element (k, j) of b is b[k * row + j * step].
inline void multiply(const kw::Node& node, int64_t m, int64_t depth, Left a, const float* b, int64_t row, int64_t step,
                     Result y) {
  if (m == 0 || y.columns == 0) return;
  int threads = threads_for_product(node, m, depth, y.columns);
  if (step == 1 && y.columns >= kPanel && (m <= PRODUCT_ROWS || depth * y.columns <= 8192)) {
    return multiply_as_it_lies(node, threads, m, depth, a, {b, row}, y);
  }
  float* packed = node.scratch<float>(packed_size(depth, y.columns));
  pack(node, threads, b, row, step, depth, y.columns, packed);
  float* blocks = scratch_for_blocks(node, threads, m, y.columns, depth);
  multiply_packed(node, threads, m, depth, a, packed, y, blocks);
}

}  // namespace product
