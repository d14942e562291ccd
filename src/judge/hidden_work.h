// Work that a kernel does outside of the laps that are timed: it shows in the CPU time that the system accounts to it.
#pragma once

#include <vector>

namespace kw::judge {

// What was seen of one kernel, turn by turn.
struct Turns {
  std::vector<double> excess_ns;  // CPU time before and after the lap
  std::vector<bool> clean;  // the thread that reads the clock was not interrupted; otherwise waiting looks like work

  void add(double ns, bool was_clean) {
    excess_ns.push_back(ns);
    clean.push_back(was_clean);
  }
};

struct Excess {
  std::vector<double>
      ns;               // charged to each turn: what exceeds others' needs, chance, and the effect of using much memory
  double mean_ns = 0;   // of them, the largest ones left out
  double usual_ns = 0;  // the median: a few turns may be disturbed by another program
  double tolerated_ns = 0;  // more than this is no chance

  // What is found in some turns only is charged to them.
  bool is_no_chance() const { return mean_ns > tolerated_ns && usual_ns > tolerated_ns; }
};

// For a kernel whose lap takes `lap_ns`, against others. The spread of the others' turns shows what chance may do; the
// kernel's own spread is ignored, so that a kernel cannot hide work by varying it. Turns are counted one by one and not
// by rounds: a busy machine leaves many undisturbed turns and hardly any undisturbed round.
Excess excess_of(const Turns& own, const std::vector<const Turns*>& others, double lap_ns);

}  // namespace kw::judge
