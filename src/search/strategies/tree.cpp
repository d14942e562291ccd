// Monte-Carlo tree search over decisions in their order: the technique, then its tunables as the source lists them
// (outer blocking before inner), then the compiler and its flags. A branch is worth the best that was found below it,
// and those that were visited seldom are visited again (UCT).
#include <algorithm>
#include <cmath>

#include "search/strategy.h"

namespace kw::search::strategies {
namespace {

constexpr double kCuriosity = 0.25;
constexpr int kTriesOfANode = 30;

class Tree : public Strategy {
 public:
  explicit Tree(const Brief& brief) : notes_(brief) {}

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    const auto take = [&](const Point& point) {
      if (points.size() < most && notes_.add(point)) points.push_back(point);
    };
    for (const Point& point : notes_.defaults_left()) take(point);
    for (int tries = 0; points.size() < most && tries < kTriesOfANode * static_cast<int>(most); ++tries) {
      const Point point = descend();
      // Later visits should go elsewhere meanwhile.
      visit(point, 0);
      if (notes_.is_new(point) && notes_.space().allows(point)) take(point);
    }
    return points;
  }

  void observe(const Observation& observation) override {
    notes_.note(observation);
    visit(observation.point, observation.time ? 1 / *observation.time : 0);
  }

 private:
  // A branch is a beginning of decisions: the kernel, then picks.
  using Path = std::vector<std::size_t>;
  struct Branch {
    int visits = 0;
    double best = 0;  // speed of the fastest point below
  };

  void visit(const Point& point, double speed) {
    Path path;
    const auto mark = [&] {
      Branch& branch = branches_[path];
      ++branch.visits;
      branch.best = std::max(branch.best, speed);
    };
    mark();
    path.push_back(point.kernel);
    mark();
    for (std::size_t pick : point.picks) {
      path.push_back(pick);
      mark();
    }
  }

  std::size_t decide(Path& path, std::size_t choices) {
    const auto parent = branches_.find(path);
    const int visits = parent == branches_.end() ? 0 : parent->second.visits;
    const double fastest = std::max(notes_.best() != nullptr ? 1 / *notes_.best()->time : 1.0, 1e-9);
    double most = -1;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < choices; ++i) {
      path.push_back(i);
      const auto found = branches_.find(path);
      path.pop_back();
      // An untried one counts as the best; among those, chance.
      const double worth =
          found == branches_.end()
              ? 1 + notes_.random().unit() * 0.1
              : found->second.best / fastest + kCuriosity * std::sqrt(std::log(visits + 1.0) / found->second.visits);
      if (worth > most) {
        most = worth;
        chosen = i;
      }
    }
    path.push_back(chosen);
    return chosen;
  }

  Point descend() {
    Path path;
    Point point;
    point.kernel = decide(path, notes_.space().kernels().size());
    for (const Dimension& dimension : notes_.space().dimensions(point.kernel)) {
      point.picks.push_back(decide(path, dimension.values.size()));
    }
    return point;
  }

  Notebook notes_;
  std::map<Path, Branch> branches_;
};

}  // namespace

StrategyKind tree() {
  return {.name = "tree",
          .about = "Monte-Carlo tree search over the decisions in their order",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Tree>(brief); }};
}

}  // namespace kw::search::strategies
