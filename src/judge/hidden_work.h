// Work that a kernel does outside of the laps that are timed: it shows in the CPU time that the system accounts to it.
#pragma once

#include <vector>

namespace kw::judge {

// What was seen of one kernel, turn by turn.
struct Turns {
  std::vector<double> excess_ns;  // CPU time before and after the lap
  std::vector<bool> clean;        // the clock's core was not taken away: else waiting looks like work

  void add(double ns, bool was_clean) {
    excess_ns.push_back(ns);
    clean.push_back(was_clean);
  }
};

struct Excess {
  std::vector<double> ns;   // to be charged, turn by turn: beyond what others need, chance and the use of memory
  double mean_ns = 0;       // of them, the largest ones left out
  double usual_ns = 0;      // in half of the turns at least: a few turns may be another program's doing
  double tolerated_ns = 0;  // more than this is no chance

  // What is found in some turns only is charged to them.
  bool is_no_chance() const { return mean_ns > tolerated_ns && usual_ns > tolerated_ns; }
};

// Of a kernel whose lap takes `lap_ns`, against others. How far the others' turns spread says what chance may do; the
// kernel's own spread counts for nothing, so that work that varies is no excuse. Each turn stands for itself:
// a busy machine that leaves hardly a round whole leaves many of them.
Excess excess_of(const Turns& own, const std::vector<const Turns*>& others, double lap_ns);

}  // namespace kw::judge
