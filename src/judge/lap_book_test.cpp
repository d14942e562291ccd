#include "judge/lap_book.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

// Candidate, rival, copy of the rival; every `disturbed`-th round is ten times as slow and not clean.
LapBook book_of(int rounds, double candidate_ns, double rival_ns, int disturbed = 0) {
  LapBook book(3, 1);
  for (int i = 1; i <= rounds; ++i) {
    const bool clean = disturbed == 0 || i % disturbed != 0;
    const double slow = clean ? 1 : 10;
    book.add(0, slow * candidate_ns + i % 3);
    book.add(1, slow * rival_ns + i % 5);
    book.add(2, slow * rival_ns + i % 4);
    book.end_round(clean);
  }
  return book;
}

TEST(LapBook, LeavesDisturbedRoundsOut) {
  const LapBook book = book_of(30, 1000, 3000, 2);
  EXPECT_FALSE(book.busy());
  EXPECT_EQ(book.times_of(0).size(), 15);
  EXPECT_NEAR(book.ratio(0, 1)->median, 3, 0.01);
}

TEST(LapBook, CountsAllRoundsWhereHardlyOneIsClean) {
  const LapBook book = book_of(20, 1000, 3000, 1);
  EXPECT_TRUE(book.busy());
  EXPECT_EQ(book.times_of(0).size(), 20);
}

TEST(LapBook, ChargesHiddenWorkToTheCandidateAlone) {
  const LapBook book = book_of(20, 1000, 3000);
  const Charges charges(20, 500);
  EXPECT_NEAR(book.ratio(0, 1, charges)->median, 2, 0.01);
  EXPECT_NEAR(book.times_of(1, charges).front(), 3001, 5);
}

TEST(LapBook, ChargesEachRoundForItself) {
  const LapBook book = book_of(20, 1000, 3000);
  Charges charges(20, 0);
  charges[3] = 700;
  EXPECT_NEAR(book.times_of(0, charges)[3], 1701, 2);
  EXPECT_NEAR(book.times_of(0, charges)[4], 1002, 2);
}

TEST(LapBook, HasNoRatioOfTooFewPairs) {
  EXPECT_FALSE(book_of(7, 1000, 3000).ratio(0, 1));
  EXPECT_EQ(book_of(7, 1000, 3000).noise(), 1);
}

TEST(LapBook, TakesItsNoiseFromACopy) {
  EXPECT_LT(book_of(40, 1000, 3000).noise(), 0.01);
  EXPECT_GE(book_of(40, 1000, 3000).noise(), 0.002);
}

}  // namespace
}  // namespace kw::judge
