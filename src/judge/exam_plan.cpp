#include "judge/exam_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "ops/graph.h"
#include "ops/lengths.h"

namespace kw::judge {
namespace {

// Three in four are independent draws of lengths: a condition that holds for 5 % of them is missed in 1 %.
constexpr std::size_t kHiddenShapes = 120;
// Of each input class on the own shape, where there are no others.
constexpr int kOwnRounds = 12;
constexpr double kTypicalShare = 1.0 / 3;
// Of the others: a type has some hundred powers of two, and small shapes few elements.
constexpr double kWideShare = 0.375;
// Shapes with fewer elements hold hardly any of them.
constexpr std::int64_t kFewElements = 256;
// Cases for data of a certain make, on shapes that cost next to nothing.
constexpr std::size_t kPatterns = 48;
constexpr std::int64_t kFewInPattern = 48, kMostInPattern = 2048;
constexpr double kCheapFlops = 2e5;

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

// Bounds of sums hold for roundings as good as random. Long sums of equal terms are none: they drift.
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

// Data of a certain make (all equal, numbered, an identity, pixels) is drawn in many ways, each of them seldom: small
// shapes are tried on it again.
void add_patterns(std::vector<PlannedCase>& plan, const Task& task, Random& random) {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].hidden || is_much_longer(plan[i].lengths, task)) continue;
    const auto graph = ops::resolve(task, plan[i].lengths);
    if (!graph.ok() || graph->inputs.empty() || ops::cost_of(*graph).flops > kCheapFlops) continue;
    const std::int64_t elements = graph->inputs[0].type.shape.count();
    if (elements >= kFewInPattern && elements <= kMostInPattern) able.push_back(i);
  }
  for (std::size_t i = 0; i < kPatterns && !able.empty(); ++i) {
    PlannedCase one = plan[random.pick(able)];
    one.input_class = i % 3 == 0 ? ops::InputClass::edges : ops::InputClass::ties;
    plan.push_back(std::move(one));
  }
}

}  // namespace

std::vector<PlannedCase> plan_exam(const Task& task, int threads, Random& random) {
  std::vector<PlannedCase> plan;
  plan.push_back({.lengths = task.lengths, .threads = threads});
  plan.push_back({.lengths = task.lengths, .thin = true, .threads = threads});
  std::vector<ops::InputClass> hard = hard_classes(random);
  for (std::size_t i = 0; i < hard.size(); ++i) {
    plan.push_back({.lengths = task.lengths, .input_class = hard[i], .optional = i > 0, .threads = threads});
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
  // What takes long in every case is tried less often.
  for (int round = 0; round < kOwnRounds && hidden.empty(); ++round) {
    for (ops::InputClass one : ops::kAllInputClasses) {
      plan.push_back({.lengths = task.lengths, .input_class = one, .optional = true, .threads = any_threads()});
    }
  }
  add_patterns(plan, task, random);
  // Each class has turns of its own.
  std::map<ops::InputClass, std::uint64_t> turns;
  for (PlannedCase& one : plan) {
    one.turn = turns.try_emplace(one.input_class, random.bits() % 10000).first->second++;
  }
  return plan;
}

}  // namespace kw::judge
