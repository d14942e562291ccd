#include "search/engine.h"

#include <gtest/gtest.h>

namespace kw::search {
namespace {

TEST(Budget, IsATimeOrANumberOfCandidates) {
  EXPECT_EQ(parse_budget("60s")->seconds, 60);
  EXPECT_EQ(parse_budget("2m")->seconds, 120);
  EXPECT_EQ(parse_budget("0.5s")->seconds, 0.5);
  EXPECT_EQ(parse_budget("200")->candidates, 200);
}

TEST(Budget, RefusesWhatSpendsNothingOrMeansNothing) {
  for (const char* text : {"0", "0s", "", "x", "5x", "-3", "1.5", "nan", "inf"}) {
    EXPECT_FALSE(parse_budget(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kw::search
