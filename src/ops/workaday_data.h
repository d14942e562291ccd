// Workaday data: made in ways that programs meet every day and chance hardly ever draws. draw.cpp says when: inputs may
// be changed so where their operators allow zeros, or equal elements (reach.h).
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/graph.h"
#include "ops/op.h"

namespace kw::ops {

// Matrices in the last two axes: a band, blocks on the diagonal, skew-symmetric, one element that is not zero, of rank
// one, rows alike, equal along diagonals of either direction or turning by one from row to row, zero below the second
// diagonal; images with a border of zeros, or made of blocks of two by two; rows with
// zeros behind them. Those that repeat elements have short ones, whose sums are exact. `both_signs`: it may hold a
// number's negative too.
void make_matrix(std::span<float> values, const Shape& shape, bool both_signs, Random& random);

// Two values in turn in both directions.
void make_checkerboard(std::span<float> values, std::size_t row);
// Each row read backwards is its negative: its sum is zero.
void make_antisymmetric(std::span<float> values, std::size_t row);
// All small, and one that is not.
void make_outlier(std::span<float> values, Random& random);
// Far from zero, beside how much they differ.
void make_offset(std::span<float> values, Random& random);

// In their last two axes: each map is flat, or all maps of an example are alike, or the sum of each is zero. Of short
// numbers, whose sums are exact.
void make_maps(std::span<float> values, const Shape& shape, bool both_signs, Random& random);

// True in the first part, in runs, alike along rows or along columns, for all but one element or for one.
void make_mask(std::span<bool> values, const Shape& shape, Random& random);

// An input as it is before anything is learnt, or where a program does not use it: zero, one or another round number
// throughout, as far as its operators and its spread allow; or a matrix of -1, 0 and 1, or one of which two of four are
// zero. It stays as it is where nothing of that is possible.
enum class Plain { neutral, round, ternary, two_of_four };
void make_plain(const Graph& graph, std::size_t slot, Plain plain, Tensor& tensor, Random& random);

// Where a softmax's argument is a sum of two inputs, the second one is a mask now and then: zero, and far below zero
// for all columns behind the row's own, or behind one for all rows.
void mask_softmax(const Graph& graph, InputClass input_class, Random& random, std::vector<Tensor>& inputs);

}  // namespace kw::ops
