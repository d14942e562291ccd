// What two tasks have in common, and which tasks are kept from training.
//
// A task is held out where it has an operator that is held out, or where its structure is. Which ones those are follows
// from the seed and from the operator's or the structure's own name, not from what else is in a corpus: a corpus that
// grows keeps its split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/task.h"

namespace kw::corpus {

// Sorted, each once.
std::vector<std::string> operators_of(const Task& task);

// "Gemm(i,w,w);Relu(0)": operators and which results each one reads, without names, attributes and lengths.
std::string structure_of(const Task& task);

struct SplitRules {
  std::uint64_t seed = 1;
  double operators = 0.08;              // share of all operators that is held out; + - * / never are, unless named
  double structures = 0.08;             // likewise of structures with several nodes
  std::vector<std::string> named = {};  // operators that are held out besides
};

// Why a task is held out: "operator", "structure"; "" where it is for training.
std::string unseen_in(const Task& task, const SplitRules& rules);

}  // namespace kw::corpus
