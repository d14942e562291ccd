// Workaday data: made in ways that programs meet every day and chance hardly ever draws. draw.cpp says when: inputs may
// be changed so where their operators allow zeros, or equal elements (reach.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/graph.h"
#include "ops/op.h"

namespace kw::ops {

// Matrices in the last two axes: a band, blocks on the diagonal, skew-symmetric, one element that is not zero, of rank
// one, rows alike, equal along diagonals of either direction or turning by one from row to row, zero below the second
// diagonal; images with a border of zeros, or made of blocks of two by two, or of one pixel in the middle; every other
// element, or fewer; rows with zeros behind them. Those that repeat elements have short ones, whose sums are exact.
// `both_signs`: it may hold a number's negative too.
inline constexpr std::size_t kMatrixKinds = 15, kMiddleAlone = 9, kZeroBelow = 11;
void make_matrix(std::span<float> values, const Shape& shape, bool both_signs, std::size_t kind, Random& random);

// How many terms the longest sum has, or a few times that.
double longest_sum(const Graph& graph);
// Sums of few different numbers are exact where the numbers are short enough: the square of a difference of two has
// four times their bits, and each fourfold length takes another one.
void shorten_for(double terms, std::span<float> values);

// Whole rows that are as the row before, or zero. `row`: elements of one.
template <class T>
void repeat_rows(std::span<T> values, std::size_t row, const Domain& domain, Random& random) {
  if (row == 0) return;
  const bool zeros = domain.low <= 0 && domain.high >= 0 && random.chance(0.5);
  for (std::size_t at = zeros ? 0 : row; at + row <= values.size(); at += row) {
    if (random.chance(0.5)) continue;
    for (std::size_t i = at; i < at + row; ++i) values[i] = zeros ? T{} : values[i - row];
    // Or as its negative, or twice as large.
    if constexpr (std::is_floating_point_v<T>) {
      if (zeros || domain.low != -domain.high || !random.chance(0.25)) continue;
      const T factor = random.pick({T{-1}, T{2}});
      for (std::size_t i = at; i < at + row; ++i) values[i] *= factor;
      at += row;
    }
  }
}

// Two values in turn in both directions.
void make_checkerboard(std::span<float> values, std::size_t row);
// Each row read backwards is its negative: its sum is zero.
void make_antisymmetric(std::span<float> values, std::size_t row);
// All small, and one that is not.
void make_outlier(std::span<float> values, Random& random);
// Far from zero, beside how much they differ; not as far as would leave nothing of a variance taken in one pass.
void make_offset(std::span<float> values, Random& random);

// In their last two axes: each map is flat, or all maps of an example are alike, or the sum of each is zero. Of short
// numbers, whose sums are exact.
void make_maps(std::span<float> values, const Shape& shape, bool both_signs, Random& random);

// True in the first part, in runs, alike along rows or along columns, for all but one element or for one.
inline constexpr std::size_t kMaskKinds = 6;
void make_mask(std::span<bool> values, const Shape& shape, std::size_t kind, Random& random);

// An input as it is before anything is learnt, or where a program does not use it: zero, one or another round number
// throughout, as far as its operators and its spread allow, or one that is not zero; or a matrix of -1, 0 and 1, one of
// which two of four are zero, or filters of which only the middle is not. It stays as it is where nothing of that is
// possible.
enum class Plain { neutral, round, equal, ternary, two_of_four, middle };
void make_plain(const Graph& graph, std::size_t slot, Plain plain, Tensor& tensor, Random& random);

// Where a softmax's argument is a sum of two inputs, the second one is a mask now and then: zero, and far below zero
// for all columns behind the row's own, or behind one for all rows.
void mask_softmax(const Graph& graph, InputClass input_class, Random& random, std::vector<Tensor>& inputs);

}  // namespace kw::ops
