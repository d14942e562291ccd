#include "judge/exam_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "ops/graph.h"
#include "ops/lengths.h"

namespace kw::judge {
namespace {

// Three in four are independent draws of lengths: a condition that holds for 5 % of them is missed in 1 %.
constexpr std::size_t kHiddenShapes = 120;
// Cases of each input class on the task's own shape, where the task leaves no length open.
constexpr int kOwnRounds = 12;
constexpr double kTypicalShare = 1.0 / 3;
// The share of wide inputs (powers of two) among the hidden shapes without typical values: a type has some hundred
// powers, and small shapes have few elements.
constexpr double kWideShare = 0.375;
// Shapes with fewer elements than this hold too few powers of two.
constexpr std::int64_t kFewElements = 256;
// On the own shape every class is tried whatever the time, where its references cost next to nothing.
constexpr double kCheapOwnFlops = 2e6;
constexpr std::int64_t kCheapOwnElements = 1 << 15;
// Crowds: how many, of shapes with how many elements of the first input, and what all of them may cost together.
constexpr std::size_t kCrowds = 12, kMostInCrowd = 64;
constexpr double kFewestInCrowd = 6;
constexpr std::int64_t kFewInPattern = 48, kMostInPattern = 2048;
constexpr double kCrowdFlops = 1.6e7, kCrowdElements = 5e5;
// How much a weight's element counts in the cost of a set: it is drawn once for a crowd, but each reference reads it.
constexpr double kWeightShare = 0.3;
// This number of shapes is drawn for a crowd, and the cheapest is taken.
constexpr int kShapesLookedAt = 3;
// Shares of a crowd's sets. What is left are typical ones, each like the one before in a way (mixed_inputs.h).
constexpr std::pair<ops::InputClass, double> kCrowdShares[] = {{ops::InputClass::wide, 0.35},
                                                               {ops::InputClass::ties, 0.25},
                                                               {ops::InputClass::edges, 0.14},
                                                               {ops::InputClass::special, 0.08},
                                                               {ops::InputClass::tails, 0.06}};

std::vector<ops::InputClass> hard_classes(Random& random) {
  std::vector<ops::InputClass> classes;
  for (ops::InputClass one : ops::kAllInputClasses) {
    if (one != ops::InputClass::typical) classes.push_back(one);
  }
  random.shuffle(std::span(classes));
  return classes;
}

// The input classes of `count` hidden shapes in any order, beside `longer` shapes that have typical values anyway. Each
// class has its whole share: were each drawn alone, a class of a tenth would now and then be tried on two or three
// shapes, and a fault that shows in every other of them be missed.
std::vector<ops::InputClass> deal_classes(std::size_t count, std::size_t longer,
                                          const std::vector<ops::InputClass>& hard, Random& random) {
  const auto share_of = [&](double share) {
    return static_cast<std::size_t>(share * static_cast<double>(count + longer));
  };
  const std::size_t typical = share_of(kTypicalShare);
  std::vector<ops::InputClass> dealt(typical > longer ? typical - longer : 0, ops::InputClass::typical);
  dealt.resize(dealt.size() + share_of((1 - kTypicalShare) * kWideShare), ops::InputClass::wide);
  for (std::size_t i = 0; dealt.size() < count; ++i) dealt.push_back(hard[i % hard.size()]);
  random.shuffle(std::span(dealt));
  return dealt;
}

// Bounds of sums assume that roundings behave as if they were random. In long sums of equal terms they do not: the
// errors add up in one direction.
bool is_much_longer(const Lengths& lengths, const Task& task) {
  return std::ranges::any_of(lengths, [&](const auto& one) { return one.second > 2 * task.lengths.at(one.first); });
}

// What is tried on all powers of two is worth more where there is room for them: small shapes change places with larger
// ones.
void give_room(std::span<PlannedCase> hidden, const Task& task) {
  std::map<const PlannedCase*, std::int64_t> room;  // elements of the first input; of much longer shapes none
  std::vector<std::int64_t> all;
  for (const PlannedCase& one : hidden) {
    const auto graph = ops::resolve(task, one.lengths);
    const bool counts = graph.ok() && !graph->inputs.empty() && !is_much_longer(one.lengths, task);
    room[&one] = counts ? graph->inputs[0].type.shape.count() : 0;
    if (counts) all.push_back(room[&one]);
  }
  std::ranges::sort(all, std::greater<>());
  if (all.empty()) return;
  const std::int64_t enough = std::min(kFewElements, all[all.size() / 2]);
  auto next = hidden.begin();
  for (PlannedCase& one : hidden) {
    if (one.input_class != ops::InputClass::wide || room[&one] >= enough) continue;
    next = std::find_if(next, hidden.end(), [&](const PlannedCase& other) {
      return other.input_class != ops::InputClass::wide && room[&other] >= enough;
    });
    if (next == hidden.end()) return;
    std::swap(one.input_class, next->input_class);
  }
}

// A shape that could be a crowd's, and what one set of inputs costs there.
struct Cheap {
  const PlannedCase* planned;
  double share;           // of what all crowds may cost
  std::int64_t elements;  // of the first input
};

// Shapes with hardly any elements only where there are no others.
std::vector<Cheap> cheap_shapes(const std::vector<PlannedCase>& plan, const Task& task) {
  const bool open = std::ranges::any_of(plan, &PlannedCase::hidden);
  std::vector<Cheap> able;
  for (const PlannedCase& one : plan) {
    if (one.hidden != open || one.thin || is_much_longer(one.lengths, task)) continue;
    const auto graph = ops::resolve(task, one.lengths);
    if (!graph.ok() || graph->inputs.empty()) continue;
    double elements = 0;
    for (const ops::GraphInput& input : graph->inputs) {
      elements += (input.role == Role::input ? 1 : kWeightShare) * static_cast<double>(input.type.shape.count());
    }
    for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
      elements += static_cast<double>(graph->output_type(i).shape.count());
    }
    const std::int64_t first = graph->inputs[0].type.shape.count();
    if (first == 0 || first > kMostInPattern) continue;
    const double share = std::max(elements / kCrowdElements, ops::cost_of(*graph).flops / kCrowdFlops);
    if (share * kCrowds <= 1 / kFewestInCrowd) able.push_back({&one, share, first});
  }
  std::vector<std::int64_t> sizes;
  for (const Cheap& one : able) sizes.push_back(one.elements);
  std::ranges::sort(sizes);
  if (!sizes.empty()) {
    const std::int64_t enough = std::min(kFewInPattern, sizes[sizes.size() * 2 / 3]);
    std::erase_if(able, [&](const Cheap& one) { return one.elements < enough; });
  }
  return able;
}

bool is_cheap(const Task& task) {
  const auto own = ops::resolve(task);
  if (!own.ok() || own->inputs.empty()) return false;
  return ops::cost_of(*own).flops <= kCheapOwnFlops && own->inputs[0].type.shape.count() <= kCheapOwnElements;
}

}  // namespace

std::vector<PlannedCase> plan_exam(const Task& task, int threads, Random& random) {
  std::vector<PlannedCase> plan;
  plan.push_back({.lengths = task.lengths, .threads = threads});
  plan.push_back({.lengths = task.lengths, .thin = true, .threads = threads});
  std::vector<ops::InputClass> hard = hard_classes(random);
  const bool cheap = is_cheap(task);
  for (std::size_t i = 0; i < hard.size(); ++i) {
    plan.push_back({.lengths = task.lengths, .input_class = hard[i], .optional = i > 0 && !cheap, .threads = threads});
  }
  const auto any_threads = [&] { return static_cast<int>(random.integer(1, threads)); };
  const std::vector<Lengths> hidden = ops::hidden_lengths(task, random.bits(), kHiddenShapes);
  const auto longer = std::ranges::count_if(hidden, [&](const Lengths& one) { return is_much_longer(one, task); });
  std::vector<ops::InputClass> dealt =
      deal_classes(hidden.size() - static_cast<std::size_t>(longer), static_cast<std::size_t>(longer), hard, random);
  for (const Lengths& lengths : hidden) {
    const bool any = !is_much_longer(lengths, task);
    plan.push_back({.lengths = lengths,
                    .input_class = any ? dealt.back() : ops::InputClass::typical,
                    .hidden = true,
                    .threads = any_threads()});
    if (any) dealt.pop_back();
  }
  give_room(std::span(plan).last(hidden.size()), task);
  // A task without open lengths is tried in its own shape again and again; fewer times where that takes long.
  for (int round = 0; round < kOwnRounds && hidden.empty(); ++round) {
    for (ops::InputClass one : ops::kAllInputClasses) {
      plan.push_back({.lengths = task.lengths, .input_class = one, .optional = true, .threads = any_threads()});
    }
  }
  // Turns are counted for each class by itself.
  std::map<ops::InputClass, std::uint64_t> turns;
  for (PlannedCase& one : plan) {
    one.turn = turns.try_emplace(one.input_class, random.bits() % 10000).first->second++;
  }
  return plan;
}

std::vector<PlannedCrowd> plan_crowds(const Task& task, const std::vector<PlannedCase>& plan, Random& random) {
  const std::vector<Cheap> able = cheap_shapes(plan, task);
  std::map<ops::InputClass, std::uint64_t> turns;
  for (const PlannedCase& one : plan) turns[one.input_class] = one.turn + 1;
  std::vector<PlannedCrowd> crowds;
  for (std::size_t i = 0; i < kCrowds && !able.empty(); ++i) {
    const Cheap* chosen = &random.pick(able);
    for (int k = 1; k < kShapesLookedAt; ++k) {
      const Cheap* other = &random.pick(able);
      if (other->share < chosen->share) chosen = other;
    }
    const auto most = static_cast<std::size_t>(1 / (kCrowds * chosen->share));
    const std::size_t count = std::min(kMostInCrowd, most);
    PlannedCrowd crowd{.lengths = chosen->planned->lengths,
                       .hidden = chosen->planned->hidden,
                       .threads = chosen->planned->threads,
                       .sets = {}};
    for (const auto& [input_class, share] : kCrowdShares) {
      const double wanted = share * static_cast<double>(count) + random.unit();
      for (int k = 0; k < static_cast<int>(wanted); ++k) crowd.sets.push_back({input_class, turns[input_class]++});
    }
    random.shuffle(std::span(crowd.sets));
    while (crowd.sets.size() < count)
      crowd.sets.push_back({ops::InputClass::typical, turns[ops::InputClass::typical]++});
    crowds.push_back(std::move(crowd));
  }
  return crowds;
}

}  // namespace kw::judge
