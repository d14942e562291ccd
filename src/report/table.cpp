#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "report/letters.h"

namespace kw::report {
namespace {

std::string escaped(const std::string& text) {
  std::string escaped;
  for (const char c : harmless(text)) {
    if (std::string_view("\\`*_[]<>|#~&").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string room(width - std::min(width, static_cast<std::size_t>(letters_of(text))), ' ');
  return to_the_right ? room + text : text + room;
}

}  // namespace

std::string as_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Table::Column& column : table.columns)
    widths.push_back(static_cast<std::size_t>(letters_of(harmless(column.name))));
  for (const auto& row : table.rows) {
    assert(row.size() == table.columns.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], static_cast<std::size_t>(letters_of(harmless(row[i]))));
  }
  std::string text = table.title.empty() ? "" : harmless(table.title) + "\n";
  const auto add = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      line += "  " + padded(harmless(cell_at(i)), widths[i], table.columns[i].is_number);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add([&](std::size_t i) { return table.columns[i].name; });
  for (const auto& row : table.rows) add([&](std::size_t i) { return row[i]; });
  for (const std::string& note : table.notes) text += "  " + harmless(note) + "\n";
  return text;
}

std::string as_markdown(const Table& table) {
  std::string text = table.title.empty() ? "" : "### " + escaped(table.title) + "\n\n";
  for (const Table::Column& column : table.columns) text += "| " + escaped(column.name) + " ";
  text += "|\n";
  for (const Table::Column& column : table.columns) text += column.is_number ? "|--:" : "|---";
  text += "|\n";
  for (const auto& row : table.rows) {
    assert(row.size() == table.columns.size());
    for (const std::string& cell : row) text += "| " + escaped(cell) + " ";
    text += "|\n";
  }
  for (std::size_t i = 0; i < table.notes.size(); ++i)
    text += (i == 0 ? "\n- " : "- ") + escaped(table.notes[i]) + "\n";
  return text;
}

}  // namespace kw::report
