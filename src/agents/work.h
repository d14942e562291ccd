// What was done on a task so far: rounds, each with its plan, its kernel, its verdict, and how it did beside the best
// kernel of that moment.
//
// Which kernel is the best is decided by pairs of times that were taken in one race, never by times of different
// races, and only where the difference is beyond the interval: a kernel that is not faster beyond it does not replace
// the incumbent, and is not called slower either.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/prompt.h"
#include "agents/surrogate.h"
#include "core/task.h"
#include "core/tunables.h"
#include "core/verdict.h"
#include "ops/graph.h"

namespace kw::agents {

// Who made a round. Stored by name.
enum class RoundRole {
  start,        // the kernel that the author was given
  coder,        // an author that writes without a plan
  debugger,     // repairs a kernel that was rejected
  accelerator,  // makes a right kernel faster
  tuner,        // other values of a kernel's tunables, without the model
  confirm       // the best, judged once more
};
std::string_view name_of(RoundRole role);
std::optional<RoundRole> role_named(std::string_view name);

// A round's kernel beside the incumbent, both timed in the same race.
struct Comparison {
  int with = -1;      // the incumbent's round
  double median = 1;  // of the pairs' ratios: above 1 the round's kernel is the faster one
  double low = 1;     // 95 % interval
  double high = 1;
  bool sure = false;   // the difference is larger than what identical kernels show
  bool taped = false;  // a tape or a foreign record says so: nothing was timed here, nor is learnt

  bool faster() const { return sure && low > 1; }
  bool slower() const { return sure && high < 1; }
  // It looks faster, though the interval or what identical kernels show leaves it open: the incumbent stays.
  bool may_be_faster() const { return low > 1 || median > kLooksFaster; }

  static constexpr double kLooksFaster = 1.03;
};
// "faster", "SLOWER", "no difference", or what lies between.
std::string_view outcome_of(const Comparison& one);

// Of a source; 0: not known.
struct Lines {
  int first = 0;
  int last = 0;
};

// One step: what was planned, what came of it.
struct Round {
  int number = 0;
  int parent = -1;  // the round whose kernel it began with; -1: none
  RoundRole role = RoundRole::coder;
  std::map<std::string, std::string> plan;
  std::string reflection;  // what the next plan says that this round taught
  std::string source;
  Settings settings;                // of rounds that older versions recorded; else the source's defaults hold
  int edits = 0;                    // how many edits the kernel came as; 0: it came whole
  std::vector<std::string> mended;  // problems of answers that were asked for again within the round
  std::string problem;              // why there is no kernel; then there is no verdict
  std::optional<Verdict> verdict;
  std::optional<VerdictStage> taped;     // how far it came when the tape that is played was made; authors go by it
  std::optional<Comparison> beside;      // none: the first right kernel, or not right
  std::optional<Comparison> beside_now;  // where `beside` is a tape's: what the clock of now says
  double standing = 0;                   // times as fast as the first right kernel, over all comparisons between
  std::string niche;                     // what kind of kernel it is, by facts of its machine code
  Lines hot;                             // of the loop that takes most of a call, by samples
  CodeFacts facts;                       // of its machine code and tunables, for guessing at others
  std::string left_out;                  // why a right kernel was not measured; empty: it was
  std::string tuning;                    // what the tuner tried on this kernel, for prompts
  std::string performance;               // for prompts

  // How far it came, by the tape where one is played, else by the verdict.
  std::optional<VerdictStage> stage() const;
  bool right() const { return stage() == VerdictStage::accepted; }
  // The verdict of now is another one than the tape's.
  bool differs_from_tape() const;
  // Times as fast as the plain kernel, or as the first rival; 0 where it is not right.
  double speed() const;
};

// A task and everything that was tried on it.
struct Work {
  const Task* task = nullptr;
  const ops::Graph* graph = nullptr;
  std::string start;  // the kernel to begin with; empty: the author begins with nothing
  Facts facts;        // "task", "machine", "sources", "lessons", ...: the same in every round
  std::vector<Round> rounds;

  // The incumbent: the first right kernel, until one is faster beyond the interval. None while there is none.
  const Round* best() const;
  // The same without the kernel that the author was given.
  const Round* best_of_author() const;
  const Round* round(int number) const;
};

// Gives the round its standing from the round that it was compared with.
void take_standing(Round& round, const Work& work);

// That no better kernel was lost: each comparison was with the incumbent of its time, and a kernel that was faster
// beyond the interval became the incumbent; in the end it is `taken` (none: not known). A sentence for each breach.
// Hangs on the comparisons alone, not on how the best is found.
std::vector<std::string> breaches_of_the_order(const std::vector<Round>& rounds, std::optional<int> taken);

// How it did beside the incumbent of its time, for a prompt.
std::string comparison_text(const Round& round);
// What the judge said, for a prompt: the reason and the errors, or how fast it is.
std::string verdict_text(const Round& round);
// The rounds in a few lines each, the newest last: the plan, how it was carried out, what came of it.
std::string history_text(const Work& work);

}  // namespace kw::agents
