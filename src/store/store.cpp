#include "store/store.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <system_error>

#include "store/packed.h"
#include "store/schema.h"
#include "store/seal.h"
#include "store/sha256.h"

namespace kw::store {
namespace fs = std::filesystem;
namespace {

// FULL: a commit waits for the disk. With NORMAL a machine that goes down could lose verdicts that someone was told of;
// the wait is about half a millisecond here, beside seconds of judging.
Status set_up_writing(const Database& database) {
  KW_CHECK(database.write_ahead());
  return database.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
}

std::string joined(std::initializer_list<std::string_view> parts) { return parts_joined(parts); }

std::string random_name() {
  unsigned char bytes[16] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    return sha256(joined({time_now(), std::to_string(::getpid())})).substr(0, 32);
  }
  std::string name;
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

// SQLite follows links, and makes files beside the one that it opens: a link in a store's place would have it write
// elsewhere.
Status check_place(const fs::path& folder) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(folder, error))) {
    return fail("{}: the store's folder is a link; where that is meant, name the place itself with --store or KW_STORE",
                folder.string());
  }
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    const fs::path file = Store::file_in(folder).string() + ending;
    std::error_code code;
    const fs::file_status status = fs::symlink_status(file, code);
    if (!code && fs::exists(status) && !fs::is_regular_file(status)) {
      return fail("{}: is no file but a link or something else, and so it is not used", file.string());
    }
  }
  return {};
}

// A store of another user is read at most, even by root.
bool is_ours(const fs::path& file) {
  struct stat about {};
  return ::lstat(file.c_str(), &about) == 0 && (about.st_uid == ::geteuid() || about.st_uid == 0);
}

// The id of the row with this hash; 0: there is none.
Result<std::int64_t> row_of(const Database& database, const char* table, std::string_view hash) {
  KW_TRY(Statement find, database.prepare(fmt::format("SELECT id FROM {} WHERE hash = ?", table)));
  find.bind(hash);
  KW_TRY(const bool found, find.step());
  return found ? find.integer(0) : 0;
}

}  // namespace

std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto part_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, part_ms);
}

std::string hash_of(const Candidate& candidate) { return hash_of(candidate, sha256(candidate.source)); }

std::string hash_of(const Candidate& candidate, const std::string& source_hash) {
  std::string parents;
  for (const std::string& parent : candidate.parents) parents += parent + " ";
  return sha256(joined({source_hash, candidate.file, candidate.settings, candidate.author, parents, candidate.notes}));
}

std::string hash_of(const Machine& machine) { return sha256(joined({machine.identity, machine.name, machine.facts})); }

std::string hash_of(const TaskSnapshot& task) {
  return sha256(joined({task.name, task.suite, task.category, task.text}));
}

bool Store::is_in(const fs::path& folder) {
  std::error_code code;
  return fs::exists(file_in(folder), code);
}

Result<Store> Store::open(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) {
    return fail("{}: the store's folder cannot be made: {}; name another one with --store or KW_STORE", folder.string(),
                code.message());
  }
  KW_CHECK(check_place(folder));
  if (is_in(folder) && !is_ours(file_in(folder))) {
    return fail("{}: the store belongs to another user and is only read; name another one with --store or KW_STORE",
                file_in(folder).string());
  }
  Store store;
  store.folder_ = folder;
  KW_TRY(store.database_, Database::open(file_in(folder), Database::Access::create));
  KW_CHECK(set_up_writing(store.database_));
  KW_CHECK(bring_forward(store.database_, schema_steps()));
  return store;
}

Result<Store> Store::open_existing(const fs::path& folder) {
  if (!is_in(folder)) {
    return fail(
        "nothing was recorded in {} yet: `kw demo`, `kw optimize TASK`, `kw bench` and `kw eval --batch FILE` make a "
        "run; --store or KW_STORE name another folder",
        folder.string());
  }
  KW_CHECK(check_place(folder));
  Store store;
  store.folder_ = folder;
  auto writable = is_ours(file_in(folder)) ? Database::open(file_in(folder), Database::Access::write)
                                           : Result<Database>(fail("it is another user's"));
  if (writable.ok() && set_up_writing(*writable).ok()) {
    store.database_ = *std::move(writable);
    KW_CHECK(bring_forward(store.database_, schema_steps()));
    return store;
  }
  // Without the right to write, it is opened for reading.
  KW_TRY(store.database_, Database::open(file_in(folder), Database::Access::read));
  if (!store.database_.number("PRAGMA user_version").ok()) {
    KW_TRY(store.database_, Database::open(file_in(folder), Database::Access::frozen));
  }
  KW_CHECK(check_version(store.database_, schema_steps()));
  return store;
}

Result<std::int64_t> Store::add_machine(const Machine& machine) {
  const std::string hash = hash_of(machine);
  KW_TRY(const std::int64_t known, row_of(database_, "machine", hash));
  if (known) return known;
  KW_TRY(Statement insert, database_.prepare("INSERT INTO machine (hash, identity, name, facts) VALUES (?, ?, ?, ?) "
                                             "ON CONFLICT (hash) DO UPDATE SET hash = hash RETURNING id"));
  insert.bind(hash).bind(machine.identity).bind(machine.name).bind(machine.facts);
  KW_TRY(const bool row, insert.step());
  assert(row);
  const std::int64_t id = insert.integer(0);
  KW_CHECK(insert.run());
  return id;
}

Result<std::int64_t> Store::add_task(const TaskSnapshot& task) {
  if (task.text.size() > kMostPackedBytes) return fail("{}: the task is too large for the record", task.name);
  const std::string hash = hash_of(task);
  KW_TRY(const std::int64_t known, row_of(database_, "task", hash));
  if (known) return known;
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO task (hash, name, suite, category, text) VALUES (?, ?, ?, ?, ?)"));
  insert.bind(hash).bind(task.name).bind(task.suite).bind(task.category).bind_bytes(pack(task.text));
  KW_CHECK(insert.run());
  return database_.last_row();
}

Result<std::int64_t> Store::add_source(const std::string& text) {
  if (text.size() > kMostPackedBytes) return fail("a source is too large for the record");
  const std::string hash = sha256(text);
  KW_TRY(const std::int64_t known, row_of(database_, "source", hash));
  if (known) return known;
  KW_TRY(Statement insert, database_.prepare("INSERT INTO source (hash, size_bytes, text) VALUES (?, ?, ?)"));
  insert.bind(hash).bind(static_cast<std::int64_t>(text.size())).bind_bytes(pack(text));
  KW_CHECK(insert.run());
  return database_.last_row();
}

Result<std::int64_t> Store::add_candidate(const Candidate& candidate) {
  const std::string hash = hash_of(candidate);
  KW_TRY(const std::int64_t known, row_of(database_, "candidate", hash));
  if (known) return known;
  KW_TRY(const std::int64_t source, add_source(candidate.source));
  return add_candidate(candidate, hash, source);
}

Result<std::int64_t> Store::add_candidate(const Candidate& candidate, const std::string& hash, std::int64_t source) {
  KW_TRY(const std::int64_t known, row_of(database_, "candidate", hash));
  if (known) return known;
  KW_TRY(Statement insert, database_.prepare("INSERT INTO candidate (hash, source, file, settings, author, notes) "
                                             "VALUES (?, ?, ?, ?, ?, ?)"));
  insert.bind(hash).bind(source).bind(candidate.file).bind(candidate.settings).bind(candidate.author);
  insert.bind(candidate.notes);
  KW_CHECK(insert.run());
  const std::int64_t id = database_.last_row();
  KW_TRY(Statement link, database_.prepare("INSERT INTO parent (candidate, parent) VALUES (?, ?)"));
  for (const std::string& parent : candidate.parents) {
    KW_TRY(const std::int64_t row, row_of(database_, "candidate", parent));
    if (!row) return fail("{}: its parent {} is not in the store", candidate.file, parent);
    link.bind(id).bind(row);
    KW_CHECK(link.run());
  }
  return id;
}

Result<std::int64_t> Store::add_rival(const std::string& name, const std::string& version) {
  KW_TRY(Statement find, database_.prepare("SELECT id FROM rival WHERE name = ? AND version = ?"));
  find.bind(name).bind(version);
  KW_TRY(const bool found, find.step());
  if (found) return find.integer(0);
  KW_TRY(Statement insert, database_.prepare("INSERT INTO rival (name, version) VALUES (?, ?)"));
  insert.bind(name).bind(version);
  KW_CHECK(insert.run());
  return database_.last_row();
}

Result<std::int64_t> Store::insert_run(const NewRun& run, const std::string& origin, const std::string& began_at) {
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO run (origin, began_at, changed_at, state, command, suite, author, strategy, "
                           "seed, rules, planned) VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, 0)"));
  insert.bind(origin).bind(began_at).bind(time_now()).bind(run.command).bind(run.suite).bind(run.author);
  insert.bind(run.strategy).bind(run.seed).bind(run.rules);
  KW_CHECK(insert.run());
  const std::int64_t id = database_.last_row();
  KW_TRY(Statement rival, database_.prepare("INSERT INTO run_rival (run, position, name, source) VALUES (?, ?, ?, ?)"));
  for (std::size_t i = 0; i < run.against.size(); ++i) {
    KW_TRY(const std::int64_t source, add_source(run.against[i].text));
    rival.bind(id).bind(static_cast<std::int64_t>(i)).bind(run.against[i].name).bind(source);
    KW_CHECK(rival.run());
  }
  return id;
}

Result<std::int64_t> Store::insert_item(std::int64_t run, const NewItem& item) {
  assert(!item.problem.empty() || (item.task && item.candidate));
  std::optional<std::int64_t> task, candidate;
  if (item.task) {
    KW_TRY(task, add_task(*item.task));
  }
  if (item.candidate) {
    KW_TRY(candidate, add_candidate(*item.candidate));
  }
  return insert_item(run, item, task, candidate);
}

Result<std::int64_t> Store::insert_item(std::int64_t run, const NewItem& item, std::optional<std::int64_t> task,
                                        std::optional<std::int64_t> candidate) {
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO item (run, position, purpose, task, candidate, build, label, problem) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(run)
      .bind(item.position)
      .bind(std::string(name_of(item.purpose)))
      .bind(task)
      .bind(candidate)
      .bind(item.build);
  insert.bind(item.label).bind(item.problem);
  KW_CHECK(insert.run());
  const std::int64_t id = database_.last_row();
  KW_TRY(Statement count, database_.prepare("UPDATE run SET planned = planned + 1 WHERE id = ?"));
  KW_CHECK(count.bind(run).run());
  return id;
}

Status Store::insert_event(std::int64_t run, EventKind kind, const std::string& text) {
  KW_TRY(Statement insert, database_.prepare("INSERT INTO event (run, at, kind, text) VALUES (?, ?, ?, ?)"));
  return insert.bind(run).bind(time_now()).bind(std::string(name_of(kind))).bind(text).run();
}

Result<std::int64_t> Store::begin_run(const NewRun& run, std::span<const NewItem> items) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  const std::string origin = random_name();
  KW_TRY(const std::int64_t id, insert_run(run, origin, time_now()));
  KW_TRY(Statement seal, database_.prepare("UPDATE run SET seal = ? WHERE id = ?"));
  KW_CHECK(seal.bind(seal_of(content_of_run(origin, run))).bind(id).run());
  for (const NewItem& item : items) {
    KW_TRY([[maybe_unused]] const std::int64_t row, insert_item(id, item));
  }
  KW_CHECK(insert_event(id, EventKind::began, run.command));
  KW_CHECK(transaction.commit());
  return id;
}

Result<std::int64_t> Store::add_item(std::int64_t run, const NewItem& item) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(const std::int64_t id, insert_item(run, item));
  KW_CHECK(transaction.commit());
  return id;
}

Status Store::insert_verdict(std::int64_t item, const Recorded& recorded) {
  std::vector<std::int64_t> rivals;
  for (const Recorded::Against& one : recorded.speedups) {
    KW_TRY(const std::int64_t rival, add_rival(one.rival, one.version));
    rivals.push_back(rival);
  }
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO verdict (item, run, task, machine, at, spent_s, stage, accepted, terms, "
                           "time_ns, rival, speedup, noise, roof_fraction, kept, key, json) "
                           "SELECT id, run, task, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM item WHERE id = ?"));
  insert.bind(recorded.machine).bind(recorded.at).bind(recorded.spent_s).bind(recorded.stage).bind(recorded.accepted);
  insert.bind(recorded.terms).bind(recorded.time_ns);
  if (rivals.empty()) {
    insert.bind_null().bind_null();
  } else {
    insert.bind(rivals.front()).bind(recorded.speedups.front().median);
  }
  insert.bind(recorded.noise).bind(recorded.roof_fraction).bind(recorded.kept).bind(recorded.key);
  insert.bind_bytes(pack(recorded.json)).bind(item);
  KW_CHECK(insert.run());
  if (database_.changed_rows() != 1) return fail("there is no item {} in {}", item, database_.file());
  KW_TRY(Statement speedup,
         database_.prepare("INSERT INTO speedup (item, position, rival, median, low, high, pairs, claimed, times) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const Recorded::Against& one = recorded.speedups[i];
    speedup.bind(item).bind(static_cast<std::int64_t>(i)).bind(rivals[i]).bind(one.median).bind(one.low).bind(one.high);
    speedup.bind(one.pairs).bind(one.claimed).bind_bytes(one.packed_times);
    KW_CHECK(speedup.run());
  }
  return {};
}

namespace {

Recorded recorded_of(const Verdict& verdict, const std::string& json, const Circumstances& around) {
  Recorded recorded;
  recorded.machine = around.machine;
  recorded.at = time_now();
  recorded.spent_s = around.spent_s;
  recorded.terms = around.terms;
  recorded.key = around.key;
  recorded.stage = name_of(verdict.stage);
  recorded.accepted = verdict.accepted();
  recorded.time_ns = verdict.time_ns;
  recorded.noise = verdict.noise;
  recorded.roof_fraction = verdict.roof_fraction;
  recorded.kept = verdict.kept;
  recorded.json = json;
  for (const Speedup& one : verdict.speedups) {
    const auto version = around.versions.find(one.rival);
    recorded.speedups.push_back({one.rival, version == around.versions.end() ? "" : version->second, one.median,
                                 one.low, one.high, one.pairs, one.claimed, pack_pairs(one.times)});
  }
  return recorded;
}

}  // namespace

Status Store::record(std::int64_t item, const Verdict& verdict, const std::string& json, const Circumstances& around) {
  const Recorded recorded = recorded_of(verdict, json, around);
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_CHECK(insert_verdict(item, recorded));
  KW_CHECK(seal_verdict(database_, item));
  return transaction.commit();
}

Status Store::add_judged(std::int64_t run, const NewItem& item, const Verdict& verdict, const std::string& json,
                         const Circumstances& around) {
  const Recorded recorded = recorded_of(verdict, json, around);
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(const std::int64_t id, insert_item(run, item));
  KW_CHECK(insert_verdict(id, recorded));
  KW_CHECK(seal_verdict(database_, id));
  return transaction.commit();
}

Result<Store::Adopted> Store::adopt_all() {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(const std::vector<RunSummary> all, runs());
  KW_TRY(Statement change, database_.prepare("UPDATE run SET seal = ? WHERE id = ?"));
  Adopted adopted;
  for (const RunSummary& run : all) {
    if (run.is_own) continue;
    KW_CHECK(change.bind(seal_of(content_of_run(run.origin, run.about))).bind(run.id).run());
    ++adopted.runs;
  }
  std::vector<std::int64_t> items;
  KW_TRY(Statement rows, database_.prepare("SELECT item FROM verdict"));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) break;
    items.push_back(rows.integer(0));
  }
  for (const std::int64_t item : items) {
    KW_TRY(const bool own, is_own_verdict(database_, item));
    // What does not hang together cannot be sealed, and goes on counting for nothing.
    if (!own && seal_verdict(database_, item).ok()) ++adopted.verdicts;
  }
  KW_CHECK(transaction.commit());
  return adopted;
}

Status Store::set_state(std::int64_t run, RunState state, const std::string& text) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement change, database_.prepare("UPDATE run SET state = ?, changed_at = ? WHERE id = ?"));
  KW_CHECK(change.bind(std::string(name_of(state))).bind(time_now()).bind(run).run());
  const EventKind kind = state == RunState::done      ? EventKind::done
                         : state == RunState::stopped ? EventKind::stopped
                                                      : EventKind::resumed;
  KW_CHECK(insert_event(run, kind, text));
  return transaction.commit();
}

Status Store::note(std::int64_t run, EventKind kind, const std::string& text) { return insert_event(run, kind, text); }

Status Store::remove_run(std::int64_t run) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement remove, database_.prepare("DELETE FROM run WHERE id = ?"));
  KW_CHECK(remove.bind(run).run());
  // A candidate stays while a descendant does; the last of a line frees the one before it.
  do {
    KW_CHECK(database_.execute(
        "DELETE FROM candidate WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.candidate = candidate.id) "
        "AND NOT EXISTS (SELECT 1 FROM parent WHERE parent.parent = candidate.id)"));
  } while (database_.changed_rows() > 0);
  for (const char* sql :
       {"DELETE FROM source WHERE NOT EXISTS (SELECT 1 FROM candidate WHERE candidate.source = source.id) "
        "AND NOT EXISTS (SELECT 1 FROM run_rival WHERE run_rival.source = source.id)",
        "DELETE FROM task WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.task = task.id)",
        "DELETE FROM rival WHERE NOT EXISTS (SELECT 1 FROM speedup WHERE speedup.rival = rival.id) "
        "AND NOT EXISTS (SELECT 1 FROM verdict WHERE verdict.rival = rival.id)",
        "DELETE FROM machine WHERE NOT EXISTS (SELECT 1 FROM verdict WHERE verdict.machine = machine.id)"}) {
    KW_CHECK(database_.execute(sql));
  }
  return transaction.commit();
}

}  // namespace kw::store
