#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json.h"
#include "base/paired_ratio.h"
#include "ops/graph.h"
#include "report/json_parts.h"
#include "suites/task_snapshot.h"

namespace kw::report {
namespace {

std::optional<double> part(int count, int of) {
  return of > 0 ? std::optional(static_cast<double>(count) / of) : std::nullopt;
}

// In the order of the races.
std::vector<std::string> rivals_of(std::span<const Outcome> outcomes) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Outcome& one : outcomes) {
    for (const Against& each : one.against) add(each.rival);
  }
  for (const Outcome& one : outcomes) {
    for (const LeftOut& each : one.left_out) add(each.rival);
  }
  return names;
}

RivalFigures against_one(std::span<const Outcome> outcomes, const std::string& rival) {
  RivalFigures figures{.rival = rival};
  std::vector<double> speedups;
  double sum_of_logs = 0;
  for (const Outcome& one : outcomes) {
    const std::optional<Against> beside = one.is_accepted() ? one.beside(rival) : std::nullopt;
    if (!beside && one.is_left_out(rival)) {
      ++figures.left_out;
      continue;
    }
    if (!beside && one.is_accepted()) {
      ++figures.unmeasured;
      continue;
    }
    ++figures.tasks;
    if (!beside) continue;
    ++figures.raced;
    for (std::size_t i = 0; i < kSpeeds.size(); ++i) {
      if (beside->median > kSpeeds[i]) ++figures.fast[i];
      if (beside->low > kSpeeds[i]) ++figures.sure[i];
    }
    speedups.push_back(beside->median);
    sum_of_logs += std::log(beside->median);
  }
  if (!speedups.empty()) {
    figures.geomean = std::exp(sum_of_logs / static_cast<double>(speedups.size()));
    figures.median = median_of(std::move(speedups));
  }
  return figures;
}

Figures figures_for(std::span<const Outcome> outcomes, const std::string& category,
                    const std::vector<std::string>& rivals) {
  Figures figures{.category = category, .tasks = static_cast<int>(outcomes.size())};
  std::vector<double> roof_fractions;
  for (const Outcome& one : outcomes) {
    figures.built += one.is_built();
    figures.right_on_own_shapes += one.is_right_on_own_shapes();
    figures.accepted += one.is_accepted();
    figures.lucky += one.is_lucky();
    figures.candidates += one.candidates;
    figures.spent_s += one.spent_s;
    if (one.is_accepted() && one.roof_fraction) roof_fractions.push_back(*one.roof_fraction);
  }
  if (!roof_fractions.empty()) figures.roof_fraction = median_of(std::move(roof_fractions));
  for (const std::string& rival : rivals) figures.rivals.push_back(against_one(outcomes, rival));
  if (!rivals.empty()) figures.rivals.push_back(against_one(outcomes, kBest));
  return figures;
}

// --- reading a run ---------------------------------------------------------------------------------------------------

// What the choice of a task's candidate needs to keep while its items go by.
struct Contest {
  Outcome outcome;
  std::set<std::string> tried;               // hashes of candidates
  std::optional<store::Recorded> confirmed;  // the last one
  std::optional<store::Recorded> best;       // accepted
  std::optional<store::Recorded> furthest;   // rejected
};

VerdictStage stage_of(const store::Recorded& one) { return stage_named(one.stage).value_or(VerdictStage::build); }

// Both accepted. Kernels that met the same version of the first rival are told apart by how much faster than it they
// are, others by their times: as `kw best` does.
bool beats(const store::Recorded& a, const store::Recorded& b) {
  if (a.speedups.empty() != b.speedups.empty()) return !a.speedups.empty();
  if (!a.speedups.empty()) {
    const store::Recorded::Against &of_a = a.speedups[0], &of_b = b.speedups[0];
    if (of_a.rival == of_b.rival && of_a.version == of_b.version) return of_a.median > of_b.median;
  }
  if (!a.time_ns || !b.time_ns) return a.time_ns && !b.time_ns;
  return *a.time_ns < *b.time_ns;
}

void take_in(Contest& contest, const store::Recorded& one) {
  contest.outcome.spent_s += one.spent_s;
  if (one.purpose == store::Purpose::start) return;
  contest.tried.insert(one.candidate_hash);
  if (one.purpose == store::Purpose::confirm) contest.confirmed = one;
  if (one.accepted) {
    if (one.purpose != store::Purpose::confirm && (!contest.best || beats(one, *contest.best))) contest.best = one;
  } else if (!contest.furthest || stage_of(one) > stage_of(*contest.furthest)) {
    contest.furthest = one;
  }
}

// Rivals that do not run the task right, as an accepted verdict tells.
std::vector<LeftOut> left_out_of(const Json& verdict) {
  std::vector<LeftOut> all;
  const auto found = verdict.find("left_out");
  if (found == nullptr || !found->is_object()) return all;
  for (const auto& [rival, one] : found->items()) {
    all.push_back({rival, one.value("version", ""), one.value("why", "")});
  }
  return all;
}

Json parsed(const store::Recorded& one) {
  Json json = Json::parse_quietly(one.json);
  return json.is_object() ? json : Json::object();
}

std::vector<Against> against_of(const store::Recorded& chosen, const Json& verdict) {
  std::vector<Against> all;
  for (const store::Recorded::Against& one : chosen.speedups) {
    Against& each = all.emplace_back(Against{.rival = one.rival,
                                             .version = one.version,
                                             .median = one.median,
                                             .low = one.low,
                                             .high = one.high,
                                             .claimed = one.claimed});
    const Json called =
        verdict.value("speedup", Json::object()).value(one.rival, Json::object()).value("called", Json::object());
    if (!called.contains("median")) continue;
    each.called = called.value("median", 0.0);
    each.overhead_decides = called.value("overhead_decides", false);
  }
  return all;
}

Outcome outcome_of(Contest contest) {
  Outcome outcome = std::move(contest.outcome);
  outcome.candidates = static_cast<std::int64_t>(contest.tried.size());
  const std::optional<store::Recorded>& chosen = contest.confirmed ? contest.confirmed
                                                 : contest.best    ? contest.best
                                                                   : contest.furthest;
  if (!chosen) return outcome;
  const Json verdict = parsed(*chosen);
  outcome.stage = chosen->accepted ? VerdictStage::accepted : stage_of(*chosen);
  if (const auto reason = verdict.find("reason"); reason != nullptr && reason->is_string()) {
    outcome.reason = reason->get<std::string>();
  }
  outcome.confirmed = chosen->purpose == store::Purpose::confirm;
  outcome.item = chosen->item;
  outcome.file = chosen->file;
  outcome.candidate_hash = chosen->candidate_hash;
  outcome.source_hash = chosen->source_hash;
  outcome.settings = chosen->settings;
  outcome.author = chosen->author;
  outcome.at = chosen->at;
  outcome.terms = chosen->terms;
  outcome.machine = chosen->machine;
  outcome.time_ns = chosen->time_ns;
  outcome.noise = chosen->noise;
  outcome.roof_fraction = chosen->roof_fraction;
  outcome.against = against_of(*chosen, verdict);
  outcome.left_out = left_out_of(verdict);
  // Only an accepted verdict tells: where the confirmation failed, the one before it does.
  if (!chosen->accepted && contest.best) outcome.left_out = left_out_of(parsed(*contest.best));
  return outcome;
}

// Tasks for which the run set out and of which nothing was planned.
void add_missing_tasks(const store::RunSummary& run, std::vector<Outcome>& outcomes) {
  const Json rules = Json::parse_quietly(run.about.rules);
  if (!rules.is_object() || !rules.contains("tasks") || !rules["tasks"].is_array()) return;
  std::set<std::string> known;
  for (const Outcome& one : outcomes) known.insert(one.task);
  for (const Json& task : rules["tasks"]) {
    if (!task.is_object() || !task.contains("name") || !task["name"].is_string()) continue;
    if (!known.insert(task["name"]).second) continue;
    outcomes.push_back({.task = task["name"], .category = task.value("category", "")});
  }
}

std::string plural(std::int64_t count, const std::string& one, const std::string& several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

void remark_on_choice(RunFigures& figures) {
  std::int64_t most = 0;
  for (const Outcome& one : figures.outcomes) {
    if (one.is_lucky()) most = std::max(most, one.candidates);
  }
  if (figures.overall.lucky == 0) return;
  figures.remarks.push_back(fmt::format(
      "chosen among up to {} candidates, not measured again, on {} of {}: the luck of the choice is in their "
      "speed-ups",
      most, figures.overall.lucky, plural(figures.overall.tasks, "task", "tasks")));
}

void remark_on_versions(RunFigures& figures) {
  std::set<std::string> terms;
  for (const Outcome& one : figures.outcomes) {
    if (!one.is_accepted()) continue;
    for (const Against& each : one.against) ++figures.versions[each.rival][store::version_without_source(each.version)];
    if (one.time_ns) terms.insert(one.terms);
  }
  for (const auto& [rival, versions] : figures.versions) {
    if (versions.size() < 2) continue;
    std::string list;
    for (const auto& [version, tasks] : versions) {
      list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", version, plural(tasks, "task", "tasks"));
    }
    figures.remarks.push_back(
        fmt::format("{} stands for {} versions, not one measure: {}", rival, versions.size(), list));
  }
  if (terms.size() > 1) {
    std::string list;
    for (const std::string& each : terms) list += (list.empty() ? "" : "; ") + each;
    figures.remarks.push_back("timed under different terms, not one measure: " + list);
  }
}

void remark_on_progress(RunFigures& figures) {
  std::int64_t open = 0, without = 0;
  for (const Outcome& one : figures.outcomes) {
    open += one.open;
    without += !one.stage;
  }
  if (open > 0) figures.remarks.push_back(plural(open, "candidate has", "candidates have") + " no verdict yet");
  if (without > 0) {
    figures.remarks.push_back(plural(without, "task has", "tasks have") + " no verdict at all and " +
                              (without == 1 ? "counts" : "count") + " as failed");
  }
}

// --- as JSON ---------------------------------------------------------------------------------------------------------

Json json_of(const RivalFigures& rival) {
  Json fast, sure;
  for (std::size_t i = 0; i < kSpeeds.size(); ++i) {
    fast[name_of_speed(kSpeeds[i])] = or_null(rival.share(rival.fast[i]));
    sure[name_of_speed(kSpeeds[i])] = or_null(rival.share(rival.sure[i]));
  }
  fast["sure"] = std::move(sure);
  return fast;
}

void add_figures(Json& json, const Figures& figures) {
  json["tasks"] = figures.tasks;
  json["csr"] = or_null(figures.share(figures.built));
  json["fcr"] = or_null(figures.share(figures.accepted));
  json["fcr_own_shapes"] = or_null(figures.share(figures.right_on_own_shapes));
  for (const char* key : {"fast", "geomean", "median", "left_out", "unmeasured"}) json[key] = Json::object();
  for (const RivalFigures& rival : figures.rivals) {
    json["fast"][rival.rival] = json_of(rival);
    json["geomean"][rival.rival] = or_null(rival.geomean);
    json["median"][rival.rival] = or_null(rival.median);
    json["left_out"][rival.rival] = rival.left_out;
    json["unmeasured"][rival.rival] = rival.unmeasured;
  }
  json["roof_fraction"] = or_null(figures.roof_fraction);
  json["unconfirmed"] = figures.lucky;
  json["candidates"] = figures.candidates;
  json["seconds"] = figures.spent_s;
}

}  // namespace

std::string name_of_speed(double p) { return fmt::format("{:g}", p); }

std::optional<Against> Outcome::beside(const std::string& rival) const {
  std::optional<Against> found;
  for (const Against& one : against) {
    if (one.rival == rival) return one;
    if (rival != kBest) continue;
    if (!found) {
      found = one;
      continue;
    }
    const double low = std::min(found->low, one.low), high = std::min(found->high, one.high);
    if (one.median < found->median) found = one;
    found->low = low;
    found->high = high;
  }
  return found;
}

bool Outcome::is_left_out(const std::string& rival) const {
  if (rival == kBest) return against.empty() && !left_out.empty();
  return std::ranges::find(left_out, rival, &LeftOut::rival) != left_out.end();
}

std::optional<double> RivalFigures::share(int count) const { return part(count, tasks); }
std::optional<double> Figures::share(int count) const { return part(count, tasks); }

const RivalFigures* Figures::against(const std::string& rival) const {
  const auto found = std::ranges::find(rivals, rival, &RivalFigures::rival);
  return found == rivals.end() ? nullptr : &*found;
}

Figures figures_over(std::span<const Outcome> outcomes, const std::string& category) {
  return figures_for(outcomes, category, rivals_of(outcomes));
}

RunFigures figures_of(store::RunSummary run, std::vector<Outcome> outcomes) {
  RunFigures figures{.run = std::move(run), .outcomes = std::move(outcomes)};
  figures.overall = figures_over(figures.outcomes);
  const std::vector<std::string> rivals = rivals_of(figures.outcomes);
  std::vector<std::string> names;
  std::map<std::string, std::vector<Outcome>> by_category;
  for (const Outcome& one : figures.outcomes) {
    if (!by_category.contains(one.category)) names.push_back(one.category);
    by_category[one.category].push_back(one);
  }
  for (const std::string& name : names) figures.categories.push_back(figures_for(by_category[name], name, rivals));
  remark_on_choice(figures);
  remark_on_versions(figures);
  remark_on_progress(figures);
  return figures;
}

namespace {

Status read_limit(const store::Store& store, Outcome& outcome) {
  KW_TRY(const store::TaskSnapshot snapshot, store.task(outcome.task_hash));
  KW_TRY(const Task task, suites::task_of_snapshot(snapshot.text));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  outcome.limit = limit_of(task, ops::cost_of(graph));
  return {};
}

void add_limit(const store::Store& store, Outcome& outcome) {
  if (outcome.task_hash.empty()) return;
  // A run of another version may have tasks that this one cannot read; its figures count all the same.
  [[maybe_unused]] const Status read = read_limit(store, outcome);
}

}  // namespace

Result<RunFigures> figures_of(const store::Store& store, std::int64_t run) {
  KW_TRY(store::RunSummary summary, store.run(run));
  std::vector<std::string> order;
  std::map<std::string, Contest> contests;  // by the task's hash
  // Of each candidate of each task: one that was measured again ended where that did.
  std::map<std::pair<std::string, std::string>, VerdictStage> ends;
  std::int64_t unreadable = 0;
  KW_CHECK(store.each_recorded(run, [&](const store::Recorded& one) -> Status {
    if (one.task_hash.empty()) {
      ++unreadable;
      return {};
    }
    const auto [found, is_new] = contests.try_emplace(one.task_hash);
    Contest& contest = found->second;
    if (is_new) {
      order.push_back(one.task_hash);
      contest.outcome = {.task = one.task, .category = one.category, .task_hash = one.task_hash, .suite = one.suite};
    }
    if (one.judged) {
      take_in(contest, one);
      ends[{one.task_hash, one.candidate_hash}] = stage_of(one);
    } else if (one.problem.empty()) {
      ++contest.outcome.open;
    }
    return {};
  }));
  std::vector<Outcome> outcomes;
  for (const std::string& hash : order) outcomes.push_back(outcome_of(std::move(contests.at(hash))));
  add_missing_tasks(summary, outcomes);
  for (Outcome& one : outcomes) add_limit(store, one);

  RunFigures figures = figures_of(std::move(summary), std::move(outcomes));
  for (const auto& [candidate, stage] : ends) ++figures.stages[stage];
  figures.unreadable = unreadable;
  std::set<std::string> identities;
  for (const Outcome& one : figures.outcomes) {
    if (!one.stage || figures.machines.contains(one.machine)) continue;
    KW_TRY(figures.machines[one.machine], store.machine(one.machine));
    identities.insert(figures.machines[one.machine].identity);
  }
  if (identities.size() > 1) {
    figures.remarks.push_back(fmt::format("measured on {} machines: not one measure", identities.size()));
  }
  if (unreadable > 0) {
    figures.remarks.push_back(plural(unreadable, "line names", "lines name") +
                              " no task or no kernel: counted nowhere");
  }
  return figures;
}

std::string figures_as_json(const RunFigures& figures) {
  Json json;
  json["run"] = figures.run.name();
  add_figures(json, figures.overall);
  json["categories"] = Json::object();
  for (const Figures& one : figures.categories) add_figures(json["categories"][one.category], one);
  json["machines"] = Json::array();
  std::set<std::string> identities;
  for (const auto& [id, machine] : figures.machines) {
    if (identities.insert(machine.identity).second) json["machines"].push_back(machine.name);
  }
  json["versions"] = Json::object();
  for (const auto& [rival, versions] : figures.versions) json["versions"][rival] = versions;
  json["remarks"] = figures.remarks;
  return json.dump(2);
}

}  // namespace kw::report
