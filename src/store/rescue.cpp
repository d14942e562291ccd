#include "store/rescue.h"

#include <algorithm>
#include <limits>

#include "store/packed.h"
#include "store/schema.h"
#include "store/sha256.h"
#include "store/store.h"

namespace kw::store {
namespace {

// In an order in which what is named comes first, with what each table's rows rest on.
struct TableRule {
  const char* name;
  const char* stands;  // which rows rest on rows that are there
};
constexpr TableRule kTables[] = {
    {"machine", "1"},
    {"task", "1"},
    {"source", "1"},
    {"candidate", "source IN (SELECT id FROM source)"},
    {"parent", "candidate IN (SELECT id FROM candidate) AND parent IN (SELECT id FROM candidate)"},
    {"run", "1"},
    {"run_rival", "run IN (SELECT id FROM run) AND source IN (SELECT id FROM source)"},
    {"item",
     "run IN (SELECT id FROM run) AND (task IS NULL OR task IN (SELECT id FROM task)) AND "
     "(candidate IS NULL OR candidate IN (SELECT id FROM candidate))"},
    {"rival", "1"},
    {"verdict",
     "item IN (SELECT id FROM item) AND machine IN (SELECT id FROM machine) AND "
     "(rival IS NULL OR rival IN (SELECT id FROM rival))"},
    {"speedup", "item IN (SELECT item FROM verdict) AND rival IN (SELECT id FROM rival)"},
    {"event", "run IN (SELECT id FROM run)"},
};

// Copies rows by ascending number. Where reading fails it goes on behind the gap: first right behind, then ever
// farther, since a lost page holds many rows.
class Copier {
 public:
  Copier(const Database& from, const Database& to, std::string table)
      : from_(from), to_(to), table_(std::move(table)) {}

  Result<Rescued::Table> copy() {
    Rescued::Table result{.name = table_};
    KW_TRY(Statement columns, to_.prepare(fmt::format("SELECT * FROM {} LIMIT 0", table_)));
    const int count = columns.columns();
    std::string places;
    for (int i = 0; i < count; ++i) places += i == 0 ? "?" : ", ?";
    // What was read twice or contradicts what is there is left out.
    KW_TRY(Statement insert, to_.prepare(fmt::format("INSERT OR IGNORE INTO {} VALUES ({})", table_, places)));
    std::int64_t behind = std::numeric_limits<std::int64_t>::min();
    std::int64_t leap = 1;
    for (int tries = 0; tries < kMostTries;) {
      std::int64_t last = behind;
      bool ended = false;
      KW_CHECK(copy_behind(behind, insert, count, last, ended, result.saved));
      if (ended) return result;
      result.damaged = true;
      ++tries;
      const bool moved = last != behind;
      leap = moved ? 1 : leap * 2;
      if (last == std::numeric_limits<std::int64_t>::min()) last = 0;
      if (last > kMostRows || leap > kMostRows) return result;
      behind = last + leap;
    }
    return result;
  }

 private:
  static constexpr int kMostTries = 2000;
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 40;

  Status copy_behind(std::int64_t behind, Statement& insert, int count, std::int64_t& last, bool& ended,
                     std::int64_t& saved) {
    auto rows =
        from_.prepare(fmt::format("SELECT rowid, * FROM {} NOT INDEXED WHERE rowid > ? ORDER BY rowid", table_));
    if (!rows.ok()) return {};
    rows->bind(behind);
    for (;;) {
      const auto row = rows->step();
      if (!row.ok()) return {};
      if (!*row) {
        ended = true;
        return {};
      }
      last = rows->integer(0);
      if (rows->columns() != count + 1) continue;
      for (int i = 0; i < count; ++i) insert.bind_column(*rows, i + 1);
      KW_CHECK(insert.run());
      saved += to_.changed_rows();
    }
  }

  const Database& from_;
  const Database& to_;
  const std::string table_;
};

// A page of another file may have come in place of a source: only what its hash confirms is kept.
Status drop_changed_sources(const Database& database, Rescued::Table& table) {
  std::vector<std::int64_t> changed;
  KW_TRY(Statement rows, database.prepare("SELECT id, hash, text FROM source"));
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) break;
    const auto text = unpack(rows.text(2));
    if (!text.ok() || sha256(*text) != rows.text(1)) changed.push_back(rows.integer(0));
  }
  KW_TRY(Statement remove, database.prepare("DELETE FROM source WHERE id = ?"));
  for (const std::int64_t id : changed) KW_CHECK(remove.bind(id).run());
  table.saved -= static_cast<std::int64_t>(changed.size());
  table.dropped += static_cast<std::int64_t>(changed.size());
  return {};
}

}  // namespace

bool Rescued::whole() const {
  return std::ranges::none_of(tables, [](const Table& table) { return table.damaged || table.dropped > 0; });
}

Result<Rescued> rescue(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (!Store::is_in(from)) return fail("there is no store in {}", from.string());
  if (Store::is_in(to)) return fail("{}: there is a store already; name a new folder", to.string());
  KW_TRY(Database damaged, Database::open(Store::file_in(from), Database::Access::read));
  if (!damaged.number("SELECT count(*) FROM sqlite_schema").ok()) {
    // Without what was written last, which lies beside it and may be what is damaged.
    KW_TRY(damaged, Database::open(Store::file_in(from), Database::Access::frozen));
  }
  if (const auto readable = damaged.number("SELECT count(*) FROM sqlite_schema"); !readable.ok()) {
    return fail("{}: not even its head can be read, so that nothing can be saved from it; a backup is what is left",
                damaged.file());
  }
  KW_CHECK(check_version(damaged, schema_steps()));
  KW_TRY(const Store store, Store::open(to));
  const Database& database = store.database();
  KW_CHECK(database.execute("PRAGMA foreign_keys = OFF"));
  KW_TRY(Transaction transaction, Transaction::begin(database));
  Rescued rescued;
  for (const TableRule& rule : kTables) {
    KW_TRY(Rescued::Table table, Copier(damaged, database, rule.name).copy());
    if (table.name == "source") KW_CHECK(drop_changed_sources(database, table));
    KW_CHECK(database.execute(fmt::format("DELETE FROM {} WHERE NOT ({})", rule.name, rule.stands).c_str()));
    const std::int64_t dropped = rule.stands == std::string_view("1") ? 0 : database.changed_rows();
    table.saved -= dropped;
    table.dropped += dropped;
    if (table.name == "verdict") rescued.verdicts = table.saved;
    if (table.name == "run") rescued.runs = table.saved;
    rescued.tables.push_back(std::move(table));
  }
  // What was planned and lost is no longer waited for.
  KW_CHECK(database.execute("UPDATE run SET planned = (SELECT count(*) FROM item WHERE item.run = run.id)"));
  KW_CHECK(transaction.commit());
  return rescued;
}

}  // namespace kw::store
