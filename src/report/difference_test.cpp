#include "report/difference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::report {
namespace {

using Lines = std::vector<std::string>;

std::string numbered(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += fmt::format("line {}\n", i);
  return text;
}

TEST(Difference, OfEqualTextsIsEmpty) {
  EXPECT_EQ(difference_of("", ""), Difference{});
  EXPECT_EQ(difference_of(numbered(1, 9), numbered(1, 9)), Difference{});
}

TEST(Difference, ShowsTheChangedLinesAndThoseAroundThem) {
  std::string after = numbered(1, 20);
  after.replace(after.find("line 10\n"), 8, "line ten\nline ten and a half\n");
  const Difference difference = difference_of(numbered(1, 20), after, 1);
  EXPECT_EQ(difference.added, 2);
  EXPECT_EQ(difference.removed, 1);
  EXPECT_EQ(difference.lines,
            (Lines{"@ 8 lines", " line 9", "-line 10", "+line ten", "+line ten and a half", " line 11", "@ 9 lines"}));
}

TEST(Difference, FromNothingAndToNothing) {
  EXPECT_EQ(difference_of("", "a\nb\n").lines, (Lines{"+a", "+b"}));
  EXPECT_EQ(difference_of("a\nb", "").lines, (Lines{"-a", "-b"}));
}

TEST(Difference, CallsRewrittenWhatWouldTakeTooLong) {
  const Difference difference = difference_of("same\na\nb\nc\nend\n", "same\nd\ne\nf\nend\n", 0, 300, 2);
  EXPECT_EQ(difference.lines, (Lines{"@ 1 line", "-a", "-b", "-c", "+d", "+e", "+f", "@ 1 line"}));
}

TEST(Difference, KeepsTheBeginningOfALongOne) {
  const Difference difference = difference_of("", numbered(1, 50), 3, 10);
  EXPECT_EQ(difference.added, 50);
  ASSERT_EQ(difference.lines.size(), 11u);
  EXPECT_EQ(difference.lines.back(), "@ 40 lines");
}

// With every line shown it holds both texts, and no shorter way leads from one to the other.
TEST(Difference, LeadsFromOneTextToTheOther) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts(2);
    std::vector<std::vector<int>> lines(2);
    for (std::size_t t = 0; t < 2; ++t) {
      for (int i = static_cast<int>(random.uniform(0, 14)); i > 0; --i) {
        lines[t].push_back(static_cast<int>(random.uniform(0, 4)));
        texts[t] += fmt::format("{}\n", lines[t].back());
      }
    }
    const Difference difference = difference_of(texts[0], texts[1], 100);
    std::vector<std::string> rebuilt(2);
    for (const std::string& line : difference.lines) {
      if (line[0] != '+') rebuilt[0] += line.substr(1) + "\n";
      if (line[0] != '-') rebuilt[1] += line.substr(1) + "\n";
    }
    if (!difference.lines.empty()) {
      EXPECT_EQ(rebuilt, texts);
    }
    // The longest common subsequence, by the textbook.
    std::vector<std::vector<int>> longest(lines[0].size() + 1, std::vector<int>(lines[1].size() + 1));
    for (std::size_t i = 0; i < lines[0].size(); ++i) {
      for (std::size_t k = 0; k < lines[1].size(); ++k) {
        longest[i + 1][k + 1] =
            lines[0][i] == lines[1][k] ? longest[i][k] + 1 : std::max(longest[i][k + 1], longest[i + 1][k]);
      }
    }
    const int shared = longest.back().back();
    EXPECT_EQ(difference.removed, static_cast<int>(lines[0].size()) - shared);
    EXPECT_EQ(difference.added, static_cast<int>(lines[1].size()) - shared);
  }
}

}  // namespace
}  // namespace kw::report
