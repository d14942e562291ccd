#include "ops/lengths.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/random.h"
#include "ops/graph.h"

namespace kw::ops {
namespace {

struct Size {
  std::int64_t elements = 0;  // of all tensors that a caller would have to hold
  double flops = 0;

  bool fits(const Size& most) const { return elements <= most.elements && flops <= most.flops; }
};

// None where the operators forbid the lengths.
std::optional<Size> size_with(const Task& task, const Lengths& lengths) {
  const auto graph = resolve(task, lengths);
  if (!graph.ok()) return std::nullopt;
  Size size{.flops = cost_of(*graph).flops};
  for (const GraphInput& input : graph->inputs) size.elements += input.type.shape.count();
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) size.elements += graph->output_type(i).shape.count();
  return size;
}

bool has_empty_output(const Task& task, const Lengths& lengths) {
  const auto graph = resolve(task, lengths);
  if (!graph.ok()) return true;
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
    if (graph->output_type(i).shape.count() == 0) return true;
  }
  return false;
}

std::int64_t other_length(std::int64_t own, Random& random) {
  switch (random.integer(0, 6)) {
    case 0:
      return 1;
    case 1:
      return random.pick({2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 61, 67, 97, 127, 131});
    case 2:
      return own + 1;
    case 3:
      return std::max<std::int64_t>(own - 1, 1);
    case 4:
      return random.integer(own + 1, 4 * own + 1);
    case 5:
      return random.pick({2, 4, 8, 16, 32, 64, 128});
    default:
      return 2 * random.integer(0, 40) + 1;
  }
}

}  // namespace

std::vector<Lengths> hidden_lengths(const Task& task, std::uint64_t seed, std::size_t count) {
  constexpr int kTries = 60;  // for each that is wanted
  constexpr Size kMost{.elements = 1 << 20, .flops = 2e7};
  std::vector<Lengths> result;
  if (task.lengths.empty()) return result;
  Random random(seed);
  const Size own = size_with(task, task.lengths).value_or(kMost);
  const Size most{.elements = std::max(own.elements * 3 / 2, kMost.elements),
                  .flops = std::max(own.flops * 3 / 2, kMost.flops)};
  std::set<Lengths> seen{task.lengths};
  for (int attempt = 0; attempt < kTries * static_cast<int>(count) && result.size() < count; ++attempt) {
    Lengths lengths = task.lengths;
    // Every third is tiny: there 1, 2 and 3 meet each other. Of the rest few lengths are changed, or all.
    const bool tiny = attempt % 3 == 2;
    if (attempt % 6 == 4) {  // one length far beyond what the task shows, as far as there is room; each in its turn
      auto some = lengths.begin();
      std::advance(some, (attempt / 6 + static_cast<std::int64_t>(seed % lengths.size())) % std::ssize(lengths));
      const std::int64_t length = some->second;
      for (std::int64_t times : {128, 64, 32, 16, 4, 1}) {
        some->second = length * times + random.integer(1, 1 + length / 4);
        if (const auto size = size_with(task, lengths); size && size->fits(most)) break;
      }
    }
    const double share = tiny ? 1.0 : random.pick({0.3, 0.6, 1.0});
    for (auto& [name, value] : lengths) {
      if (attempt % 6 != 4 && random.chance(share)) value = tiny ? random.integer(1, 3) : other_length(value, random);
    }
    if (!seen.insert(lengths).second) continue;
    if (const auto size = size_with(task, lengths); size && size->fits(most)) result.push_back(std::move(lengths));
  }
  // Each length empty once, among small ones: they cost nothing, and who divides by a length shows.
  for (const auto& [empty, ignored] : task.lengths) {
    Lengths lengths = task.lengths;
    for (auto& [name, value] : lengths) value = name == empty ? 0 : random.integer(1, 3);
    if (seen.insert(lengths).second && size_with(task, lengths)) result.push_back(std::move(lengths));
  }
  return result;
}

Lengths tiny_lengths(const Task& task) {
  Lengths lengths = task.lengths;
  // One length after the other down to the least that works, 2 or more so that axes can be told apart; twice, since
  // lengths depend on each other.
  for (int round = 0; round < 2; ++round) {
    for (auto& [name, value] : lengths) {
      const std::int64_t now = value;
      for (std::int64_t smaller = 2; smaller < now; smaller = smaller < 16 ? smaller + 1 : smaller * 2) {
        value = smaller;
        if (!has_empty_output(task, lengths)) break;
        value = now;
      }
    }
  }
  return lengths;
}

}  // namespace kw::ops
