#include "store/lessons.h"

#include <tuple>

#include "store/seal.h"

namespace kw::store {
namespace {

std::string content_of(const std::string& machine_identity, const Lesson& lesson, const std::string& at) {
  return "lesson;" + parts_joined({machine_identity, lesson.family, lesson.task, fmt::format("{}", lesson.size),
                                   lesson.technique, lesson.settings, fmt::format("{}", lesson.time), at});
}

}  // namespace

Status add_lessons(const Store& store, const std::string& machine_identity, std::span<const Lesson> lessons) {
  const Database& database = store.database();
  KW_TRY(Transaction transaction, Transaction::begin(database));
  KW_TRY(Statement insert, database.prepare("INSERT OR REPLACE INTO lesson (machine, family, task, size, technique, "
                                            "settings, time, at, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string now = time_now();
  for (const Lesson& lesson : lessons) {
    insert.bind(machine_identity).bind(lesson.family).bind(lesson.task).bind(lesson.size);
    insert.bind(lesson.technique).bind(lesson.settings).bind(lesson.time).bind(now);
    insert.bind(seal_of(content_of(machine_identity, lesson, now)));
    KW_CHECK(insert.run());
  }
  return transaction.commit();
}

Result<std::vector<Lesson>> lessons_of(const Store& store, const std::string& machine_identity,
                                       const std::string& family) {
  KW_TRY(Statement rows,
         store.database().prepare(
             "SELECT family, task, size, technique, settings, time, at, seal FROM lesson WHERE machine = ? "
             "AND (family = ? OR ? = '') ORDER BY family, task, time"));
  rows.bind(machine_identity).bind(family).bind(family);
  std::vector<Lesson> lessons;
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return lessons;
    Lesson one{rows.text(0), rows.text(1), rows.real(2), rows.text(3), rows.text(4), rows.real(5), rows.text(6)};
    // One that came from elsewhere would send every search astray.
    if (is_seal_of(content_of(machine_identity, one, one.at), rows.text(7))) lessons.push_back(std::move(one));
  }
}

Result<std::vector<Lesson>> winners_elsewhere(const Store& store, const std::string& machine_identity,
                                              const std::string& family) {
  KW_TRY(Statement rows,
         store.database().prepare("SELECT family, task, size, technique, settings, time, at, seal, machine FROM lesson "
                                  "WHERE machine != ? AND family = ? ORDER BY machine, task, technique, time"));
  rows.bind(machine_identity).bind(family);
  std::vector<Lesson> winners;
  std::tuple<std::string, std::string, std::string> last;
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) return winners;
    Lesson one{rows.text(0), rows.text(1), rows.real(2), rows.text(3), rows.text(4), rows.real(5), rows.text(6)};
    const std::string machine = rows.text(8);
    if (!is_seal_of(content_of(machine, one, one.at), rows.text(7))) continue;
    // The fastest comes first.
    if (const auto search = std::tuple(machine, one.task, one.technique); search != last) {
      last = search;
      winners.push_back(std::move(one));
    }
  }
}

Result<int> forget_lessons(const Store& store, const std::string& family) {
  KW_TRY(Statement remove, store.database().prepare("DELETE FROM lesson WHERE family = ? OR ? = ''"));
  remove.bind(family).bind(family);
  KW_CHECK(remove.run());
  return store.database().changed_rows();
}

}  // namespace kw::store
