// Where a long piece of work stands, in words: the lines of a live block, a plain line now and then, the summary at the
// end. Counts and texts only; the clock and the terminal belong to what shows them (runs/progress.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/verdict.h"

namespace kw::report {

// What is to be done. A search may plan more later.
struct PlannedWork {
  std::string title = {};               // "r3"
  std::string unit = "candidates";      // what the bar counts
  std::int64_t total = 0;               // 0: not known
  std::int64_t done = 0;                // of them, before now
  std::optional<double> budget_s = {};  // after which it ends anyhow
};

struct Tally {
  PlannedWork plan;
  double elapsed_s = 0;
  std::int64_t done = 0;                       // of plan.total, those before now among them
  std::int64_t judged = 0;                     // candidates
  std::int64_t accepted = 0;                   // of them
  std::int64_t quick_checked = 0;              // of them: right in a quick check, and not judged further
  std::map<std::string, std::int64_t> errors;  // by kind: the stage that stopped a candidate, or what went wrong
  struct Running {
    std::string what;
    double for_s = 0;
  };
  std::vector<Running> running;
  struct Best {
    double speedup = 0;  // against the hardest of its rivals
    std::string rival;
    bool is_passing = false;  // a search's own measure, which the first accepted verdict takes the place of
  };
  std::map<std::string, Best> best;  // by task
  std::string newest_best;           // the task whose best changed last

  // Counts a verdict; true where its speed-up is the best of its task so far.
  bool count(const std::string& task, const Verdict& verdict);
  // What a search knows of its best before it is judged; true where it is the best so far.
  bool count_passing(const std::string& task, double speedup, const std::string& rival);

  std::optional<double> rate() const;    // units a second, of now
  std::optional<double> left_s() const;  // until all is done
};

// The live block, at most as wide as `width` and as high as `height`. Letters that steer a terminal are taken out.
std::vector<std::string> live_block(const Tally& tally, int width, int height);
// "34 of 190 candidates, 2.1 a second, 1:14 left; 30 accepted, build 3, verify 1"
std::string plain_line(const Tally& tally);
// `state` as the record calls it: done, stopped.
std::string summary(const Tally& tally, const std::string& state);

std::string duration_text(double s);  // "0:07", "12:34", "1:02:03"

}  // namespace kw::report
