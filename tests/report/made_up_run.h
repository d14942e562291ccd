// Runs of searches that never happened, written into a store as real ones are: tasks of a suite, lines of candidates of
// which each is made from the best before it, verdicts of every stage, a machine with roofs. For pages to be looked at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace kw::report {

struct MadeUpRun {
  std::uint64_t seed = 1;
  int candidates = 1;          // of each task
  double rejected = 0.3;       // the share of candidates
  double failing = 0.1;        // the share of tasks of which all candidates are rejected
  double strength = 1;         // how fast its kernels are
  int pairs = 16;              // of times, of each verdict
  bool measures_again = true;  // the best one, after the choice
  std::string author = "made up";
  std::vector<std::string> rivals = {"plain", "mnn", "onnxruntime"};
  bool quick_checks = false;  // candidates that are right only pass one; the chosen ones are judged in full
  double most_of_roof = 0.9;  // above 1: as an algorithm that does fewer operations than are counted
};

// The tasks of a suite as judging would record them.
Result<std::vector<store::TaskSnapshot>> snapshots_of_suite(const std::string& suite);

// A processor with roofs for the picture.
store::Machine made_up_machine();

Result<std::int64_t> add_made_up_run(store::Store& store, std::span<const store::TaskSnapshot> tasks,
                                     const MadeUpRun& run);

}  // namespace kw::report
