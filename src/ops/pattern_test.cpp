#include "ops/pattern.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kw::ops {
namespace {

// 6 x 20 different numbers, what is expected; and the answer that a test spoils.
struct Answer {
  WideTensor expected{TensorType{DType::float32, Shape{6, 20}, false}};
  Tensor got{DType::float32, Shape{6, 20}};

  Answer() {
    expected.add_slack();
    for (int i = 0; i < 120; ++i) {
      expected.reals[static_cast<std::size_t>(i)] = 1 + i * i;
      expected.slack[static_cast<std::size_t>(i)] = 1e-3;
      got.set_real(i, 1 + i * i);
    }
  }
  double wanted(int row, int column) const { return expected.reals[static_cast<std::size_t>(20 * row + column)]; }
  template <class F>
  std::string with(F&& value, int first_row = 0, int last_row = 5, int first_column = 0, int last_column = 19,
                   int step = 1) {
    for (int row = first_row; row <= last_row; ++row) {
      for (int column = first_column; column <= last_column; column += step)
        got.set_real(20 * row + column, value(row, column));
    }
    return pattern_of_wrong(expected, got);
  }
};

TEST(PatternOfWrong, SaysNothingOfARightAnswer) { EXPECT_EQ(pattern_of_wrong(Answer().expected, Answer().got), ""); }

TEST(PatternOfWrong, KnowsValues) {
  EXPECT_EQ(Answer().with([](int, int) { return NAN; }), "every element; all of them NaN");
  EXPECT_EQ(Answer().with([](int, int) { return 0; }), "every element; all of them zero");
  Answer doubled;
  EXPECT_EQ(doubled.with([&](int r, int c) { return 2 * doubled.wanted(r, c); }),
            "every element; each is 2 times what it should be");
  Answer shifted;
  EXPECT_EQ(shifted.with([&](int r, int c) { return shifted.wanted(r, c) + 5; }), "every element; each is +5 off");
}

TEST(PatternOfWrong, KnowsPlaces) {
  EXPECT_EQ(Answer().with([](int r, int c) { return -r - 7 * c * c; }, 0, 5, 16, 19),
            "only the last 4 of the 20 of axis 1: a tail that was left out?");
  EXPECT_EQ(Answer().with([](int r, int c) { return -r - 7 * c * c; }, 2, 2), "only where axis 0 is 2");
  EXPECT_EQ(Answer().with([](int r, int c) { return -r - 7 * c * c; }, 0, 5, 0, 19, 19), "only at both ends of axis 1");
  EXPECT_EQ(Answer().with([](int r, int c) { return -r - 7 * c * c; }, 0, 5, 2, 18, 4),
            "only one in 4 of the last axis (place 2)");
  Answer border;
  EXPECT_EQ(border.with([&](int r, int c) {
    return r == 0 || c == 0 || r == 5 || c == 19 ? -r - 7 * c * c : border.wanted(r, c);
  }),
            "only on the border of the last two axes: padding?");
}

TEST(PatternOfWrong, KnowsAnswersThatWereMoved) {
  Answer next;
  EXPECT_NE(next.with([&](int r, int c) { return c < 19 ? next.wanted(r, c + 1) : -1; })
                .find("off by one along axis 1: each is its next neighbour's"),
            std::string::npos);
  Answer swapped;
  // What a kernel writes that thinks of the output as 20 x 6.
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 20; ++c) swapped.got.set_real(6 * c + r, swapped.wanted(r, c));
  }
  EXPECT_NE(pattern_of_wrong(swapped.expected, swapped.got).find("it is the answer with its last two axes swapped"),
            std::string::npos)
      << pattern_of_wrong(swapped.expected, swapped.got);
}

}  // namespace
}  // namespace kw::ops
