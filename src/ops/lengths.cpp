#include "ops/lengths.h"

#include <algorithm>
#include <set>

#include "base/random.h"
#include "ops/graph.h"

namespace kw::ops {
namespace {

// The elements of all tensors that a caller would have to hold, or -1 where the operators forbid the lengths.
std::int64_t elements_with(const Task& task, const Lengths& lengths) {
  const auto graph = resolve(task, lengths);
  if (!graph.ok()) return -1;
  std::int64_t total = 0;
  for (const GraphInput& input : graph->inputs) total += input.type.shape.count();
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) total += graph->output_type(i).shape.count();
  return total;
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
  constexpr std::int64_t kMostElements = 1 << 20;
  std::vector<Lengths> result;
  if (task.lengths.empty()) return result;
  Random random(seed);
  const std::int64_t most = std::max(elements_with(task, task.lengths) * 3 / 2, kMostElements);
  std::set<Lengths> seen{task.lengths};
  for (int attempt = 0; attempt < kTries * static_cast<int>(count) && result.size() < count; ++attempt) {
    Lengths lengths = task.lengths;
    // Every third is tiny: there 1, 2 and 3 meet each other. Of the rest few lengths are changed, or all; an empty one
    // now and then.
    const bool tiny = attempt % 3 == 2;
    if (attempt % 6 == 4) {  // one length far beyond what the task shows, as far as there is room; each in its turn
      auto some = lengths.begin();
      std::advance(some, (attempt / 6 + static_cast<std::int64_t>(seed % lengths.size())) % std::ssize(lengths));
      const std::int64_t own = some->second;
      for (std::int64_t times : {128, 64, 32, 16, 4, 1}) {
        some->second = own * times + random.integer(1, 1 + own / 4);
        const std::int64_t elements = elements_with(task, lengths);
        if (elements >= 0 && elements <= most) break;
      }
    }
    const double share = tiny ? 1.0 : random.pick({0.3, 0.6, 1.0});
    for (auto& [name, value] : lengths) {
      if (attempt % 6 != 4 && random.chance(share)) value = tiny ? random.integer(1, 3) : other_length(value, random);
    }
    if (random.chance(0.05)) {
      auto some = lengths.begin();
      std::advance(some, random.integer(0, static_cast<std::int64_t>(lengths.size()) - 1));
      some->second = 0;
    }
    if (!seen.insert(lengths).second) continue;
    const std::int64_t elements = elements_with(task, lengths);
    if (elements >= 0 && elements <= most) result.push_back(std::move(lengths));
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
