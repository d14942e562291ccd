// Points by chance: what every other strategy has to beat.
#include "search/strategy.h"

namespace kw::search::strategies {
namespace {

class ByChance : public Strategy {
 public:
  explicit ByChance(const Brief& brief) : notes_(brief) {}

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    while (points.size() < most) {
      const std::optional<Point> point = notes_.any_new();
      if (!point) break;
      notes_.add(*point);
      points.push_back(*point);
    }
    return points;
  }

  void observe(const Observation& observation) override { notes_.note(observation); }

 private:
  Notebook notes_;
};

}  // namespace

StrategyKind random() {
  return {.name = "random", .about = "points by chance", .make = [](const Brief& brief) -> std::unique_ptr<Strategy> {
            return std::make_unique<ByChance>(brief);
          }};
}

}  // namespace kw::search::strategies
