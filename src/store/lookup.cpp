// The looking up of store.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/nearest.h"
#include "store/packed.h"
#include "store/seal.h"
#include "store/sha256.h"
#include "store/store.h"

namespace kw::store {
namespace {

constexpr char kSelectRun[] =
    "SELECT id, origin, began_at, changed_at, state, command, suite, author, strategy, seed, rules, planned, seal FROM "
    "run ";

RunSummary run_of(const Statement& row) {
  RunSummary run;
  run.id = row.integer(0);
  run.origin = row.text(1);
  run.began_at = row.text(2);
  run.changed_at = row.text(3);
  run.state = state_named(row.text(4));
  run.about = {.command = row.text(5),
               .suite = row.text(6),
               .author = row.text(7),
               .strategy = row.text(8),
               .seed = row.optional_integer(9),
               .rules = row.text(10)};
  run.planned = row.integer(11);
  run.is_own = is_seal_of(content_of_run(run.origin, run.about), row.text(12));
  return run;
}

// Counts what is done. The index verdict_by_run holds all that is asked, in this order, so that a hundred thousand
// verdicts are no rows to be fetched.
class Counter {
 public:
  Status count(const Database& database, std::map<std::int64_t, RunSummary*>& runs, std::optional<std::int64_t> only) {
    KW_TRY(Statement rows, database.prepare(fmt::format(
                               "SELECT run, task, accepted, machine, rival, speedup FROM verdict {} ORDER BY run, task",
                               only ? "WHERE run = ?" : "")));
    if (only) rows.bind(*only);
    for (;;) {
      KW_TRY(const bool row, rows.step());
      if (!row) break;
      const auto found = runs.find(rows.integer(0));
      if (found != runs.end()) add(*found->second, rows);
    }
    finish();
    KW_TRY(Statement problems, database.prepare("SELECT run, count(*) FROM item WHERE problem <> '' GROUP BY run"));
    for (;;) {
      KW_TRY(const bool row, problems.step());
      if (!row) break;
      if (const auto found = runs.find(problems.integer(0)); found != runs.end()) {
        found->second->done += problems.integer(1);
      }
    }
    KW_CHECK(name_tasks(database));
    return name_rivals(database);
  }

 private:
  void add(RunSummary& run, const Statement& row) {
    if (&run != run_) finish();
    if (&run != run_ || row.integer(1) != task_) {
      task_rival_ = 0;
      task_is_solved_ = false;
      if (++run.tasks == 1) first_tasks_[&run] = row.integer(1);
    }
    run_ = &run;
    task_ = row.integer(1);
    ++run.done;
    machines_.insert(row.integer(3));
    if (row.integer(2) == 0) return;
    ++run.accepted;
    if (!task_is_solved_) ++run.solved;
    task_is_solved_ = true;
    if (row.is_null(4)) return;
    const std::int64_t rival = row.integer(4);
    if (task_rival_ != 0 && task_rival_ != rival) run.rival_changed = true;
    task_rival_ = rival;
    rivals_.emplace(&run, rival);
    ++run.timed;
    sum_of_logs_ += std::log(row.real(5));
  }

  void finish() {
    if (run_) {
      run_->machines = static_cast<int>(machines_.size());
      if (run_->timed > 0) run_->speedup = std::exp(sum_of_logs_ / static_cast<double>(run_->timed));
    }
    machines_.clear();
    sum_of_logs_ = 0;
    task_rival_ = 0;
    run_ = nullptr;
  }

  Status name_tasks(const Database& database) {
    KW_TRY(Statement name, database.prepare("SELECT name FROM task WHERE id = ?"));
    for (const auto& [run, task] : first_tasks_) {
      name.bind(task);
      KW_TRY(const bool row, name.step());
      if (!row) continue;
      run->first_task = name.text(0);
      KW_CHECK(name.run());
    }
    return {};
  }

  Status name_rivals(const Database& database) {
    KW_TRY(Statement name, database.prepare("SELECT name FROM rival WHERE id = ?"));
    for (const auto& [run, rival] : rivals_) {
      name.bind(rival);
      KW_TRY(const bool row, name.step());
      const std::string text = row ? name.text(0) : "";
      if (row) {
        KW_CHECK(name.run());
      }
      if (run->rival.empty()) {
        run->rival = text;
      } else if (run->rival != text) {
        run->rival = "several rivals";
      }
    }
    return {};
  }

  RunSummary* run_ = nullptr;
  std::int64_t task_ = 0;
  std::int64_t task_rival_ = 0;
  bool task_is_solved_ = false;
  std::map<RunSummary*, std::int64_t> first_tasks_;
  std::set<std::int64_t> machines_;
  std::set<std::pair<RunSummary*, std::int64_t>> rivals_;
  double sum_of_logs_ = 0;
};

Result<Purpose> purpose_of(const std::string& name) {
  const std::optional<Purpose> known = purpose_named(name);
  if (!known) return fail("an item of the record is for '{}', which this kw does not know; a newer one does", name);
  return *known;
}

constexpr char kSelectRecorded[] = R"(
SELECT item.id, item.position, item.purpose, task.name, task.suite, task.category, candidate.file, candidate.hash,
       source.hash, candidate.settings, candidate.author, item.build, item.label, item.problem,
       verdict.item, verdict.at, verdict.spent_s, verdict.machine, verdict.terms, verdict.stage, verdict.accepted,
       verdict.time_ns, verdict.noise, verdict.roof_fraction, verdict.kept, verdict.key, verdict.json,
       task.hash
FROM item LEFT JOIN task ON task.id = item.task LEFT JOIN candidate ON candidate.id = item.candidate
LEFT JOIN source ON source.id = candidate.source LEFT JOIN verdict ON verdict.item = item.id
WHERE item.run = ? ORDER BY item.position)";

Result<Recorded> recorded_of(const Statement& row) {
  Recorded one;
  one.item = row.integer(0);
  one.position = row.integer(1);
  KW_TRY(one.purpose, purpose_of(row.text(2)));
  one.task = row.text(3);
  one.suite = row.text(4);
  one.category = row.text(5);
  one.file = row.text(6);
  one.candidate_hash = row.text(7);
  one.source_hash = row.text(8);
  one.settings = row.text(9);
  one.author = row.text(10);
  one.build = row.text(11);
  one.label = row.text(12);
  one.problem = row.text(13);
  one.task_hash = row.text(27);
  one.judged = !row.is_null(14);
  if (!one.judged) return one;
  one.at = row.text(15);
  one.spent_s = row.real(16);
  one.machine = row.integer(17);
  one.terms = row.text(18);
  one.stage = row.text(19);
  one.accepted = row.integer(20) != 0;
  one.time_ns = row.optional_real(21);
  one.noise = row.optional_real(22);
  one.roof_fraction = row.optional_real(23);
  one.kept = row.integer(24) != 0;
  one.key = row.text(25);
  KW_TRY(one.json, unpack(row.text(26), kMostVerdictBytes));
  return one;
}

constexpr char kSelectSpeedups[] =
    "SELECT rival.name, rival.version, median, low, high, pairs, claimed, times FROM speedup "
    "JOIN rival ON rival.id = speedup.rival WHERE item = ? ORDER BY position";

Result<std::vector<Recorded::Against>> speedups_of(Statement& select, std::int64_t item) {
  std::vector<Recorded::Against> all;
  select.bind(item);
  for (;;) {
    KW_TRY(const bool row, select.step());
    if (!row) return all;
    all.push_back({select.text(0), select.text(1), select.real(2), select.real(3), select.real(4),
                   static_cast<int>(select.integer(5)), select.integer(6) != 0, select.text(7)});
  }
}

Result<std::int64_t> foreign_verdicts(const Database& database, bool task_is_right, const std::string& task_hash,
                                      const std::string& machine_identity) {
  KW_TRY(Statement rows,
         database.prepare("SELECT verdict.item FROM verdict JOIN task ON task.id = verdict.task "
                          "JOIN machine ON machine.id = verdict.machine WHERE task.hash = ? AND machine.identity = ? "
                          "AND accepted = 1 AND time_ns IS NOT NULL"));
  rows.bind(task_hash).bind(machine_identity);
  for (std::int64_t count = 0;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return count;
    KW_TRY(const bool own, is_own_verdict(database, rows.integer(0)));
    count += own && task_is_right ? 0 : 1;
  }
}

}  // namespace

Result<std::vector<RunSummary>> Store::runs() const {
  std::vector<RunSummary> all;
  KW_TRY(Statement rows, database_.prepare(std::string(kSelectRun) + "ORDER BY id DESC"));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) break;
    all.push_back(run_of(rows));
  }
  std::map<std::int64_t, RunSummary*> by_id;
  for (RunSummary& run : all) by_id[run.id] = &run;
  KW_CHECK(Counter().count(database_, by_id, std::nullopt));
  return all;
}

Result<RunSummary> Store::run(std::int64_t id) const {
  KW_TRY(Statement rows, database_.prepare(std::string(kSelectRun) + "WHERE id = ?"));
  rows.bind(id);
  KW_TRY(const bool row, rows.step());
  if (!row) return fail("there is no run r{} in {}", id, folder_.string());
  RunSummary run = run_of(rows);
  std::map<std::int64_t, RunSummary*> by_id = {{id, &run}};
  KW_CHECK(Counter().count(database_, by_id, id));
  return run;
}

Result<RunSummary> Store::newest_run() const {
  KW_TRY(Statement rows, database_.prepare("SELECT id FROM run ORDER BY id DESC LIMIT 1"));
  KW_TRY(const bool row, rows.step());
  if (!row) return fail("{} holds no run yet: `kw demo` or `kw optimize TASK` makes one", folder_.string());
  return run(rows.integer(0));
}

Result<RunSummary> Store::find_run(const std::string& name) const {
  std::vector<std::string> names;
  KW_TRY(Statement rows, database_.prepare("SELECT id FROM run ORDER BY id DESC"));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) break;
    const std::int64_t id = rows.integer(0);
    if (name == "r" + std::to_string(id) || name == std::to_string(id)) return run(id);
    names.push_back("r" + std::to_string(id));
  }
  if (names.empty()) return fail("there is no run '{}' in {}: it holds none yet", name, folder_.string());
  return fail("there is no run '{}' in {}{}; `kw runs` lists them", name, folder_.string(), nearest_hint(name, names));
}

Result<std::vector<RivalSource>> Store::against(std::int64_t run) const {
  std::vector<RivalSource> all;
  KW_TRY(Statement rows, database_.prepare("SELECT name, hash FROM run_rival JOIN source ON source.id = source "
                                           "WHERE run = ? ORDER BY position"));
  rows.bind(run);
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return all;
    KW_TRY(std::string text, source(rows.text(1)));
    all.push_back({rows.text(0), std::move(text)});
  }
}

Result<std::vector<Item>> Store::open_items(std::int64_t run) const {
  std::vector<Item> all;
  KW_TRY(Statement rows,
         database_.prepare(
             "SELECT item.id, position, purpose, build, label, task.hash, candidate.hash FROM item "
             "JOIN task ON task.id = item.task JOIN candidate ON candidate.id = item.candidate "
             "WHERE run = ? AND problem = '' AND NOT EXISTS (SELECT 1 FROM verdict WHERE verdict.item = item.id) "
             "ORDER BY position"));
  rows.bind(run);
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return all;
    Item& item = all.emplace_back();
    item.id = rows.integer(0);
    item.run = run;
    item.what.position = rows.integer(1);
    KW_TRY(item.what.purpose, purpose_of(rows.text(2)));
    item.what.build = rows.text(3);
    item.what.label = rows.text(4);
    item.task_hash = rows.text(5);
    KW_TRY(item.what.task, task(item.task_hash));
    item.candidate_hash = rows.text(6);
    KW_TRY(item.what.candidate, candidate(item.candidate_hash));
  }
}

Status Store::each_recorded(std::int64_t run, const EachRecorded& each) const {
  KW_TRY(Statement rows, database_.prepare(kSelectRecorded));
  KW_TRY(Statement speedups, database_.prepare(kSelectSpeedups));
  rows.bind(run);
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return {};
    KW_TRY(Recorded one, recorded_of(rows));
    if (one.judged) {
      KW_TRY(one.speedups, speedups_of(speedups, one.item));
    }
    KW_CHECK(each(one));
  }
}

Result<std::vector<Event>> Store::events(std::int64_t run) const {
  std::vector<Event> all;
  KW_TRY(Statement rows, database_.prepare("SELECT at, kind, text FROM event WHERE run = ? ORDER BY id"));
  rows.bind(run);
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return all;
    all.push_back({rows.text(0), event_named(rows.text(1)), rows.text(2)});
  }
}

Result<Machine> Store::machine(std::int64_t id) const {
  KW_TRY(Statement rows, database_.prepare("SELECT identity, name, facts FROM machine WHERE id = ?"));
  rows.bind(id);
  KW_TRY(const bool row, rows.step());
  if (!row) return fail("there is no machine {} in {}", id, database_.file());
  return Machine{rows.text(0), rows.text(1), rows.text(2)};
}

Result<std::string> Store::source(const std::string& hash) const {
  KW_TRY(Statement rows, database_.prepare("SELECT text FROM source WHERE hash = ?"));
  rows.bind(hash);
  KW_TRY(const bool row, rows.step());
  if (!row) return fail("there is no source {} in {}", hash, database_.file());
  KW_TRY(std::string text, unpack(rows.text(0)));
  if (sha256(text) != hash)
    return fail("{}: the source {} was changed: it is not what its hash says", database_.file(), hash);
  return text;
}

Result<TaskSnapshot> Store::task(const std::string& hash) const {
  KW_TRY(Statement rows, database_.prepare("SELECT name, suite, category, text FROM task WHERE hash = ?"));
  rows.bind(hash);
  KW_TRY(const bool row, rows.step());
  if (!row) return fail("there is no task {} in {}", hash, database_.file());
  KW_TRY(std::string text, unpack(rows.text(3)));
  TaskSnapshot task{rows.text(0), rows.text(1), rows.text(2), std::move(text)};
  if (hash_of(task) != hash)
    return fail("{}: the task {} was changed: it is not what its hash says", database_.file(), hash);
  return task;
}

Result<Candidate> Store::candidate(const std::string& hash) const {
  KW_TRY(Statement rows, database_.prepare("SELECT file, source.text, settings, author, notes, candidate.id FROM "
                                           "candidate JOIN source ON source.id = candidate.source "
                                           "WHERE candidate.hash = ?"));
  rows.bind(hash);
  KW_TRY(const bool row, rows.step());
  if (!row) return fail("there is no candidate {} in {}", hash, database_.file());
  KW_TRY(std::string source, unpack(rows.text(1)));
  Candidate one{.file = rows.text(0),
                .source = std::move(source),
                .settings = rows.text(2),
                .author = rows.text(3),
                .notes = rows.text(4)};
  KW_TRY(Statement parents, database_.prepare("SELECT candidate.hash FROM parent JOIN candidate ON candidate.id = "
                                              "parent.parent WHERE parent.candidate = ? ORDER BY parent.id"));
  parents.bind(rows.integer(5));
  for (;;) {
    KW_TRY(const bool another, parents.step());
    if (!another) break;
    one.parents.push_back(parents.text(0));
  }
  if (hash_of(one) != hash)
    return fail("{}: the candidate {} was changed: it is not what its hash says", database_.file(), hash);
  return one;
}

Result<std::optional<Store::Earlier>> Store::earlier(const std::string& key) const {
  KW_TRY(Statement rows, database_.prepare("SELECT item, json FROM verdict WHERE key = ? ORDER BY item DESC"));
  rows.bind(key);
  for (bool own = false; !own;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return std::optional<Earlier>();
    KW_TRY(own, is_own_verdict(database_, rows.integer(0)));
  }
  Earlier earlier;
  KW_TRY(earlier.json, unpack(rows.text(1), kMostVerdictBytes));
  KW_TRY(Statement speedups, database_.prepare(kSelectSpeedups));
  KW_TRY(earlier.speedups, speedups_of(speedups, rows.integer(0)));
  return std::optional(std::move(earlier));
}

Result<std::vector<std::string>> Store::snapshots_of(const std::string& task_name) const {
  std::vector<std::string> all;
  KW_TRY(Statement rows, database_.prepare("SELECT hash FROM task WHERE name = ? "
                                           "ORDER BY (SELECT max(item.id) FROM item WHERE item.task = task.id) DESC"));
  rows.bind(task_name);
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return all;
    all.push_back(rows.text(0));
  }
}

Result<std::vector<AcceptedKernel>> Store::accepted_kernels(const std::string& task_hash,
                                                            const std::string& machine_identity) const {
  std::vector<AcceptedKernel> all;
  KW_TRY(Statement rows,
         database_.prepare(
             "SELECT verdict.item, verdict.run, at, file, author, settings, source.hash, terms, time_ns, "
             "roof_fraction, rival.name, rival.version, speedup.median, speedup.low, speedup.high FROM verdict "
             "JOIN item ON item.id = verdict.item JOIN candidate ON candidate.id = item.candidate "
             "JOIN source ON source.id = candidate.source "
             "LEFT JOIN speedup ON speedup.item = verdict.item AND speedup.position = 0 "
             "LEFT JOIN rival ON rival.id = speedup.rival "
             "WHERE verdict.task = (SELECT id FROM task WHERE hash = ?) AND accepted = 1 AND time_ns IS NOT NULL "
             "AND verdict.machine IN (SELECT id FROM machine WHERE identity = ?) ORDER BY at DESC, verdict.item DESC"));
  // Kernels of a task that was exchanged are kernels of another one.
  if (!task(task_hash).ok()) return all;
  rows.bind(task_hash).bind(machine_identity);
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return all;
    KW_TRY(const bool own, is_own_verdict(database_, rows.integer(0)));
    if (!own) continue;
    all.push_back({rows.integer(0), rows.integer(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5),
                   rows.text(6), rows.text(7), rows.real(8), rows.optional_real(9), rows.text(10), rows.text(11),
                   rows.real(12), rows.real(13), rows.real(14)});
  }
}

Result<Store::Elsewhere> Store::elsewhere(const std::string& task_name, const std::string& task_hash,
                                          const std::string& machine_identity) const {
  KW_TRY(Statement rows,
         database_.prepare("SELECT task.hash = ?, machine.identity = ?, time_ns IS NOT NULL, count(*) FROM verdict "
                           "JOIN task ON task.id = verdict.task JOIN machine ON machine.id = verdict.machine "
                           "WHERE task.name = ? AND accepted = 1 GROUP BY 1, 2, 3"));
  rows.bind(task_hash).bind(machine_identity).bind(task_name);
  Elsewhere elsewhere;
  KW_TRY(elsewhere.foreign, foreign_verdicts(database_, task(task_hash).ok(), task_hash, machine_identity));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return elsewhere;
    std::int64_t& count = rows.integer(1) == 0   ? elsewhere.other_machines
                          : rows.integer(0) == 0 ? elsewhere.other_snapshots
                                                 : elsewhere.untimed;
    if (rows.integer(1) == 0 || rows.integer(0) == 0 || rows.integer(2) == 0) count += rows.integer(3);
  }
}

}  // namespace kw::store
