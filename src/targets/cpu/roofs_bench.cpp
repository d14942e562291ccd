// Do the roofs repeat? Measures them ten times, each run for itself, and says how far apart the runs lie; exits 1 where
// a figure that was called stable in every run still moved by more than 5 %.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "targets/cpu/roofs.h"

namespace kw::cpu {
namespace {

struct Runs {
  std::string name;
  std::vector<Figure> figures;
};

std::vector<Runs> named_figures(const Roofs& roofs) {
  std::vector<Runs> all = {{"FMA GFLOP/s", {roofs.fma_gflops}}};
  for (const LevelRoof& level : roofs.levels) {
    all.push_back({level.name + " read GB/s", {level.read_gbps}});
    all.push_back({level.name + " write GB/s", {level.write_gbps}});
    all.push_back({level.name + " copy GB/s", {level.copy_gbps}});
    all.push_back({level.name + " triad GB/s", {level.triad_gbps}});
  }
  return all;
}

// Whether the figure kept the promise of its stable().
bool report(const Runs& runs) {
  std::vector<double> bests;
  for (const Figure& figure : runs.figures) bests.push_back(figure.best);
  std::ranges::sort(bests);
  const bool called_stable = std::ranges::all_of(runs.figures, &Figure::stable);
  const double spread = (bests.back() - bests.front()) / bests.back();
  const bool stayed = spread <= kStableSpread;
  fmt::print("{:18}{:9.1f}{:9.1f}{:9.1f}{:8.1f} %  {:8}{}\n", runs.name, bests.front(), bests[bests.size() / 2],
             bests.back(), 100 * spread, stayed ? "stable" : "moved", called_stable ? "" : "  (said not to be stable)");
  return stayed || !called_stable;
}

int run() {
  constexpr int kRuns = 10;
  std::vector<Runs> all;
  for (int i = 0; i < kRuns; ++i) {
    const Result<Roofs> roofs = measure_roofs();
    if (!roofs) {
      fmt::print(stderr, "{}\n", roofs.error().message);
      return 2;
    }
    const std::vector<Runs> figures = named_figures(*roofs);
    if (all.empty()) all.resize(figures.size());
    for (std::size_t k = 0; k < figures.size(); ++k) {
      all[k].name = figures[k].name;
      all[k].figures.push_back(figures[k].figures.front());
    }
  }
  fmt::print("{:18}{:>9}{:>9}{:>9}{:>10}\n", "", "min", "median", "max", "spread");
  bool kept = true;
  for (const Runs& runs : all) kept = report(runs) && kept;
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace kw::cpu

int main() { return kw::cpu::run(); }
