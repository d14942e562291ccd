#include "store/schema.h"

#include <set>

namespace kw::store {
namespace {

// Things that many rows share are kept once, under the SHA-256 of their content: machines, tasks as judged, sources,
// candidates. Texts that may be long are packed (store/packed.h). Times are UTC, "2026-01-31T12:00:00.000Z".
constexpr char kVersion1[] = R"(
CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  identity TEXT NOT NULL,  -- equal for rows of one machine: roofs and compilers change, the machine stays
  name TEXT NOT NULL,
  facts TEXT NOT NULL      -- JSON: cpu, caches, compilers, kernel, roofs, sandbox
);
CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  suite TEXT NOT NULL,
  category TEXT NOT NULL,
  text BLOB NOT NULL       -- packed: all that makes it this task
);
CREATE INDEX task_by_name ON task(name);
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,
  text BLOB NOT NULL       -- packed
);
CREATE TABLE candidate (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  source INTEGER NOT NULL REFERENCES source(id),
  file TEXT NOT NULL,
  settings TEXT NOT NULL,  -- JSON: tunables, compiler and flags that were set
  author TEXT NOT NULL,
  notes TEXT NOT NULL
);
CREATE INDEX candidate_by_source ON candidate(source);
CREATE TABLE parent (
  id INTEGER PRIMARY KEY,
  candidate INTEGER NOT NULL REFERENCES candidate(id) ON DELETE CASCADE,
  parent INTEGER NOT NULL REFERENCES candidate(id),
  UNIQUE (candidate, parent)
);
CREATE INDEX parent_by_parent ON parent(parent);
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a removed run's name is not used again
  origin TEXT NOT NULL UNIQUE,           -- the same wherever the run is imported
  began_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  state TEXT NOT NULL,                   -- open, stopped, done
  command TEXT NOT NULL,
  suite TEXT NOT NULL,
  author TEXT NOT NULL,
  strategy TEXT NOT NULL,
  seed INTEGER,
  rules TEXT NOT NULL,                   -- JSON: how everything in it is judged
  planned INTEGER NOT NULL               -- items in it
);
CREATE TABLE run_rival (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  source INTEGER NOT NULL REFERENCES source(id),
  UNIQUE (run, position)
);
CREATE INDEX run_rival_by_source ON run_rival(source);
CREATE TABLE item (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  purpose TEXT NOT NULL,   -- judge; confirm: measured again after it was chosen
  task INTEGER REFERENCES task(id),
  candidate INTEGER REFERENCES candidate(id),
  build TEXT NOT NULL,     -- JSON: compiler, flags, the values of all tunables
  label TEXT NOT NULL,     -- JSON: what its author calls it
  problem TEXT NOT NULL,   -- why it can never be judged; empty: it can
  UNIQUE (run, position)
);
CREATE INDEX item_with_problem ON item(run) WHERE problem <> '';
CREATE INDEX item_by_task ON item(task);
CREATE INDEX item_by_candidate ON item(candidate);
CREATE TABLE rival (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  UNIQUE (name, version)
);
CREATE TABLE verdict (
  item INTEGER PRIMARY KEY REFERENCES item(id) ON DELETE CASCADE,  -- once, and never twice
  run INTEGER NOT NULL,
  task INTEGER NOT NULL,
  machine INTEGER NOT NULL REFERENCES machine(id),
  at TEXT NOT NULL,
  spent_s REAL NOT NULL,
  stage TEXT NOT NULL,
  accepted INTEGER NOT NULL,
  terms TEXT NOT NULL,     -- under which it was timed: "warm caches, 1 thread"
  time_ns REAL,
  rival INTEGER REFERENCES rival(id),  -- the first one; speed-ups against all are in their table
  speedup REAL,
  noise REAL,
  roof_fraction REAL,
  kept INTEGER NOT NULL,   -- taken from an earlier run, whose key was the same
  key TEXT NOT NULL,       -- a hash of all that the verdict depends on
  json BLOB NOT NULL       -- packed: as kw eval --json prints it
);
CREATE INDEX verdict_by_run ON verdict(run, task, accepted, machine, rival, speedup);
CREATE INDEX verdict_by_task ON verdict(task, accepted, machine);
CREATE INDEX verdict_by_key ON verdict(key);
CREATE INDEX verdict_by_machine ON verdict(machine);
CREATE INDEX verdict_by_rival ON verdict(rival);
CREATE TABLE speedup (
  id INTEGER PRIMARY KEY,
  item INTEGER NOT NULL REFERENCES verdict(item) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  rival INTEGER NOT NULL REFERENCES rival(id),
  median REAL NOT NULL,
  low REAL NOT NULL,
  high REAL NOT NULL,
  pairs INTEGER NOT NULL,
  claimed INTEGER NOT NULL,
  times BLOB NOT NULL,     -- packed pairs: the candidate's and the rival's nanoseconds
  UNIQUE (item, position)
);
CREATE INDEX speedup_by_rival ON speedup(rival);
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,      -- began, resumed, stopped, done, problem, imported
  text TEXT NOT NULL
);
CREATE INDEX event_by_run ON event(run);
)";

// What searches learned, for like tasks (search/memory.h).
constexpr char kVersion2[] = R"(
CREATE TABLE lesson (
  id INTEGER PRIMARY KEY,
  machine TEXT NOT NULL,    -- its identity
  family TEXT NOT NULL,     -- the task's operators
  task TEXT NOT NULL,
  size REAL NOT NULL,       -- log2 of the bytes that the task moves
  technique TEXT NOT NULL,
  settings TEXT NOT NULL,   -- JSON
  time REAL NOT NULL,       -- against the technique's defaults
  at TEXT NOT NULL,
  UNIQUE (machine, task, technique, settings)
);
CREATE INDEX lesson_by_family ON lesson(machine, family);
)";

// Who wrote a row: store/seal.h. Rows of before have no seal; `kw trust --store` gives them one.
constexpr char kVersion3[] = R"(
ALTER TABLE run ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE verdict ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE lesson ADD COLUMN seal TEXT NOT NULL DEFAULT '';
)";

constexpr const char* kSteps[] = {kVersion1, kVersion2, kVersion3};

Error too_new(const Database& database, std::int64_t version, std::size_t known) {
  return fail(
      "{}: the store has version {}, made by a newer kw; this one knows versions up to {}: install the newer one",
      database.file(), version, known);
}

// What CREATE said of each part. SQLite's own parts (sqlite_sequence, indexes of UNIQUE) follow from those.
Result<std::set<std::string>> parts_of(const Database& database) {
  std::set<std::string> parts;
  KW_TRY(Statement rows, database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema "
                                          "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return parts;
    parts.insert(fmt::format("{} {} {} {}", rows.text(0), rows.text(1), rows.text(2), rows.text(3)));
  }
}

}  // namespace

std::span<const char* const> schema_steps() { return kSteps; }

Status check_form(const Database& database, std::span<const char* const> steps) {
  KW_TRY(const std::int64_t version, database.number("PRAGMA user_version"));
  if (version < 0 || version > static_cast<std::int64_t>(steps.size())) return too_new(database, version, steps.size());
  KW_TRY(const Database right, Database::in_memory());
  for (const char* step : steps.first(static_cast<std::size_t>(version))) KW_CHECK(right.execute(step));
  KW_TRY(const auto wanted, parts_of(right));
  KW_TRY(const auto found, parts_of(database));
  if (found == wanted) return {};
  return fail("{}: a database, but not a store of kw: its tables have another form", database.file());
}

Status bring_forward(const Database& database, std::span<const char* const> steps) {
  const auto last = static_cast<std::int64_t>(steps.size());
  KW_TRY(const std::int64_t before, database.number("PRAGMA user_version"));
  if (before > 0) KW_CHECK(check_form(database, steps));
  if (before == last) return {};
  KW_TRY(Transaction transaction, Transaction::begin(database));
  // Another program may have done it meanwhile.
  KW_TRY(const std::int64_t version, database.number("PRAGMA user_version"));
  if (version > last) return too_new(database, version, steps.size());
  if (version == 0) {
    KW_TRY(const std::int64_t tables, database.number("SELECT count(*) FROM sqlite_schema"));
    if (tables > 0) return fail("{}: a database, but not a store of kw", database.file());
  }
  for (std::int64_t i = version; i < last; ++i) KW_CHECK(database.execute(steps[static_cast<std::size_t>(i)]));
  KW_CHECK(database.execute(fmt::format("PRAGMA user_version = {}", last).c_str()));
  return transaction.commit();
}

Status check_version(const Database& database, std::span<const char* const> steps) {
  KW_TRY(const std::int64_t version, database.number("PRAGMA user_version"));
  const auto last = static_cast<std::int64_t>(steps.size());
  if (version > last) return too_new(database, version, steps.size());
  if (version < last) return fail("{}: the store has version {}, not {}", database.file(), version, last);
  return check_form(database, steps);
}

}  // namespace kw::store
