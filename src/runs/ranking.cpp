#include "runs/ranking.h"

#include <algorithm>
#include <map>

#include "core/settings_json.h"
#include "runs/case_record.h"
#include "runs/machine.h"

namespace kw::runs {
namespace {

using store::AcceptedKernel;

// `group` met one version of a rival. The best comes first.
void rank(std::vector<AcceptedKernel>& group) {
  const bool alone = group.front().rival.empty();
  std::ranges::stable_sort(group, [&](const AcceptedKernel& a, const AcceptedKernel& b) {
    return alone ? a.time_ns < b.time_ns : a.median > b.median;
  });
}

}  // namespace

Ranking ranking_of(std::vector<AcceptedKernel> all) {
  Ranking ranking;
  const std::string terms = all.front().terms;
  std::map<std::pair<std::string, std::string>, std::vector<AcceptedKernel>> groups;  // by rival and version
  for (AcceptedKernel& one : all) {
    if (one.terms == terms) {
      groups[{one.rival, one.version}].push_back(std::move(one));
    } else {
      ++ranking.other_terms;
    }
  }
  const std::vector<AcceptedKernel>* winners = nullptr;
  for (auto& [rival, group] : groups) {
    rank(group);
    ranking.by_time_alone += group.size();
    if (!winners || group.front().time_ns < winners->front().time_ns) winners = &group;
  }
  ranking.best = winners->front();
  ranking.compared = winners->size();
  ranking.by_time_alone -= winners->size();
  for (const AcceptedKernel& one : *winners) {
    // A kernel that was measured twice is no tie with itself.
    const bool other = one.source_hash != ranking.best.source_hash || one.settings != ranking.best.settings;
    if (other && !one.rival.empty() && one.high >= ranking.best.low) ++ranking.ties;
  }
  return ranking;
}

Result<std::string> snapshot_meant(const store::Store& store, const std::string& name, const Task* now) {
  const std::string hash = now ? store::hash_of(snapshot(*now)) : std::string();
  KW_TRY(const auto snapshots, store.snapshots_of(name));
  if (std::ranges::find(snapshots, hash) != snapshots.end()) return hash;
  return snapshots.empty() ? std::string() : snapshots.front();
}

Result<std::optional<BestKernel>> best_kernel(const store::Store& store, const Task& task, const std::string& device) {
  KW_TRY(const std::string snapshot, snapshot_meant(store, task.name, &task));
  if (snapshot.empty()) return std::optional<BestKernel>();
  KW_TRY(std::vector<AcceptedKernel> accepted, store.accepted_kernels(snapshot, machine_identity(device)));
  if (accepted.empty()) return std::optional<BestKernel>();
  const Ranking ranking = ranking_of(std::move(accepted));
  BestKernel best;
  KW_TRY(best.source, store.source(ranking.best.source_hash));
  KW_TRY(best.settings, settings_from_json(ranking.best.settings));
  return std::optional(std::move(best));
}

Result<std::vector<std::string>> recorded_tasks(const store::Store& store) {
  std::vector<std::string> names;
  KW_TRY(store::Statement rows, store.database().prepare("SELECT DISTINCT name FROM task"));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return names;
    names.push_back(rows.text(0));
  }
}

}  // namespace kw::runs
