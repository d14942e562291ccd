#include "search/space.h"

#include <algorithm>
#include <cstdlib>

namespace kw::search {
namespace {

constexpr char kCompiler[] = "compiler";
constexpr char kFlags[] = "flags";
constexpr int kTries = 200;

bool has_order(const Dimension& dimension) { return dimension.name != kCompiler && dimension.name != kFlags; }

// The compiler that builds a source unless another one is set.
std::string named_first(const Tunables& tunables, const BuildOptions& options) {
  Tunables free = tunables;
  free.requirements.clear();
  const auto choice = choose(free, {}, options);
  return choice.ok() ? choice->compiler : tunables.compilers.front();
}

Dimension dimension_of(const Tunable& tunable) {
  Dimension dimension{tunable.name, {std::to_string(tunable.fallback)}};
  for (std::int64_t value : tunable.values) {
    if (value != tunable.fallback) dimension.values.push_back(std::to_string(value));
  }
  return dimension;
}

// Calls `each` with every combination of picks until it says no.
template <class Each>
void walk(const std::vector<Dimension>& dimensions, Each&& each) {
  std::vector<std::size_t> picks(dimensions.size(), 0);
  while (true) {
    if (!each(picks)) return;
    std::size_t i = 0;
    for (; i < picks.size(); ++i) {
      if (++picks[i] < dimensions[i].values.size()) break;
      picks[i] = 0;
    }
    if (i == picks.size()) return;
  }
}

}  // namespace

Result<Space> Space::of(std::vector<Kernel> kernels, const BuildOptions& options) {
  Space space;
  space.options_ = options;
  const std::vector<std::string>& compilers = options.here;
  space.kernels_ = std::move(kernels);
  for (std::size_t i = 0; i < space.kernels_.size(); ++i) {
    const Kernel& kernel = space.kernels_[i];
    std::vector<Dimension> dimensions;
    for (const Tunable& tunable : kernel.tunables.list) dimensions.push_back(dimension_of(tunable));
    std::vector<std::string> builders;
    for (const std::string& one : kernel.tunables.compilers.empty() ? compilers : kernel.tunables.compilers) {
      if (std::ranges::find(compilers, one) != compilers.end()) builders.push_back(one);
    }
    if (builders.empty()) builders = compilers;
    if (!builders.empty()) dimensions.push_back({kCompiler, builders});
    const std::vector<std::string>& flags = kernel.tunables.flags.empty() ? options.flags : kernel.tunables.flags;
    if (!flags.empty()) dimensions.push_back({kFlags, flags});
    space.dimensions_.push_back(std::move(dimensions));

    // The requirements speak of tunables alone; compiler and flags keep their defaults here.
    std::optional<Point> nearest;
    std::size_t least_moved = 0;
    std::size_t seen = 0;
    walk(space.dimensions_[i], [&](const std::vector<std::size_t>& picks) {
      const auto moved =
          static_cast<std::size_t>(std::ranges::count_if(picks, [](std::size_t one) { return one > 0; }));
      const Point point{i, picks};
      if ((!nearest || moved < least_moved) && space.allows(point)) {
        nearest = point;
        least_moved = moved;
      }
      return !(nearest && least_moved == 0) && ++seen < 200'000;
    });
    if (!nearest) {
      return fail("{}: its requirements allow no setting of its tunables: {}", kernel.file,
                  kernel.tunables.requirements.empty() ? "" : kernel.tunables.requirements.front().text);
    }
    space.firsts_.push_back(*nearest);
  }
  return space;
}

bool Space::allows(const Point& point) const {
  return kernels_[point.kernel].tunables.requirements.empty() ||
         choose(kernels_[point.kernel].tunables, settings(point), options_).ok();
}

Settings Space::settings(const Point& point) const {
  Settings settings;
  const std::vector<Dimension>& dimensions = dimensions_[point.kernel];
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::string& value = dimensions[i].values[point.picks[i]];
    // The compiler that the source names first may not be here, and then the first one of the dimension is another.
    const bool is_default = dimensions[i].name == kCompiler
                                ? value == named_first(kernels_[point.kernel].tunables, options_)
                                : point.picks[i] == 0;
    if (!is_default) settings[dimensions[i].name] = value;
  }
  return settings;
}

std::uint64_t Space::count(std::size_t kernel, std::uint64_t most) const {
  // Compiler and flags come last and stand in no requirement.
  std::vector<Dimension> numbers;
  std::uint64_t builds = 1;
  for (const Dimension& dimension : dimensions_[kernel]) {
    if (has_order(dimension)) {
      numbers.push_back(dimension);
    } else {
      builds *= dimension.values.size();
    }
  }
  if (kernels_[kernel].tunables.requirements.empty()) {
    for (const Dimension& dimension : numbers) builds *= dimension.values.size();
    return builds;
  }
  std::uint64_t allowed = 0, seen = 0;
  walk(numbers, [&](const std::vector<std::size_t>& picks) {
    Point point{kernel, picks};
    point.picks.resize(dimensions_[kernel].size(), 0);
    allowed += allows(point) ? 1 : 0;
    return ++seen < most;
  });
  return allowed * builds;
}

std::uint64_t Space::count() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kernels_.size(); ++i) sum += count(i);
  return sum;
}

std::vector<Point> Space::all(std::size_t kernel, std::size_t most) const {
  std::vector<Point> points;
  walk(dimensions_[kernel], [&](const std::vector<std::size_t>& picks) {
    const Point point{kernel, picks};
    if (allows(point)) points.push_back(point);
    return points.size() < most;
  });
  return points;
}

Point Space::any(Random& random) const { return any(random.bits() % kernels_.size(), random); }

Point Space::any(std::size_t kernel, Random& random) const {
  for (int i = 0; i < kTries; ++i) {
    Point point{kernel, {}};
    for (const Dimension& dimension : dimensions_[kernel]) {
      point.picks.push_back(random.bits() % dimension.values.size());
    }
    if (allows(point)) return point;
  }
  return firsts_[kernel];
}

std::vector<Point> Space::neighbours(const Point& point) const {
  std::vector<Point> found;
  const std::vector<Dimension>& dimensions = dimensions_[point.kernel];
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const Dimension& dimension = dimensions[i];
    std::vector<std::size_t> steps;
    if (has_order(dimension)) {
      // By value: the next smaller and the next larger.
      const double here = number(point, i);
      std::optional<std::size_t> below, above;
      for (std::size_t k = 0; k < dimension.values.size(); ++k) {
        const double there = std::atof(dimension.values[k].c_str());
        if (there < here && (!below || there > std::atof(dimension.values[*below].c_str()))) below = k;
        if (there > here && (!above || there < std::atof(dimension.values[*above].c_str()))) above = k;
      }
      if (below) steps.push_back(*below);
      if (above) steps.push_back(*above);
    } else {
      for (std::size_t k = 0; k < dimension.values.size(); ++k) {
        if (k != point.picks[i]) steps.push_back(k);
      }
    }
    for (std::size_t step : steps) {
      Point other = point;
      other.picks[i] = step;
      if (allows(other)) found.push_back(std::move(other));
    }
  }
  return found;
}

bool Space::is_ordered(std::size_t kernel, std::size_t dimension) const {
  return has_order(dimensions_[kernel][dimension]);
}

double Space::number(const Point& point, std::size_t dimension) const {
  const Dimension& one = dimensions_[point.kernel][dimension];
  const std::size_t pick = point.picks[dimension];
  return has_order(one) ? std::atof(one.values[pick].c_str()) : static_cast<double>(pick);
}

std::string Space::text(const Point& point) const {
  std::string text = kernels_[point.kernel].technique;
  for (const auto& [name, value] : settings(point)) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace kw::search
