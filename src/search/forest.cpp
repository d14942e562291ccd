#include "search/forest.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace kw::search {
namespace {

constexpr int kTrees = 24;
constexpr int kDeepest = 12;
constexpr int kSplitsTried = 8;

struct Sums {
  double weight = 0, sum = 0, squares = 0;

  void add(const Example& example) {
    weight += example.weight;
    sum += example.weight * example.value;
    squares += example.weight * example.value * example.value;
  }
  double mean() const { return weight > 0 ? sum / weight : 0; }
  double spread() const { return weight > 0 ? std::max(squares - sum * sum / weight, 0.0) : 0; }
};

}  // namespace

Forest::Forest(std::span<const Example> examples, Random& random) {
  assert(!examples.empty());
  for (int i = 0; i < kTrees; ++i) {
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < examples.size(); ++k) chosen.push_back(random.bits() % examples.size());
    Tree tree;
    grow(tree, examples, std::move(chosen), 0, random);
    trees_.push_back(std::move(tree));
  }
}

int Forest::grow(Tree& tree, std::span<const Example> examples, std::vector<std::size_t> chosen, int depth,
                 Random& random) {
  Sums all;
  for (std::size_t index : chosen) all.add(examples[index]);
  const int here = static_cast<int>(tree.size());
  tree.push_back({.value = all.mean()});
  if (chosen.size() < 2 || depth == kDeepest || all.spread() < 1e-12) return here;

  // Of a few splits at random places the best one.
  int feature = -1;
  double threshold = 0, least = std::numeric_limits<double>::infinity();
  const std::size_t features = examples[0].features.size();
  for (int i = 0; i < kSplitsTried && features > 0; ++i) {
    const std::size_t tried = random.bits() % features;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t index : chosen) {
      low = std::min(low, examples[index].features[tried]);
      high = std::max(high, examples[index].features[tried]);
    }
    if (!(low < high)) continue;
    const double at = random.uniform(low, high);
    Sums below, above;
    for (std::size_t index : chosen) (examples[index].features[tried] <= at ? below : above).add(examples[index]);
    const double left = below.spread() + above.spread();
    if (left < least) {
      least = left;
      feature = static_cast<int>(tried);
      threshold = at;
    }
  }
  if (feature < 0) return here;
  std::vector<std::size_t> below, above;
  for (std::size_t index : chosen) {
    (examples[index].features[static_cast<std::size_t>(feature)] <= threshold ? below : above).push_back(index);
  }
  if (below.empty() || above.empty()) return here;
  const int first = grow(tree, examples, std::move(below), depth + 1, random);
  const int second = grow(tree, examples, std::move(above), depth + 1, random);
  Node& node = tree[static_cast<std::size_t>(here)];
  node.feature = feature;
  node.threshold = threshold;
  node.below = first;
  node.above = second;
  return here;
}

Prediction Forest::predict(std::span<const double> features) const {
  double sum = 0, squares = 0;
  for (const Tree& tree : trees_) {
    const Node* node = &tree[0];
    while (node->feature >= 0) {
      const bool is_below = features[static_cast<std::size_t>(node->feature)] <= node->threshold;
      node = &tree[static_cast<std::size_t>(is_below ? node->below : node->above)];
    }
    sum += node->value;
    squares += node->value * node->value;
  }
  const auto count = static_cast<double>(trees_.size());
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(squares / count - mean * mean, 0.0))};
}

}  // namespace kw::search
