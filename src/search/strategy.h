// How a search spends its budget: a strategy proposes points of a space and learns how fast they were.
//
// One file a strategy in strategies/, found by the table that the build writes. All repeat for a seed and the same
// answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "search/space.h"

namespace kw::search {

// How a proposal did: its time against that of one kernel that stays the same through a search (below 1 is faster), or
// nothing where it did not build or was wrong.
struct Observation {
  Point point;
  std::optional<double> time;
};

// What was learned on other tasks, about points of this space (search/memory.h).
struct PastResult {
  Point point;
  double time = 1;    // against the default of the same kernel there
  double weight = 1;  // how much it says here: 1 for the same task, less for others
};

// What a value of a dimension did on average, on tasks of all kinds on this machine: the logarithm of the time against
// the dimension's default.
struct Leaning {
  std::string dimension;
  std::string value;
  double effect = 0;
};

// What a strategy starts from.
struct Brief {
  const Space* space = nullptr;
  std::uint64_t seed = 1;
  std::vector<PastResult> lessons = {};
  std::vector<Leaning> leanings = {};
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Up to `most` points that are worth measuring now, none twice; fewer, or none, where it knows of no more.
  virtual std::vector<Point> propose(std::size_t most) = 0;
  virtual void observe(const Observation& observation) = 0;
};

// What nearly every strategy keeps: what was proposed, and what came of it.
class Notebook {
 public:
  explicit Notebook(const Brief& brief) : space_(*brief.space), random_(brief.seed) {}

  const Space& space() const { return space_; }
  Random& random() { return random_; }
  bool is_new(const Point& point) const { return !proposed_.contains(point); }
  // False where it was proposed before.
  bool add(const Point& point) { return proposed_.insert(point).second; }
  void note(const Observation& observation);
  const std::vector<Observation>& seen() const { return seen_; }
  // Of those that were right; null while there is none.
  const Observation* best() const { return best_ < seen_.size() ? &seen_[best_] : nullptr; }
  // The defaults of each kernel that were not yet proposed, in the order of the space.
  std::vector<Point> defaults_left() const;
  // An allowed point that was not proposed yet; none where luck does not find one.
  std::optional<Point> any_new();

 private:
  const Space& space_;
  Random random_;
  std::set<Point> proposed_;
  std::vector<Observation> seen_;
  std::size_t best_ = static_cast<std::size_t>(-1);
};

struct StrategyKind {
  std::string name;
  std::string about;  // a line
  std::unique_ptr<Strategy> (*make)(const Brief& brief) = nullptr;
};

namespace strategies {
using Maker = StrategyKind (*)();
extern const std::span<const Maker> table;
}  // namespace strategies

// By name; an unknown one gets the nearest.
Result<StrategyKind> find_strategy(const std::string& name);

}  // namespace kw::search
