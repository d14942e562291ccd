#include "agents/surrogate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/json.h"
#include "core/tunables.h"

namespace kw::agents {
namespace {

constexpr std::size_t kFewestKnown = 8;  // before anything is guessed
constexpr std::size_t kNeighbours = 3;
constexpr std::size_t kFewestMisses = 19;  // the largest of this many is a bound that 95 % keep to
constexpr double kBound = 0.95;
constexpr double kMostWrong = 0.2;
constexpr double kLeastExplained = 0.5;
constexpr double kAudited = 0.25;   // of what would be left out
constexpr double kMostCount = 1e6;  // of instructions and bits: beyond this a note on code is none

// The upper end of the 95 % interval of a share (Wilson).
double share_at_most(int hits, int of) {
  if (of == 0) return 1;
  constexpr double z = 1.96;
  const double n = of, p = hits / n;
  return (p + z * z / (2 * n) + z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n);
}

}  // namespace

CodeFacts code_facts(const std::string& notes_json, const std::string& source) {
  CodeFacts facts;
  facts["packs"] = source.find("KW_PREPARE") != std::string::npos;
  const Json json = Json::parse_quietly(notes_json);
  if (const Json* loops = json.find("loops"); loops != nullptr && loops->is_array() && !loops->empty()) {
    facts["loops"] = std::log2(1.0 + static_cast<double>(loops->size()));
    // The deepest loop with the most work in a turn: this choice does not depend on measured times.
    const auto number = [](const Json& loop, const char* name) {
      const Json* found = loop.find(name);
      return found != nullptr && found->is_number() ? std::clamp(found->get<double>(), 0.0, kMostCount) : 0;
    };
    const auto rank = [&](const Json& loop) {
      return std::tuple(number(loop, "depth"), number(loop, "vector_bits") * number(loop, "vector_arithmetic"));
    };
    const Json* main = &(*loops)[0];
    for (std::size_t i = 1; i < loops->size(); ++i) {
      if (rank((*loops)[i]) > rank(*main)) main = &(*loops)[i];
    }
    facts["width"] = std::log2(1 + number(*main, "vector_bits"));
    facts["depth"] = number(*main, "depth");
    for (const char* name : {"instructions", "fused", "loads", "stores", "spills", "gathers", "divisions",
                             "vector_arithmetic", "scalar_arithmetic"}) {
      facts[name] = std::log2(1 + number(*main, name));
    }
  }
  if (const auto tunables = read_tunables(source); tunables.ok()) {
    for (const Tunable& one : tunables->list)
      facts["KW_TUNE " + one.name] = std::copysign(std::log2(1.0 + std::abs(static_cast<double>(one.fallback))),
                                                   static_cast<double>(one.fallback));
  }
  return facts;
}

double Surrogate::distance(const CodeFacts& a, const CodeFacts& b) const {
  double sum = 0;
  for (const auto& [name, range] : ranges_) {
    if (range.second <= range.first) continue;
    const auto value = [&](const CodeFacts& facts) {
      const auto found = facts.find(name);
      return found == facts.end() ? 0.0 : found->second;
    };
    const double apart = (value(a) - value(b)) / (range.second - range.first);
    sum += apart * apart;
  }
  return std::sqrt(sum);
}

std::optional<Surrogate::Guess> Surrogate::guess(const CodeFacts& facts) const {
  if (known_.size() < kFewestKnown) return std::nullopt;
  std::vector<std::pair<double, double>> near;  // distances and speeds
  for (const Known& one : known_) near.emplace_back(distance(facts, one.facts), one.speed);
  std::ranges::sort(near);
  // Together with all others at the same distance as the last one: the order of equals must not matter.
  const double farthest = near[kNeighbours - 1].first;
  double sum = 0, weights = 0;
  for (const auto& [apart, speed] : near) {
    if (apart > farthest) break;
    const double weight = 1 / (0.05 + apart);
    sum += weight * speed;
    weights += weight;
  }
  Guess guess{.speed = sum / weights};
  if (misses_.size() >= kFewestMisses) {
    std::vector<double> sorted = misses_;
    std::ranges::sort(sorted);
    const auto place = static_cast<std::size_t>(std::ceil(kBound * static_cast<double>(sorted.size() + 1)));
    guess.at_most = guess.speed + std::max(0.0, sorted[std::min(place, sorted.size()) - 1]);
  }
  return guess;
}

bool Surrogate::below(const std::optional<Guess>& guess, double incumbent) const {
  return guess && guess->at_most && *guess->at_most < incumbent;
}

std::string Surrogate::not_worth_measuring(const CodeFacts& facts, double incumbent) {
  const std::optional<Guess> guessed = guess(facts);
  if (!calibrated() || !below(guessed, incumbent) || random_.chance(kAudited)) return {};
  ++left_out_;
  return fmt::format("not worth measuring: guessed {:.2f} times as fast as the best, with 95 % at most {:.2f}",
                     std::exp(guessed->speed - incumbent), std::exp(*guessed->at_most - incumbent));
}

void Surrogate::learn(const CodeFacts& facts, double speed, double incumbent, bool better) {
  if (const std::optional<Guess> guessed = guess(facts)) {
    if (guessed->at_most) {
      ++bounded_;
      kept_to_ += speed <= *guessed->at_most;
    }
    if (below(guessed, incumbent)) {
      ++would_leave_out_;
      wrongly_ += better;
    }
    misses_.push_back(speed - guessed->speed);
    measured_.push_back(speed);
  }
  known_.push_back({facts, speed});
  for (const auto& [name, value] : facts) {
    // What is missing in an earlier kernel was 0 there.
    auto& [low, high] =
        ranges_.try_emplace(name, known_.size() > 1 ? 0 : value, known_.size() > 1 ? 0 : value).first->second;
    low = std::min(low, value);
    high = std::max(high, value);
  }
}

double Surrogate::explained() const {
  if (measured_.empty()) return 0;
  double mean = 0, all = 0, missed = 0;
  for (const double speed : measured_) mean += speed / static_cast<double>(measured_.size());
  for (const double speed : measured_) all += (speed - mean) * (speed - mean);
  for (const double miss : misses_) missed += miss * miss;
  return all > 0 ? 1 - missed / all : 0;
}

bool Surrogate::calibrated() const {
  return share_at_most(wrongly_, would_leave_out_) <= kMostWrong && explained() >= kLeastExplained;
}

std::string Surrogate::reliability() const {
  std::string text = fmt::format("surrogate: {} guesses", guesses());
  if (guesses() > 1) text += fmt::format(", which explain {:.0f} % of the variance", 100 * std::max(0.0, explained()));
  if (bounded_ > 0) {
    text += fmt::format("; {} of {} kept to their bound (95 % should)", kept_to_, bounded_);
    text +=
        fmt::format("; of {} measured ones that it would have left out, {} were better", would_leave_out_, wrongly_);
    if (would_leave_out_ > 0)
      text += fmt::format(" (at most {:.0f} %)", 100 * share_at_most(wrongly_, would_leave_out_));
  }
  return text + fmt::format("; {}, {} kernels left out", calibrated() ? "heeded" : "not heeded", left_out_);
}

}  // namespace kw::agents
