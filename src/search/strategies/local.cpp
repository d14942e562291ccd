// Hill climbing with restarts: from the best point of a climb to its neighbours, one step in one dimension at a time;
// where no neighbour is better, from somewhere else. The first climb begins at the best of the kernels' defaults.
#include <algorithm>

#include "search/strategy.h"

namespace kw::search::strategies {
namespace {

class Climb : public Strategy {
 public:
  explicit Climb(const Brief& brief) : notes_(brief) {}

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    const auto take = [&](const Point& point) {
      if (points.size() < most && notes_.add(point)) points.push_back(point);
    };
    for (const Point& point : notes_.defaults_left()) take(point);
    if (!points.empty()) return points;  // the climb begins at the best of them
    if (here_) {
      std::vector<Point> around = notes_.space().neighbours(here_->point);
      notes_.random().shuffle(std::span(around));
      for (const Point& point : around) take(point);
    }
    if (points.empty()) {
      here_.reset();
      if (const std::optional<Point> point = notes_.any_new()) take(*point);
    }
    return points;
  }

  void observe(const Observation& observation) override {
    notes_.note(observation);
    if (observation.time && (!here_ || *observation.time < *here_->time)) here_ = observation;
  }

 private:
  Notebook notes_;
  std::optional<Observation> here_;  // the best of this climb
};

}  // namespace

StrategyKind local() {
  return {.name = "local",
          .about = "hill climbing with restarts",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Climb>(brief); }};
}

}  // namespace kw::search::strategies
