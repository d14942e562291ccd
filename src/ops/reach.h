// Which powers of two the input class `wide` draws between: as far as every honest way to compute a graph can follow.
//
// Where something is multiplied and added, the largest inputs overflow in one order and not in another, so that not all
// of them may be large at once. But one input alone may be of any size where the result is proportional to it; a few
// very small elements are lost among typical ones in every order; and so are typical ones beside a few very large ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "ops/graph.h"

namespace kw::ops {

struct Reach {
  double low = -12;
  double high = 12;
  std::int64_t few = -1;  // how many elements lie there, the others being typical; below 0: all of them
};

// One for each of graph.inputs; those that are not of a float type have no meaning. Where it may, one of them is drawn
// anew each time to lie anywhere in the type's range, or some of its elements do. Draws with numbers in a row take
// turns: very small elements, large ones of one input after the other, all of them. Without `weights` none of these is
// weights.
std::vector<Reach> draw_reaches(const Graph& graph, std::uint64_t turn, Random& random, bool weights = true);

// Which patterns inputs may have. Where results are differences of nearly equal sums (norms of equal elements), no
// honest kernel is exact on equal elements; where long sums are taken, terms of one sign and of all sizes get lost.
struct Patterns {
  bool equal = false;  // all elements equal, in order, or repeated
  bool one_sign = false;
  bool zeros = false;              // many zeros, or nothing else
  bool zeros_among_small = false;  // though the others are very small
  bool nans = false;               // every operator says what NaN gives
};
Patterns patterns_of(const Graph& graph);

}  // namespace kw::ops
