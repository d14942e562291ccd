// A table of words: for a terminal, and for a pull request.
#pragma once

#include <string>
#include <vector>

namespace kw::report {

struct Table {
  struct Column {
    std::string name;
    bool is_number = false;  // set to the right
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`
  std::vector<std::string> notes = {};         // below it, one a line
};

// Names and reasons come from others: nothing in them steers a terminal or is markup.
std::string as_text(const Table& table);
std::string as_markdown(const Table& table);

}  // namespace kw::report
