#include "ops/lengths.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "ops/graph.h"

namespace kw::ops {
namespace {

struct Size {
  std::int64_t elements = 0;  // of all tensors that a caller would have to hold
  double flops = 0;
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

// Lengths that code treats differently: next to the task's own, parts and multiples of it, round numbers, small primes.
std::int64_t telling_length(std::int64_t own, Random& random) {
  switch (random.integer(0, 8)) {
    case 0:
      return 1;
    case 1:
      return random.pick({2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 61, 67, 97, 127, 131});
    case 2:
      return own + 1;
    case 3:
      return own - 1;
    case 4:
      return own / random.pick({2, 3, 4, 8});
    case 5:
      return own * random.pick({2, 3, 4}) + random.integer(-1, 1);
    case 6:
      return random.pick({2, 4, 8, 16, 32, 64, 128, 256, 512});
    case 7: {  // a multiple of what vectors, tiles and people like
      const std::int64_t step = random.pick({4, 8, 16, 100});
      return step * random.integer(1, std::max<std::int64_t>(2 * own / step, 1));
    }
    default:
      return 2 * random.integer(0, 40) + 1;
  }
}

// Log-uniform over [1, most]: as many between 10 and 20 as between 100 and 200.
std::int64_t any_length(std::int64_t most, Random& random) {
  return static_cast<std::int64_t>(std::exp(random.uniform(0, std::log(static_cast<double>(most) + 1))));
}

class Drawing {
 public:
  Drawing(const Task& task, std::uint64_t seed, std::size_t count)
      : task_(task),
        random_(seed),
        count_(count),
        own_(size_with(task, task.lengths).value_or(kFloor)),
        least_(size_with(task, tiny_lengths(task)).value_or(Size())) {}

  std::vector<Lengths> run() {
    if (task_.lengths.empty()) return {};
    // First each length in turn far beyond what the task shows, as far as there is room. Of the others one in four is
    // telling, and the rest are independent draws over the whole range.
    std::vector<std::string> names;
    for (const auto& [name, ignored] : task_.lengths) names.push_back(name);
    random_.shuffle(std::span(names));
    names.resize(std::clamp<std::size_t>(count_ / kOneLongIn, 1, names.size()));
    for (std::size_t i = 0; i < count_; ++i) {
      bool found = false;
      for (int attempt = 0; attempt < kTries && !found; ++attempt) {
        is_related_ = false;
        found = add(i < names.size() ? with_a_long(names[i]) : i % 4 == 0 ? telling() : anywhere());
      }
    }
    // Each length empty once, among small ones: they cost nothing, and who divides by a length shows.
    for (const auto& [empty, ignored] : task_.lengths) {
      Lengths lengths = task_.lengths;
      for (auto& [name, value] : lengths) value = name == empty ? 0 : random_.integer(1, 3);
      if (size_with(task_, lengths) && seen_.insert(lengths).second) result_.push_back(std::move(lengths));
    }
    put_neighbours_together();
    return std::move(result_);
  }

 private:
  static constexpr int kTries = 60;
  static constexpr std::int64_t kTimesOwn = 4;
  static constexpr double kEqualShare = 0.15;
  static constexpr double kTurnedShare = 0.2, kRelatedShare = 0.35;  // of telling ones
  static constexpr std::size_t kOneLongIn = 12;                      // shapes, at most
  static constexpr int kNeighbours = 4;
  static constexpr std::int64_t kLeastNeighbour = 3;
  // All of them together may cost this multiple of the task's own shape, or the least below.
  static constexpr double kTimesCost = 10;
  static constexpr Size kFloor{.elements = 1 << 21, .flops = 4e7};
  // Nor do they cost more than this: a GPU's task has small hidden shapes, which a CPU's reference can afford.
  static constexpr Size kCeiling{.elements = 1 << 27, .flops = 4e10};
  // What every shape costs because some axes are no lengths comes on top, up to this.
  static constexpr Size kMostFixed{.elements = 1 << 24, .flops = 4e8};

  double cost_of(const Size& size) const {
    const auto count = static_cast<double>(count_);
    const double elements =
        std::clamp(kTimesCost * static_cast<double>(own_.elements), static_cast<double>(kFloor.elements),
                   static_cast<double>(kCeiling.elements)) +
        std::min(count * static_cast<double>(least_.elements), static_cast<double>(kMostFixed.elements));
    const double flops = std::clamp(kTimesCost * own_.flops, kFloor.flops, kCeiling.flops) +
                         std::min(count * least_.flops, kMostFixed.flops);
    return std::max(static_cast<double>(size.elements) / elements, size.flops / flops);
  }

  // In parts of what all may cost together; none where the operators forbid it.
  std::optional<double> cost_with(const Lengths& lengths) const {
    const auto size = size_with(task_, lengths);
    return size ? std::optional(cost_of(*size)) : std::nullopt;
  }

  Lengths with_a_long(const std::string& name) {
    Lengths lengths = task_.lengths;
    for (auto& [ignored, value] : lengths) value = any_length(value, random_);
    const std::int64_t own = task_.lengths.at(name);
    for (std::int64_t times : {128, 64, 32, 16, 8, 5}) {
      // The others make room for it.
      Lengths shorter = lengths;
      for (int i = 0; i < kRoomMade; ++i) {
        shorter[name] = own * times + random_.integer(1, 1 + own / 4);
        if (const auto cost = cost_with(shorter); cost && *cost < kLongest) return shorter;
        for (auto& [ignored, value] : shorter) value = any_length(value, random_);
      }
    }
    lengths[name] = own * 5 + random_.integer(1, 1 + own / 4);
    return lengths;
  }

  Lengths telling() {
    if (!result_.empty()) {
      const double chosen = random_.unit();
      is_related_ = chosen < kTurnedShare + kRelatedShare;
      if (chosen < kTurnedShare) return turned(result_.back());
      if (is_related_) return related(result_.back());
    }
    Lengths lengths = task_.lengths;
    const double share = random_.pick({0.3, 0.6, 1.0});
    const bool tiny = random_.chance(0.2);  // there 1, 2 and 3 meet each other
    for (auto& [name, value] : lengths) {
      if (tiny) {
        value = random_.integer(1, 3);
      } else if (random_.chance(share)) {
        value = std::max<std::int64_t>(telling_length(value, random_), 1);
      }
    }
    return lengths;
  }

  // As the one before, with two of its lengths exchanged: as many elements, which catches a kernel that takes the count
  // for the shape.
  Lengths turned(Lengths lengths) {
    const auto any = [&] { return std::next(lengths.begin(), random_.integer(0, std::ssize(lengths) - 1)); };
    std::swap(any()->second, any()->second);
    return lengths;
  }

  // As the one before, with one length half or twice as large, or one more or less: what a kernel keeps for a shape is
  // then nearly the right one.
  Lengths related(Lengths lengths) {
    const auto one = std::next(lengths.begin(), random_.integer(0, std::ssize(lengths) - 1));
    std::int64_t& value = one->second;
    const std::int64_t before = value;
    switch (random_.integer(0, 3)) {
      case 0:
        value = before / 2;
        break;
      case 1:
        value = std::min(2 * before, kTimesOwn * task_.lengths.at(one->first));
        break;
      case 2:
        value = before + 1;
        break;
      default:
        value = before - 1;
    }
    value = std::max<std::int64_t>(value, 1);
    return lengths;
  }

  Lengths anywhere() {
    Lengths lengths = task_.lengths;
    for (auto& [name, value] : lengths) value = any_length(kTimesOwn * value, random_);
    // Chance hardly ever makes two long ones equal, and code likes squares.
    if (lengths.size() > 1 && random_.chance(kEqualShare)) {
      const auto any = [&] { return std::next(lengths.begin(), random_.integer(0, std::ssize(lengths) - 1)); };
      const auto one = any();
      auto other = any();
      if (other == one) other = std::next(one) == lengths.end() ? lengths.begin() : std::next(one);
      const std::int64_t most = kTimesOwn * std::min(task_.lengths.at(one->first), task_.lengths.at(other->first));
      one->second = other->second = std::min(one->second, most);
    }
    return lengths;
  }

  // Each length is a few times one more than in the shape before: what a kernel keeps for a shape is then nearly the
  // right one. There are such pairs among so many, and their order is free.
  void put_neighbours_together() {
    for (const auto& [name, ignored] : task_.lengths) {
      int pairs = 0;
      for (std::size_t i = 0; i + 1 < result_.size() && pairs < kNeighbours; ++i) {
        const std::int64_t wanted = result_[i].at(name) + 1;
        if (wanted <= kLeastNeighbour || paired_.contains(i) || paired_.contains(i + 1)) continue;
        for (std::size_t k = 0; k < result_.size(); ++k) {
          if (result_[k].at(name) != wanted || paired_.contains(k)) continue;
          std::swap(result_[i + 1], result_[k]);
          paired_.insert({i, i + 1});
          ++pairs;
          break;
        }
      }
    }
  }

  // A shape that costs too much keeps one of its lengths, and others become shorter.
  bool add(Lengths lengths) {
    auto cost = cost_with(lengths);
    if (!cost) return false;
    const double usual = 1 / static_cast<double>(count_);
    if (*cost > usual && spent_ + *cost > 1) {
      auto keeps = lengths.begin();
      std::advance(keeps, random_.integer(0, std::ssize(lengths) - 1));
      for (int i = 0; i < kTries && (!cost || *cost > usual); ++i) {
        for (auto one = lengths.begin(); one != lengths.end(); ++one) {
          if (one != keeps || i > kTries / 2) one->second = any_length(one->second, random_);
        }
        cost = cost_with(lengths);
      }
      if (!cost || *cost > usual) return false;
    }
    if (lengths == task_.lengths || !seen_.insert(lengths).second) return false;
    spent_ += *cost > usual ? *cost : 0;
    if (is_related_) paired_.insert({result_.size() - 1, result_.size()});
    result_.push_back(std::move(lengths));
    return true;
  }

  static constexpr double kLongest = 0.1;
  static constexpr int kRoomMade = 4;  // how often others are drawn shorter

  const Task& task_;
  Random random_;
  std::size_t count_;
  Size own_;
  Size least_;                    // of its smallest shape
  double spent_ = 0;              // by those that cost more than most
  bool is_related_ = false;       // what was drawn last, to the shape before
  std::set<std::size_t> paired_;  // shapes that stay beside each other
  std::set<Lengths> seen_;
  std::vector<Lengths> result_;
};

}  // namespace

std::vector<Lengths> hidden_lengths(const Task& task, std::uint64_t seed, std::size_t count) {
  return Drawing(task, seed, count).run();
}

Lengths lengths_within(const Task& task, const Allowance& most) {
  Lengths lengths = task.lengths;
  std::set<std::string> kept;  // cannot be shorter
  for (;;) {
    const auto size = size_with(task, lengths);
    if (size && static_cast<double>(size->elements) <= most.elements && size->flops <= most.flops) return lengths;
    std::int64_t* longest = nullptr;
    const std::string* name = nullptr;
    for (auto& [one, value] : lengths) {
      if (value < 2 || kept.contains(one) || (longest != nullptr && *longest >= value)) continue;
      longest = &value;
      name = &one;
    }
    if (longest == nullptr) return lengths;
    const std::int64_t now = *longest;
    *longest = (now + 1) / 2;
    if (!has_empty_output(task, lengths)) continue;
    *longest = now;
    kept.insert(*name);
  }
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
