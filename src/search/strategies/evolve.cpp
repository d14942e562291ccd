// Evolution with an archive of elites (MAP-Elites): the best point of each way to behave is kept and bred from, so that
// a technique that is behind today is not lost. Ways to behave are the kernel's technique, the shape of its tiles and
// how much it works on at a time. Several islands breed apart and now and then send their best over.
#include <algorithm>
#include <array>
#include <cmath>

#include "search/strategy.h"

namespace kw::search::strategies {
namespace {

constexpr std::size_t kIslands = 2;
constexpr int kMovesEvery = 16;  // observations
constexpr double kCrossing = 0.3;
constexpr double kNewBlood = 0.1;
constexpr int kTries = 30;

using Niche = std::array<int, 3>;

class Evolution : public Strategy {
 public:
  explicit Evolution(const Brief& brief) : notes_(brief) {}

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    const auto take = [&](const Point& point) {
      if (points.size() >= most || !notes_.add(point)) return;
      points.push_back(point);
      home_[point] = turn_++ % kIslands;
    };
    for (const Point& point : notes_.defaults_left()) take(point);
    for (int tries = 0; points.size() < most && tries < kTries * static_cast<int>(most); ++tries) {
      const auto& island = islands_[turn_ % kIslands];
      if (island.empty() || notes_.random().chance(kNewBlood)) {
        if (const std::optional<Point> point = notes_.any_new()) take(*point);
        continue;
      }
      take(child(island));
    }
    return points;
  }

  void observe(const Observation& observation) override {
    notes_.note(observation);
    if (!observation.time) return;
    const auto found = home_.find(observation.point);
    settle(islands_[found == home_.end() ? 0 : found->second], observation);
    if (++observed_ % kMovesEvery == 0) {
      for (std::size_t i = 0; i < kIslands; ++i) {
        if (const Observation* best = notes_.best()) settle(islands_[i], *best);
      }
    }
  }

 private:
  using Island = std::map<Niche, Observation>;

  Niche niche_of(const Point& point) const {
    const Space& space = notes_.space();
    double product = 1, largest = 1;
    for (std::size_t i = 0; i < point.picks.size(); ++i) {
      const double value = std::max(space.number(point, i), 1.0);
      product *= value;
      largest = std::max(largest, value);
    }
    return {static_cast<int>(point.kernel), static_cast<int>(std::log2(product)),
            static_cast<int>(2 * std::log2(largest))};
  }

  void settle(Island& island, const Observation& observation) const {
    const auto [at, is_new] = island.try_emplace(niche_of(observation.point), observation);
    if (!is_new && *observation.time < *at->second.time) at->second = observation;
  }

  const Observation& elite(const Island& island) {
    auto at = island.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(notes_.random().bits() % island.size()));
    return at->second;
  }

  Point child(const Island& island) {
    Random& random = notes_.random();
    Point point = elite(island).point;
    if (random.chance(kCrossing)) {
      const Point& other = elite(island).point;
      if (other.kernel == point.kernel) {
        for (std::size_t i = 0; i < point.picks.size(); ++i) {
          if (random.chance(0.5)) point.picks[i] = other.picks[i];
        }
      }
    }
    if (const std::vector<Point> around = notes_.space().neighbours(point); !around.empty())
      point = random.pick(around);
    if (random.chance(0.3)) {
      if (const std::vector<Point> around = notes_.space().neighbours(point); !around.empty()) {
        point = random.pick(around);
      }
    }
    return notes_.space().allows(point) ? point : notes_.space().any(point.kernel, random);
  }

  Notebook notes_;
  std::array<Island, kIslands> islands_;
  std::map<Point, std::size_t> home_;  // which island a proposal came from
  std::size_t turn_ = 0;
  int observed_ = 0;
};

}  // namespace

StrategyKind evolve() {
  return {.name = "evolve",
          .about = "evolution with an archive of elites, on islands",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Evolution>(brief); }};
}

}  // namespace kw::search::strategies
