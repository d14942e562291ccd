// SQLite as this house uses it: statements that check themselves, errors as values with the file's name and what to do.
// sqlite3.h stays in database.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kw::store {

// One prepared statement. Values are bound in order; the first problem is kept and told by the next step.
class Statement {
 public:
  Statement& bind(std::int64_t value);
  Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(bool value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind_bytes(std::string_view bytes);
  Statement& bind_null();
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }
  Statement& bind_column(const Statement& row, int column);  // any type, as it is

  // True: there is a row to be read. False: done. Binding begins anew after it was done.
  Result<bool> step();
  // For a statement without rows.
  Status run();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // text or bytes
  std::optional<double> optional_real(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  int columns() const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code);

  sqlite3* database_ = nullptr;
  std::string file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;  // to be bound
  int problem_ = 0;
};

class Database {
 public:
  // frozen: it is not written meanwhile and nothing can be written beside it, as on a disk that is mounted read-only.
  enum class Access { frozen, read, write, create };
  static Result<Database> open(const std::filesystem::path& file, Access access);
  // An empty one that is gone with this object.
  static Result<Database> in_memory();

  Result<Statement> prepare(std::string_view sql) const;
  // One or several statements without values.
  Status execute(const char* sql) const;
  // Commits go to a log beside the file from now on: readers and a writer do not wait for each other.
  Status write_ahead() const;
  // The first column of the first row; 0 where there is none.
  Result<std::int64_t> number(std::string_view sql) const;

  std::int64_t last_row() const;
  int changed_rows() const;  // by the last statement
  const std::string& file() const { return file_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  static Result<Database> open_address(const std::string& address, const std::string& name, int flags);

  std::string file_;
  std::unique_ptr<sqlite3, Close> database_;
};

// Takes the one writer's place at its beginning, so that it never fails half-way because of another program; undone
// unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  // When it returns well, the change is on the disk.
  Status commit();

 private:
  explicit Transaction(const Database* database) : database_(database) {}
  const Database* database_;
};

}  // namespace kw::store
