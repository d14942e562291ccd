#include "corpus/likeness.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace kw::corpus {
namespace {

std::string text_of_words(Random& random, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += "w" + std::to_string(random.integer(0, 400)) + " ";
  return text;
}

// The same text with some of its words drawn anew.
std::string varied(const std::string& text, double share, Random& random) {
  std::string other;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find(' ', begin);
    other +=
        (random.chance(share) ? "v" + std::to_string(random.integer(0, 400)) : text.substr(begin, end - begin)) + " ";
    begin = end + 1;
  }
  return other;
}

TEST(Likeness, TakesNumbersAndBlanksForNothing) {
  const Runs a = runs_of("for (int i = 0; i < 128; ++i) y[i] = x[i];");
  EXPECT_EQ(likeness(a, runs_of("for (int i = 0;  i < 4096; ++i)\n  y[i] = x[i];")), 1);
  EXPECT_LT(likeness(a, runs_of("for (int i = 0; i < 128; ++i) z[i] = max(x[i], y[i]);")), 0.7);
  EXPECT_EQ(likeness(runs_of("a"), runs_of("b")), 0);
}

// What the bands of min-hashes find, all pairs would find too.
TEST(Likeness, MissesNothingThatComparingAllPairsFinds) {
  Random random(3);
  constexpr double kLeast = 0.85;
  Likenesses likenesses(kLeast);
  std::vector<Runs> kept;
  std::vector<std::string> texts;
  int alike = 0;
  for (int i = 0; i < 400; ++i) {
    texts.push_back(texts.empty() || random.chance(0.4) ? text_of_words(random, 150)
                                                        : varied(random.pick(texts), random.uniform(0, 0.06), random));
    const Runs runs = runs_of(texts.back());
    const bool by_all_pairs = std::ranges::any_of(kept, [&](const Runs& one) { return likeness(one, runs) >= kLeast; });
    const Likenesses::Answer answer = likenesses.add(runs);
    EXPECT_EQ(answer.is_new, !by_all_pairs);
    if (answer.is_new) {
      EXPECT_EQ(answer.number, kept.size());
      kept.push_back(runs);
    } else {
      EXPECT_GE(likeness(kept.at(answer.number), runs), kLeast);
      ++alike;
    }
  }
  EXPECT_GT(alike, 50) << "some of both kinds were there";
  EXPECT_GT(kept.size(), 50u);
}

}  // namespace
}  // namespace kw::corpus
