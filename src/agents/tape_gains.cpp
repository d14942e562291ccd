#include "agents/tape_gains.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::agents {

std::vector<TapeGain> gains_of(const Decisions& tape) {
  std::vector<TapeGain> gains;
  for (const auto& [at, decided] : tape.all()) {  // by task, its rounds in order
    if (gains.empty() || gains.back().task != at.first) gains.push_back({.task = at.first});
    TapeGain& gain = gains.back();
    for (const VerdictStage stage : decided.stages) {
      gain.built = gain.built || stage != VerdictStage::build;
      gain.right = gain.right || stage == VerdictStage::accepted;
    }
    if (!decided.beside || !decided.beside->faster()) continue;
    gain.steps.push_back(*decided.beside);
    gain.times *= decided.beside->median;
  }
  std::ranges::stable_sort(gains, std::greater(), &TapeGain::times);
  return gains;
}

std::string row_of(const TapeGain& gain) {
  std::string steps;
  for (const Comparison& one : gain.steps)
    steps += fmt::format("{}{:.2f} [{:.2f}, {:.2f}]", steps.empty() ? "" : ", ", one.median, one.low, one.high);
  return fmt::format("| {} | {:.2f} | {} |", gain.task, gain.times, steps.empty() ? "no round was faster" : steps);
}

}  // namespace kw::agents
