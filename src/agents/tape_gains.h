// What a tape says by itself, without being played: which tasks have a right kernel, and how much faster than the first
// one the best is. All figures are those of the machine that recorded it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agents/decisions.h"

namespace kw::agents {

// What the exchanges of a tape's folder are about, by their names: "ArgMax, round 0, question 1".
struct TapedTask {
  int rounds = 0;  // that the model was asked in
  int questions = 0;
};
Result<std::map<std::string, TapedTask>> tasks_of(const std::filesystem::path& folder);

// Of a task.
struct TapeGain {
  std::string task;
  bool built = false;
  bool right = false;
  double times = 1;               // as fast as the first right kernel: the product of the steps' medians
  std::vector<Comparison> steps;  // rounds that were faster than the incumbent beyond the interval
};

// The largest first.
std::vector<TapeGain> gains_of(const Decisions& tape);
// A line of a table: "| TopK | 8.75 | 7.74 [7.57, 8.04], 1.13 [1.10, 1.19] |"
std::string row_of(const TapeGain& gain);

}  // namespace kw::agents
