#include "store/database.h"

#include <sqlite3.h>

#include <cassert>
#include <cctype>
#include <chrono>
#include <system_error>
#include <thread>

namespace kw::store {
namespace {

namespace fs = std::filesystem;

// How long a program waits for another one's transaction, which takes milliseconds.
constexpr int kMostWait_ms = 30'000;
// Of one row: what pack makes of kMostPackedBytes that nothing can be saved of, and room for the rest of the row.
constexpr int kMostValueBytes = 280 << 20;

// What went wrong, and what a person can do about it.
Error failure(int code, const std::string& file, const char* said) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail("{}: the store is damaged ({}); `kw runs rescue --out DIR` saves what can still be read", file, said);
    case SQLITE_FULL:
      return fail("{}: the disk is full; nothing was lost, make room and go on", file);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return fail("{}: the store cannot be written ({}); name another folder with --store or KW_STORE", file, said);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail("{}: another program has kept the store busy for {} s; try again when it has ended", file,
                  kMostWait_ms / 1000);
    case SQLITE_IOERR:
      return fail("{}: the store cannot be read or written ({}): is the disk full or gone?", file, said);
    default:
      return fail("{}: {}", file, said);
  }
}

// A name as SQLite's addresses want it, so that none of a path's letters is taken for something else.
std::string address_of(const fs::path& file, Database::Access access) {
  std::string address = "file:";
  for (const char c : file.string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' || c == '-' || c == '_';
    address += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return access == Database::Access::frozen ? address + "?immutable=1" : address;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }

void Statement::check(int code) {
  if (code != SQLITE_OK && problem_ == 0) problem_ = code;
}

Statement& Statement::bind(std::int64_t value) {
  check(::sqlite3_bind_int64(statement_.get(), next_++, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(::sqlite3_bind_double(statement_.get(), next_++, value));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  check(::sqlite3_bind_text64(statement_.get(), next_++, text.data() ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_bytes(std::string_view bytes) {
  check(::sqlite3_bind_blob64(statement_.get(), next_++, bytes.data() ? bytes.data() : "", bytes.size(),
                              SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_null() {
  check(::sqlite3_bind_null(statement_.get(), next_++));
  return *this;
}

Statement& Statement::bind_column(const Statement& row, int column) {
  check(::sqlite3_bind_value(statement_.get(), next_++, ::sqlite3_column_value(row.statement_.get(), column)));
  return *this;
}

Result<bool> Statement::step() {
  const int code = problem_ ? problem_ : ::sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  const Error error = code == SQLITE_DONE ? Error{} : failure(code, file_, ::sqlite3_errmsg(database_));
  ::sqlite3_reset(statement_.get());
  next_ = 1;
  problem_ = 0;
  if (code == SQLITE_DONE) return false;
  return error;
}

Status Statement::run() {
  KW_TRY(const bool row, step());
  assert(!row);
  return {};
}

bool Statement::is_null(int column) const { return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return ::sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return ::sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const void* bytes = ::sqlite3_column_blob(statement_.get(), column);
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  return bytes ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)) : std::string();
}

std::optional<double> Statement::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}
std::optional<std::int64_t> Statement::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}
int Statement::columns() const { return ::sqlite3_column_count(statement_.get()); }

Result<Database> Database::open(const fs::path& file, Access access) {
  const bool reads = access == Access::read || access == Access::frozen;
  return open_address(address_of(file, access), file.string(),
                      (reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                          (access == Access::create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_URI);
}

Result<Database> Database::in_memory() {
  return open_address(":memory:", "memory", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<Database> Database::open_address(const std::string& address, const std::string& name, int flags) {
  Database database;
  database.file_ = name;
  sqlite3* opened = nullptr;
  const int code = ::sqlite3_open_v2(address.c_str(), &opened, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  database.database_.reset(opened);
  if (code != SQLITE_OK) return failure(code, database.file_, opened ? ::sqlite3_errmsg(opened) : "no memory");
  // The file may have come from anywhere: what stands in its schema runs nothing here.
  for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_DEFENSIVE, 1}}) {
    ::sqlite3_db_config(opened, option, value, nullptr);
  }
  ::sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  ::sqlite3_extended_result_codes(opened, 1);
  ::sqlite3_busy_timeout(opened, kMostWait_ms);
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* made = nullptr;
  const int code = ::sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &made, nullptr);
  Statement statement;
  statement.database_ = database_.get();
  statement.file_ = file_;
  statement.statement_.reset(made);
  if (code != SQLITE_OK) return failure(code, file_, ::sqlite3_errmsg(database_.get()));
  return statement;
}

Status Database::execute(const char* sql) const {
  const int code = ::sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code, file_, ::sqlite3_errmsg(database_.get()));
  return {};
}

Status Database::write_ahead() const {
  // Of two programs that turn a new file to the log at once, SQLite refuses one without waiting: that one tries again.
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(kMostWait_ms);
  while (true) {
    const int code = ::sqlite3_exec(database_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return {};
    if ((code & 0xff) != SQLITE_BUSY || Clock::now() > end) {
      return failure(code, file_, ::sqlite3_errmsg(database_.get()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Result<std::int64_t> Database::number(std::string_view sql) const {
  KW_TRY(Statement statement, prepare(sql));
  KW_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

std::int64_t Database::last_row() const { return ::sqlite3_last_insert_rowid(database_.get()); }
int Database::changed_rows() const { return ::sqlite3_changes(database_.get()); }

Result<Transaction> Transaction::begin(const Database& database) {
  KW_CHECK(database.execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  // A failure here leaves nothing behind either: SQLite has undone the transaction itself.
  if (database_) [[maybe_unused]]
    const Status undone = database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  KW_CHECK(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace kw::store
