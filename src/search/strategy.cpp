#include "search/strategy.h"

#include <fmt/ranges.h>

#include "base/nearest.h"

namespace kw::search {

void Notebook::note(const Observation& observation) {
  proposed_.insert(observation.point);
  seen_.push_back(observation);
  if (observation.time && (best() == nullptr || *observation.time < *best()->time)) best_ = seen_.size() - 1;
}

std::vector<Point> Notebook::defaults_left() const {
  std::vector<Point> left;
  for (std::size_t i = 0; i < space_.kernels().size(); ++i) {
    if (is_new(space_.first(i))) left.push_back(space_.first(i));
  }
  return left;
}

std::optional<Point> Notebook::any_new() {
  for (int i = 0; i < 50; ++i) {
    Point point = space_.any(random_);
    if (is_new(point)) return point;
  }
  return std::nullopt;
}

Result<StrategyKind> find_strategy(const std::string& name) {
  std::vector<std::string> names;
  for (const strategies::Maker maker : strategies::table) {
    StrategyKind kind = maker();
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  return fail("no strategy is called '{}'{}; there are {}", name, nearest_hint(name, names), fmt::join(names, ", "));
}

}  // namespace kw::search
