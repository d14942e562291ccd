#include <gtest/gtest.h>

#include "ops/by_hand.h"

namespace kw::ops {
namespace {

using Texts = std::vector<std::string>;

const Tensor kOne = tensor_of({1}, {1, 1, 1});

// h' = x + h, with Affine's defaults.
Sample running_sum(Tensor x) { return on(std::move(x), kOne, kOne).attribute("activations", Texts{"Affine"}); }

TEST(RNN, CarriesItsStateForward) {
  EXPECT_EQ(numbers("RNN", running_sum(tensor_of({1, 10, 100}, {3, 1, 1}))), (Numbers{1, 11, 111}));
}

TEST(RNN, ReversedWritesWhereItRead) {
  EXPECT_EQ(numbers("RNN", running_sum(tensor_of({1, 10, 100}, {3, 1, 1})).attribute("direction", "reverse")),
            (Numbers{111, 110, 100}));
}

TEST(RNN, StopsAtTheLengthOfEachSequence) {
  const Sample sample = running_sum(tensor_of({1, 2, 10, 20, 100, 200}, {3, 2, 1}))
                            .absent()
                            .constant(Tensor::of_integers({3, 2}, DType::int32));
  EXPECT_EQ(numbers("RNN", sample), (Numbers{1, 2, 11, 22, 111, 0}));
  EXPECT_EQ(numbers("RNN", sample, {.output = 1}), (Numbers{111, 22}));
}

TEST(RNN, RefusesALengthBeyondTheSequence) {
  EXPECT_TRUE(refused("RNN", running_sum(kOne).absent().constant(Tensor::of_integers({2}, DType::int32))));
}

TEST(RNN, TakesBatchesFirstWhenAsked) {
  EXPECT_EQ(numbers("RNN", running_sum(tensor_of({1, 10, 100, 2, 20, 200}, {2, 3, 1})).attribute("layout", 1)),
            (Numbers{1, 11, 111, 2, 22, 222}));
}

TEST(RNN, ClipsWhatEntersTheActivation) {
  EXPECT_EQ(numbers("RNN", running_sum(tensor_of({5, -9}, {2, 1, 1})).attribute("clip", 3.0)), (Numbers{3, -3}));
}

TEST(RNN, RunsBothDirectionsSideBySide) {
  const Tensor ones = tensor_of({1, 1}, {2, 1, 1});
  const Sample sample = on(tensor_of({1, 10}, {2, 1, 1}), ones, ones)
                            .attribute("direction", "bidirectional")
                            .attribute("activations", Texts{"Affine", "Affine"});
  EXPECT_EQ(numbers("RNN", sample), (Numbers{1, 11, 11, 10}));
}

// Gates z = r = sigmoid(0) = 1/2; the candidate sees half of the state, or half of the state's product and bias.
TEST(GRU, AppliesTheResetBeforeOrAfterTheProduct) {
  const Sample sample =
      on(zeros({1, 1, 1}), zeros({1, 3, 1}), tensor_of({0, 0, 1}, {1, 3, 1}), tensor_of({0, 0, 0, 0, 0, 8}, {1, 6}))
          .absent()
          .constant(tensor_of({4}, {1, 1, 1}))
          .attribute("activations", Texts{"Sigmoid", "Affine"});
  EXPECT_EQ(numbers("GRU", sample), (Numbers{7}));                                              // (2 + 8) / 2 + 4 / 2
  EXPECT_EQ(numbers("GRU", Sample(sample).attribute("linear_before_reset", 1)), (Numbers{5}));  // (4 + 8) / 4 + 4 / 2
}

// x = 2 enters the cell alone, whose state is 6.
Sample lstm(Texts activations, const Numbers& peepholes) {
  return on(tensor_of({2}, {1, 1, 1}), tensor_of({0, 0, 0, 1}, {1, 4, 1}), zeros({1, 4, 1}))
      .absent()
      .absent()
      .absent()
      .constant(tensor_of({6}, {1, 1, 1}))
      .constant(tensor_of(peepholes, {1, 3}))
      .attribute("activations", std::move(activations));
}
const Texts kAffine(3, "Affine");

TEST(LSTM, LetsTheOutputGatePeepAtTheNewCell) {
  const Sample sample = lstm(kAffine, {0.5, 0.25, 1});
  // i = 0.5 * 6, f = 1 * 6, C = 6 * 6 + 3 * 2, o = 0.25 * C
  EXPECT_EQ(numbers("LSTM", sample, {.output = 2}), (Numbers{42}));
  EXPECT_EQ(numbers("LSTM", sample), (Numbers{10.5 * 42}));
}

TEST(LSTM, CouplesInputAndForgetGate) {
  const Sample sample = lstm(kAffine, {0.5, 0, 0}).attribute("input_forget", 1);
  EXPECT_EQ(numbers("LSTM", sample, {.output = 2}), (Numbers{-6}));  // i = 3, f = 1 - 3
}

TEST(LSTM, RefusesAnUnknownActivation) { EXPECT_TRUE(refused("LSTM", lstm({"Sigmoid", "Tahn", "Tanh"}, {0, 0, 0}))); }

}  // namespace
}  // namespace kw::ops
