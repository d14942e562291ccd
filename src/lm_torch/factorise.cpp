#include "lm_torch/factorise.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace kw::lm {
namespace {

// Lower triangular L with L L^T = gram. A matrix that is not definite, as of fewer tokens than channels, is shifted by
// as much as it lacks.
at::Tensor root_of(const at::Tensor& gram) {
  const double scale = std::max(gram.diagonal().mean().item<double>(), 1e-30);
  const at::Tensor even = gram / scale;
  auto [root, failed] = at::linalg_cholesky_ex(even);
  if (failed.item<std::int64_t>() == 0 && root.isfinite().all().item<bool>()) return root * std::sqrt(scale);
  const double least = at::linalg_eigvalsh(even).min().item<double>();
  const at::Tensor shift = at::eye(gram.size(0), gram.options()) * (std::max(-least, 0.0) + 1e-6);
  return at::linalg_cholesky(even + shift) * std::sqrt(scale);
}

// Eigenvectors of a symmetric matrix as columns, the largest value first.
std::tuple<at::Tensor, std::vector<double>> directions_of(const at::Tensor& symmetric) {
  const auto [values, vectors] = at::linalg_eigh((symmetric + symmetric.t()) / 2);
  const at::Tensor falling = values.flip(0).clamp_min(0).cpu().contiguous();
  std::vector<double> squares(falling.data_ptr<double>(), falling.data_ptr<double>() + falling.numel());
  return {vectors.flip(1), std::move(squares)};
}

Factors balanced(const at::Tensor& up, const at::Tensor& down) {
  const at::Tensor of_up = up.norm(2, 0).clamp_min(1e-30), of_down = down.norm(2, 1).clamp_min(1e-30);
  const at::Tensor scale = (of_down / of_up).sqrt();
  return {up * scale.unsqueeze(0), down / scale.unsqueeze(1)};
}

// Of no measure and in float32: what is left has no directions that differ by more than it resolves.
Factors largest_directions(const at::Tensor& given, std::int64_t rank) {
  const bool wide = given.size(0) <= given.size(1);
  const at::Tensor matrix = (wide ? given : given.t()).to(at::kFloat);
  const auto [values, vectors] = at::linalg_eigh(at::mm(matrix, matrix.t()));
  const at::Tensor kept = vectors.slice(1, vectors.size(1) - rank).to(at::kDouble);
  const at::Tensor other = at::mm(kept.t(), wide ? given : given.t());
  return wide ? balanced(kept, other) : balanced(other.t(), kept.t());
}

}  // namespace

double relative_error(const at::Tensor& matrix, const at::Tensor& made, const at::Tensor& input_gram) {
  const at::Tensor whole = matrix.to(at::kFloat), error = whole - made.to(at::kFloat);
  const auto size = [&](const at::Tensor& one) {
    const at::Tensor seen = input_gram.defined() ? at::mm(one, input_gram.to(at::kFloat)) : one;
    return (seen * one).sum().item<double>();
  };
  return size(error) / std::max(size(whole), 1e-30);
}

Spectrum spectrum_of(const at::Tensor& given, const Measure& measure) {
  const at::Tensor matrix = given.to(at::kDouble);
  const at::Tensor inputs = measure.input_gram.defined() ? measure.input_gram.to(at::kDouble) : at::Tensor();
  const at::Tensor outputs = measure.output_gram.defined() ? measure.output_gram.to(at::kDouble) : at::Tensor();
  const bool diagonal = inputs.defined() && inputs.dim() == 1;
  if (matrix.size(0) <= matrix.size(1)) {
    // T W S S^T W^T T^T needs no root of the inputs' measure.
    const at::Tensor root = outputs.defined() ? root_of(outputs) : at::Tensor();  // T = root^T
    const at::Tensor weighted = outputs.defined() ? at::mm(root.t(), matrix) : matrix;
    const at::Tensor measured = !inputs.defined() ? weighted : diagonal ? weighted * inputs : at::mm(weighted, inputs);
    auto [vectors, squares] = directions_of(at::mm(measured, weighted.t()));
    at::Tensor up = outputs.defined() ? at::linalg_solve_triangular(root.t(), vectors, true) : vectors;
    return {up, at::mm(vectors.t(), weighted), std::move(squares)};
  }
  at::Tensor root = inputs;
  if (diagonal)
    root = inputs.clamp_min(inputs.max().item<double>() * 1e-12 + 1e-30).sqrt();
  else if (inputs.defined())
    root = root_of(inputs);
  const at::Tensor spread = !root.defined() ? matrix : diagonal ? matrix * root : at::mm(matrix, root);  // W S
  const at::Tensor measured = outputs.defined() ? at::mm(outputs, spread) : spread;
  auto [vectors, squares] = directions_of(at::mm(spread.t(), measured));
  at::Tensor down = vectors.t();
  if (diagonal)
    down = down / root;
  else if (root.defined())
    down = at::linalg_solve_triangular(root.t(), vectors, true).t();  // V^T S^-1
  return {at::mm(spread, vectors), down, std::move(squares)};
}

Factors truncated(const Spectrum& spectrum, std::int64_t rank) {
  return balanced(spectrum.up.slice(1, 0, rank), spectrum.down.slice(0, 0, rank));
}

Factors with_residual(const at::Tensor& matrix, const Spectrum& spectrum, std::int64_t rank,
                      std::int64_t residual_rank) {
  if (residual_rank <= 0) return truncated(spectrum, rank);
  const Factors first = truncated(spectrum, rank - residual_rank);
  const at::Tensor left = matrix.to(at::kDouble) - at::mm(first.up, first.down);
  const Factors second = largest_directions(left, residual_rank);
  return {at::cat({first.up, second.up}, 1), at::cat({first.down, second.down}, 0)};
}

Factors refitted(const Factors& factors, const at::Tensor& cross, const at::Tensor& gram, double worth) {
  const at::Tensor down = factors.down.to(at::kDouble), before = factors.up.to(at::kDouble);
  const at::Tensor seen = at::mm(at::mm(down, gram.to(at::kDouble)), down.t());  // of down x
  const at::Tensor own = seen.diagonal() * worth + (seen.diagonal().mean().item<double>() * 1e-9 + 1e-30);
  const at::Tensor wanted = at::mm(cross.to(at::kDouble), down.t()) + before * own;
  return balanced(at::linalg_solve(seen + at::diag(own), wanted.t()).t(), down);
}

Pivoted pivoted(const Factors& factors) {
  const std::int64_t rows = factors.up.size(0), rank = factors.up.size(1);
  assert(rank <= rows);
  const auto [packed, pivots] = at::linalg_lu_factor(factors.up.to(at::kDouble));
  // LAPACK tells which rows it swapped, one after the other and from 1.
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) order[static_cast<std::size_t>(i)] = i;
  const at::Tensor swaps = pivots.cpu();
  const int* swapped = swaps.data_ptr<int>();
  for (std::int64_t i = 0; i < rank; ++i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(swapped[i] - 1)]);
  at::Tensor index = at::empty({rows}, at::kLong), place = at::empty({rows}, at::kLong);
  for (std::int64_t i = 0; i < rows; ++i) {
    index.data_ptr<std::int64_t>()[i] = order[static_cast<std::size_t>(i)];
    place.data_ptr<std::int64_t>()[order[static_cast<std::size_t>(i)]] = i;
  }
  const at::Tensor lower = packed.slice(0, 0, rank).tril(-1) + at::eye(rank, packed.options());
  const at::Tensor others = packed.slice(0, rank);
  // others of `up` = (L2 U) and its pivots = (L1 U): the one from the other is L2 L1^-1.
  const at::Tensor up = at::linalg_solve_triangular(lower, others, false, false, true);
  const at::Tensor down =
      at::mm(factors.up.to(at::kDouble).index_select(0, index.slice(0, 0, rank).to(packed.device())),
             factors.down.to(at::kDouble));
  return {down, up, place.to(packed.device())};
}

std::int64_t factor_size(std::int64_t rows, std::int64_t columns, std::int64_t rank, bool pivot) {
  return rank * (rows + columns - (pivot ? rank : 0));
}

std::int64_t largest_rank(std::int64_t rows, std::int64_t columns, std::int64_t numbers, bool pivot) {
  const std::int64_t most = std::min(rows, columns);
  numbers = std::min(numbers, rows * columns - 1);
  std::int64_t rank = 0;
  while (rank < most && factor_size(rows, columns, rank + 1, pivot) <= numbers) ++rank;
  return rank;
}

std::vector<std::int64_t> allot_ranks(const std::vector<Allotted>& matrices, std::int64_t numbers, bool pivot) {
  // For a price of a number each matrix chooses alone; the price at which all fit is found by halving.
  const auto chosen_at = [&](double price, std::int64_t& used) {
    std::vector<std::int64_t> ranks;
    used = 0;
    for (const Allotted& one : matrices) {
      const std::int64_t whole = one.rows * one.columns, most = largest_rank(one.rows, one.columns, whole, pivot);
      std::int64_t best = 0, best_size = whole;
      double least = price * static_cast<double>(whole);
      for (std::int64_t rank = 1; rank <= most && rank < std::ssize(one.loss); ++rank) {
        const std::int64_t size = factor_size(one.rows, one.columns, rank, pivot);
        const double cost = one.loss[static_cast<std::size_t>(rank)] + price * static_cast<double>(size);
        if (cost < least) std::tie(best, best_size, least) = std::tuple(rank, size, cost);
      }
      ranks.push_back(best);
      used += best_size;
    }
    return ranks;
  };
  double low = 0, high = 1e-30;
  std::int64_t used = 0;
  std::vector<std::int64_t> ranks = chosen_at(high, used);
  for (int i = 0; used > numbers && i < 400; ++i) ranks = chosen_at(high *= 4, used);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    auto tried = chosen_at(middle, used);
    if (used <= numbers) {
      high = middle;
      ranks = std::move(tried);
    } else {
      low = middle;
    }
  }
  return ranks;
}

}  // namespace kw::lm
