// A forest of random trees that predicts a number from features, and says how sure it is of it: trees that were grown
// from different draws of the examples agree where there was something to learn, and differ where there was not.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/random.h"

namespace kw::search {

struct Example {
  std::vector<double> features;  // as many in all examples
  double value = 0;
  double weight = 1;
};

struct Prediction {
  double mean = 0;
  double doubt = 0;  // standard deviation over the trees
};

class Forest {
 public:
  // Needs at least one example. The same examples and random numbers give the same forest.
  Forest(std::span<const Example> examples, Random& random);

  Prediction predict(std::span<const double> features) const;

 private:
  struct Node {
    int feature = -1;  // -1: a leaf
    double threshold = 0;
    double value = 0;
    int below = 0, above = 0;  // children: at most the threshold, more
  };
  using Tree = std::vector<Node>;

  static int grow(Tree& tree, std::span<const Example> examples, std::vector<std::size_t> chosen, int depth,
                  Random& random);

  std::vector<Tree> trees_;
};

}  // namespace kw::search
