#include "lm_torch/factorise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lm_torch/linear.h"

namespace kw::lm {
namespace {

at::Tensor drawn(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
  at::manual_seed(seed);
  return at::randn({rows, columns}, at::kDouble);
}

// Tokens whose channels differ much in size and go together.
at::Tensor tokens_for(std::int64_t channels) {
  const at::Tensor mixing = drawn(channels, channels, 5) * at::linspace(0.05, 3, channels, at::kDouble);
  return at::mm(drawn(6 * channels, channels, 6), mixing);
}

double output_error(const at::Tensor& matrix, const Factors& factors, const at::Tensor& tokens) {
  return at::mm(tokens, (matrix - at::mm(factors.up, factors.down)).t()).pow(2).sum().item<double>();
}

class Shape : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Shape, TellsWhatEachRankLosesInItsMeasure) {
  const auto [rows, columns] = GetParam();
  const at::Tensor matrix = drawn(rows, columns, 1), tokens = tokens_for(columns);
  const at::Tensor outward = drawn(rows, rows, 2);
  const Measure both{.input_gram = at::mm(tokens.t(), tokens), .output_gram = at::mm(outward.t(), outward)};
  const Spectrum spectrum = spectrum_of(matrix, both);
  for (const std::int64_t rank : {1, 4, 7}) {
    const Factors factors = truncated(spectrum, rank);
    double left = 0;
    for (std::size_t i = static_cast<std::size_t>(rank); i < spectrum.squares.size(); ++i) left += spectrum.squares[i];
    const at::Tensor error = at::mm(outward, matrix - at::mm(factors.up, factors.down));
    EXPECT_NEAR(at::mm(tokens, error.t()).pow(2).sum().item<double>() / left, 1, 1e-6) << rank;
  }
  const Factors whole = truncated(spectrum, std::min(rows, columns));
  EXPECT_TRUE(at::allclose(at::mm(whole.up, whole.down), matrix, 1e-6, 1e-8));
}

TEST_P(Shape, WhiteningBeatsAllOtherWaysOnItsOwnTokens) {
  const auto [rows, columns] = GetParam();
  const at::Tensor matrix = drawn(rows, columns, 1), tokens = tokens_for(columns);
  const at::Tensor gram = at::mm(tokens.t(), tokens);
  const double whitened = output_error(matrix, truncated(spectrum_of(matrix, {.input_gram = gram}), 5), tokens);
  const double plain = output_error(matrix, truncated(spectrum_of(matrix, {}), 5), tokens);
  const double scaled =
      output_error(matrix, truncated(spectrum_of(matrix, {.input_gram = tokens.abs().mean(0)}), 5), tokens);
  const double residual =
      output_error(matrix, with_residual(matrix, spectrum_of(matrix, {.input_gram = gram}), 5, 2), tokens);
  EXPECT_LT(whitened, 0.9 * plain);
  EXPECT_LT(whitened, scaled);
  EXPECT_LT(whitened, residual);
  EXPECT_LT(residual, plain);
}

TEST_P(Shape, KeepsTheSameMatrixByItsOwnRows) {
  const auto [rows, columns] = GetParam();
  const Factors factors = truncated(spectrum_of(drawn(rows, columns, 1), {}), 6);
  const Pivoted made = pivoted(factors);
  EXPECT_EQ(made.down.numel() + made.up.numel(), factor_size(rows, columns, 6, true));
  const Linear whole{.weight = at::mm(factors.up, factors.down)};
  const Linear thin{.down = made.down, .up = made.up, .rows = made.rows};
  EXPECT_TRUE(at::allclose(thin.product(), whole.weight, 1e-8, 1e-9));
  const at::Tensor tokens = tokens_for(columns);
  EXPECT_TRUE(at::allclose(thin(tokens), whole(tokens), 1e-7, 1e-7));
  EXPECT_TRUE(at::allclose(thin(tokens[0]), whole(tokens[0]), 1e-7, 1e-7));
  EXPECT_EQ(thin.outputs(), rows);
  EXPECT_LT(made.up.abs().max().item<double>(), 50);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Shape, testing::Values(std::pair(12, 20), std::pair(20, 12), std::pair(16, 16)));

TEST(Factorise, TakesFewerTokensThanChannels) {
  const at::Tensor tokens = drawn(3, 10, 4), gram = at::mm(tokens.t(), tokens), matrix = drawn(14, 10, 1);
  const Factors factors = truncated(spectrum_of(matrix, {.input_gram = gram}), 3);
  EXPECT_TRUE(factors.down.isfinite().all().item<bool>());
  EXPECT_LT(output_error(matrix, factors, tokens), 1e-3);
}

// Inputs that changed on their way through compressed layers: x' = A x.
TEST(Factorise, RefitsToInputsThatChanged) {
  const at::Tensor matrix = drawn(12, 16, 1), tokens = tokens_for(16);
  const at::Tensor changed = at::mm(tokens, at::eye(16, at::kDouble) + 0.1 * drawn(16, 16, 9));
  const Factors before = truncated(spectrum_of(matrix, {.input_gram = at::mm(tokens.t(), tokens)}), 6);
  const Factors after =
      refitted(before, at::mm(at::mm(matrix, tokens.t()), changed), at::mm(changed.t(), changed), 0.01);
  const auto error = [&](const Factors& factors) {
    return (at::mm(tokens, matrix.t()) - at::mm(changed, at::mm(factors.up, factors.down).t()))
        .pow(2)
        .sum()
        .item<double>();
  };
  EXPECT_LT(error(after), 0.8 * error(before));
}

TEST(Factorise, TellsHowWrongOutputsAre) {
  const at::Tensor matrix = drawn(12, 16, 1), tokens = tokens_for(16), gram = at::mm(tokens.t(), tokens);
  const Factors factors = truncated(spectrum_of(matrix, {.input_gram = gram}), 6);
  const double whole = at::mm(tokens, matrix.t()).pow(2).sum().item<double>();
  EXPECT_NEAR(relative_error(matrix, at::mm(factors.up, factors.down), gram),
              output_error(matrix, factors, tokens) / whole, 1e-5);
  EXPECT_NEAR(relative_error(matrix, matrix * 0.5, {}), 0.25, 1e-6);
}

TEST(Factorise, CountsWhatFactorsTake) {
  EXPECT_EQ(factor_size(576, 1536, 100, false), 211200);
  EXPECT_EQ(factor_size(576, 1536, 100, true), 201200);
  EXPECT_EQ(largest_rank(576, 576, 576 * 576 * 8 / 10, false), 230);
  EXPECT_EQ(largest_rank(576, 576, 576 * 576 * 8 / 10, true), 318);
  EXPECT_EQ(largest_rank(4, 4, 100, false), 1);  // rank 2 takes as much as the matrix
  EXPECT_EQ(largest_rank(4, 4, 3, false), 0);
}

TEST(Factorise, GivesRanksToThoseThatLoseMost) {
  Allotted easy{.rows = 20, .columns = 20}, hard = easy;
  for (int rank = 0; rank <= 20; ++rank) {
    easy.loss.push_back(rank < 3 ? 10.0 * (3 - rank) : 0);  // three directions are all
    hard.loss.push_back(20 - rank);
  }
  for (const bool pivot : {false, true}) {
    const auto ranks = allot_ranks({easy, hard}, 560, pivot);
    EXPECT_EQ(ranks[0], 3) << pivot;
    EXPECT_EQ(ranks[1], 0) << pivot;  // whole: 400 + at most 120 numbers
    const auto fewer = allot_ranks({easy, hard}, 400, pivot);
    EXPECT_EQ(fewer[0], 3) << pivot;
    EXPECT_GT(fewer[1], 0) << pivot;
    EXPECT_LE(factor_size(20, 20, 3, pivot) + factor_size(20, 20, fewer[1], pivot), 400) << pivot;
  }
}

}  // namespace
}  // namespace kw::lm
