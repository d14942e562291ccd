#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::report {
namespace {

std::string identity_of(const RunFigures& figures, const Outcome& one) {
  const auto found = figures.machines.find(one.machine);
  return found == figures.machines.end() ? "" : found->second.identity;
}

// A race in both runs against the same version of one rival; the first that the later run met.
struct Met {
  const Against* before = nullptr;
  const Against* after = nullptr;
};

Met common_rival(const Outcome& before, const Outcome& after) {
  for (const Against& later : after.against) {
    for (const Against& earlier : before.against) {
      if (earlier.rival == later.rival && earlier.version == later.version) return {&earlier, &later};
    }
  }
  return {};
}

// Why two accepted outcomes of one name do not compare; empty: they do, if they met a common rival.
std::string what_parts(const RunFigures& run_before, const Outcome& before, const RunFigures& run_after,
                       const Outcome& after) {
  if (before.task_hash != after.task_hash) return "the task itself was changed between the runs";
  if (identity_of(run_before, before) != identity_of(run_after, after)) return "measured on different machines";
  if (before.terms != after.terms) return fmt::format("timed under different terms: {}; {}", before.terms, after.terms);
  return "";
}

void compare(Change& change, const Met& met, double noise) {
  change.rival = met.after->rival;
  change.ratio = Ratio{.median = met.after->median / met.before->median,
                       .low = met.after->low / met.before->high,
                       .high = met.after->high / met.before->low};
  if (!change.ratio->differs_by_more_than(noise)) return;
  change.kind = change.ratio->median > 1 ? ChangeKind::better : ChangeKind::worse;
}

}  // namespace

std::string_view name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::better:
      return "better";
    case ChangeKind::worse:
      return "worse";
    case ChangeKind::same:
      return "same";
    case ChangeKind::gained:
      return "gained";
    case ChangeKind::lost:
      return "lost";
    case ChangeKind::neither:
      return "neither";
    case ChangeKind::apart:
      return "apart";
  }
  return "";
}

std::vector<Change> changes_between(const RunFigures& before, const RunFigures& after) {
  std::vector<Change> changes;
  for (const Outcome& later : after.outcomes) {
    const auto earlier = std::ranges::find(before.outcomes, later.task, &Outcome::task);
    if (earlier == before.outcomes.end()) continue;
    Change& change = changes.emplace_back(Change{.task = later.task, .task_hash = later.task_hash});
    if (earlier->is_accepted() != later.is_accepted()) {
      change.kind = later.is_accepted() ? ChangeKind::gained : ChangeKind::lost;
      continue;
    }
    if (!later.is_accepted()) {
      change.kind = ChangeKind::neither;
      continue;
    }
    change.why = what_parts(before, *earlier, after, later);
    const Met met = common_rival(*earlier, later);
    if (change.why.empty() && !met.after) change.why = "they met no rival in the same version";
    if (!change.why.empty()) {
      change.kind = ChangeKind::apart;
      continue;
    }
    // Each race may be off by its own noise.
    compare(change, met, (1 + earlier->noise.value_or(0)) * (1 + later.noise.value_or(0)) - 1);
  }
  return changes;
}

}  // namespace kw::report
