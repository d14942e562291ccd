#include "judge/exam_plan.h"

#include <algorithm>

#include "ops/lengths.h"

namespace kw::judge {
namespace {

// Three in four are independent draws of lengths: a condition that holds for 5 % of them is missed in 1 %.
constexpr std::size_t kHiddenShapes = 120;
// Of each input class on the own shape, where there are no others.
constexpr int kOwnRounds = 12;
constexpr double kTypicalShare = 1.0 / 3;
// Of the others: a type has some hundred powers of two, and small shapes few elements.
constexpr double kWideShare = 0.3;

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
  // What takes long in every case is tried less often.
  for (int round = 0; round < kOwnRounds && hidden.empty(); ++round) {
    for (ops::InputClass one : ops::kAllInputClasses) {
      plan.push_back({.lengths = task.lengths, .input_class = one, .optional = true, .threads = any_threads()});
    }
  }
  return plan;
}

}  // namespace kw::judge
