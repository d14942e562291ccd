#include "search/memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/json.h"

namespace kw::search {
namespace {

// So far apart in size (log2), a lesson counts half.
constexpr double kHalfAt = 2;
// What won on another machine or device, against the same here.
constexpr double kElsewhere = 0.5;
// Of the fit of what single values do.
constexpr int kSweeps = 10;
constexpr double kFewTrials = 1;
constexpr double kFewSearches = 1;

double size_of(const ops::Graph& graph) { return std::log2(std::max(ops::cost_of(graph).bytes(), 1.0)); }

std::optional<Point> point_of(const Space& space, const store::Lesson& lesson) {
  const Json settings = Json::parse_quietly(lesson.settings);
  if (!settings.is_object()) return std::nullopt;
  for (std::size_t i = 0; i < space.kernels().size(); ++i) {
    if (space.kernels()[i].technique != lesson.technique) continue;
    Point point{i, std::vector<std::size_t>(space.dimensions(i).size(), 0)};
    for (const auto& [name, value] : settings.items()) {
      const auto& dimensions = space.dimensions(i);
      const auto dimension = std::ranges::find(dimensions, name, &Dimension::name);
      if (dimension == dimensions.end() || !value.is_string()) return std::nullopt;
      const auto found = std::ranges::find(dimension->values, value.get<std::string>());
      if (found == dimension->values.end()) return std::nullopt;
      point.picks[static_cast<std::size_t>(dimension - dimensions.begin())] =
          static_cast<std::size_t>(found - dimension->values.begin());
    }
    if (space.allows(point)) return point;
  }
  return std::nullopt;
}

}  // namespace

std::string family_of(const ops::Graph& graph) {
  std::string family;
  for (const ops::GraphNode& node : graph.nodes) family += (family.empty() ? "" : "+") + node.call.op->name;
  return family;
}

Result<std::vector<PastResult>> recall(const store::Store& store, const std::string& machine_identity,
                                       const ops::Graph& graph, const Space& space) {
  KW_TRY(const auto kept, store::lessons_of(store, machine_identity, family_of(graph)));
  std::vector<PastResult> lessons;
  const auto add = [&](const store::Lesson& one, double trust) {
    const std::optional<Point> point = point_of(space, one);
    if (!point) return;
    const double apart = std::fabs(one.size - size_of(graph));
    const double likeness = one.task == graph.task->name ? 1 : std::exp2(-apart / kHalfAt) * 0.9;
    lessons.push_back({*point, one.time, trust * likeness});
  };
  for (const store::Lesson& one : kept) add(one, 1);
  if (std::ranges::find(kept, graph.task->name, &store::Lesson::task) != kept.end()) return lessons;
  KW_TRY(const auto winners, store::winners_elsewhere(store, machine_identity, family_of(graph)));
  for (const store::Lesson& one : winners) add(one, kElsewhere);
  return lessons;
}

Result<std::vector<Leaning>> recall_leanings(const store::Store& store, const std::string& machine_identity,
                                             const ops::Graph& graph) {
  KW_TRY(const auto kept, store::lessons_of(store, machine_identity, ""));
  using Value = std::pair<std::string, std::string>;  // of a dimension
  struct Settled {
    std::vector<Value> values;  // that are not the default
    double log_time = 0;
  };
  std::map<std::pair<std::string, std::string>, std::vector<Settled>> searches;  // by task and technique
  for (const store::Lesson& one : kept) {
    if (one.task == graph.task->name || !(one.time > 0)) continue;
    const Json settings = Json::parse_quietly(one.settings);
    if (!settings.is_object()) continue;
    Settled trial{.log_time = std::log(one.time)};
    for (const auto& [name, value] : settings.items()) {
      if (value.is_string()) trial.values.emplace_back(name, value.get<std::string>());
    }
    searches[{one.task, one.technique}].push_back(std::move(trial));
  }
  // In each search, what every value does alone: the mean of what the others in the same trials leave unexplained,
  // drawn towards nothing where there are few trials.
  std::map<Value, std::vector<double>> effects;
  for (const auto& [_, trials] : searches) {
    std::map<Value, double> own;
    for (const Settled& trial : trials) {
      for (const Value& value : trial.values) own[value] = 0;
    }
    for (int i = 0; i < kSweeps; ++i) {
      for (auto& [value, effect] : own) {
        double sum = 0, count = 0;
        for (const Settled& trial : trials) {
          if (std::ranges::find(trial.values, value) == trial.values.end()) continue;
          double rest = trial.log_time + effect;
          for (const Value& other : trial.values) rest -= own[other];
          sum += rest;
          ++count;
        }
        effect = sum / (count + kFewTrials);
      }
    }
    for (const auto& [value, effect] : own) effects[value].push_back(effect);
  }
  std::vector<Leaning> leanings;
  for (const auto& [value, list] : effects) {
    const double sum = std::accumulate(list.begin(), list.end(), 0.0);
    leanings.push_back({value.first, value.second, sum / (static_cast<double>(list.size()) + kFewSearches)});
  }
  return leanings;
}

Status remember(const store::Store& store, const std::string& machine_identity, const ops::Graph& graph,
                const Space& space, const std::vector<Observation>& observations) {
  std::vector<store::Lesson> lessons;
  for (std::size_t kernel = 0; kernel < space.kernels().size(); ++kernel) {
    const auto base = std::ranges::find_if(
        observations, [&](const Observation& one) { return one.time && one.point == space.first(kernel); });
    if (base == observations.end()) continue;
    for (const Observation& one : observations) {
      if (!one.time || one.point.kernel != kernel) continue;
      Json settings = Json::object();
      for (const auto& [name, value] : space.settings(one.point)) settings[name] = value;
      lessons.push_back({.family = family_of(graph),
                         .task = graph.task->name,
                         .size = size_of(graph),
                         .technique = space.kernels()[kernel].technique,
                         .settings = settings.dump(),
                         .time = *one.time / *base->time});
    }
  }
  return store::add_lessons(store, machine_identity, lessons);
}

}  // namespace kw::search
