// A matrix as the product of two thin ones: which directions are kept, and how the result is stored.
//
// Every method here minimises the error of W in some measure of its inputs and outputs: |T (W - W_r) S|. Plain SVD has
// neither S nor T; FWSVD and ASVD have a diagonal S, SVD-LLM the root of the inputs' Gram matrix; our own allotment has
// the root of the outputs' gradients as T besides. The best W_r keeps the largest directions of T W S (Eckart and
// Young).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kw::lm {

struct Measure {
  at::Tensor input_gram;   // S S^T: [n, n], or [n] where it is diagonal; undefined: identity
  at::Tensor output_gram;  // T^T T: [m, m]; undefined: identity
};

// All directions of a matrix in a measure, the largest first.
struct Spectrum {
  at::Tensor up, down;          // [m, k] and [k, n]: the first r columns and rows make the best matrix of rank r
  std::vector<double> squares;  // what each direction adds to |T W S|^2
};
Spectrum spectrum_of(const at::Tensor& matrix, const Measure& measure);

struct Factors {
  at::Tensor up, down;  // [m, r], [r, n]; columns of the one are as long as rows of the other
};
Factors truncated(const Spectrum& spectrum, std::int64_t rank);
// ResSVD: rank - residual_rank directions in the measure, then as many of what is left without any measure.
Factors with_residual(const at::Tensor& matrix, const Spectrum& spectrum, std::int64_t rank,
                      std::int64_t residual_rank);
// |(W - W') x|^2 over |W x|^2, summed over the inputs of this Gram matrix; of all directions alike where it is
// undefined.
double relative_error(const at::Tensor& matrix, const at::Tensor& made, const at::Tensor& input_gram);
// The `up` that brings up (down x) closest to y over all tokens, given sums of y x^T and of x x^T. `worth`: how much
// the `up` of before counts, in each direction of down x, against all that was seen there; more than 0.
Factors refitted(const Factors& factors, const at::Tensor& cross, const at::Tensor& gram, double worth);

// The same matrix by `rank` of its rows and what makes the others of them (src/lm_torch/linear.h).
struct Pivoted {
  at::Tensor down;  // [r, n]
  at::Tensor up;    // [m - r, r]
  at::Tensor rows;  // [m]: where each row is in [down; up down]
};
Pivoted pivoted(const Factors& factors);

// Numbers that rank r of an m x n matrix takes, and the largest rank within a given count of numbers (0: none fits). A
// rank whose factors are no smaller than the matrix is none.
std::int64_t factor_size(std::int64_t rows, std::int64_t columns, std::int64_t rank, bool pivot);
std::int64_t largest_rank(std::int64_t rows, std::int64_t columns, std::int64_t numbers, bool pivot);

// One matrix to be given a rank: `loss[r]` is what rank r costs; whole it costs nothing.
struct Allotted {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> loss;
};
// The ranks that together lose least within a given count of numbers; 0: the matrix stays whole.
std::vector<std::int64_t> allot_ranks(const std::vector<Allotted>& matrices, std::int64_t numbers, bool pivot);

}  // namespace kw::lm
