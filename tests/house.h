// The project's own texts, for the tests that hold them to the rules of the house. A rule is a function from texts to
// complaints ("src/ops/op.h:3: ..."), so that each is first shown to complain about a made-up house and then held
// against this one.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"

namespace kw::house {

// Texts by their paths from the project's root.
using Files = std::map<std::string, std::string>;
using Complaints = std::vector<std::string>;

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Every text file of the project except what .gitignore keeps out; files with a zero byte are not text.
inline const Files& this_project() {
  static const std::set<std::string> left_out = {".git", ".kw", "build", "__pycache__", "compile_commands.json"};
  static const Files files = [] {
    Files found;
    const std::filesystem::path root = KW_SOURCE_DIR;
    for (auto entry = std::filesystem::recursive_directory_iterator(root);
         entry != std::filesystem::recursive_directory_iterator(); ++entry) {
      if (left_out.contains(entry->path().filename().string())) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file()) {
        const auto text = read_file(entry->path());
        if (text.ok() && text->find('\0') == std::string::npos) {
          found[entry->path().lexically_relative(root).string()] = *text;
        }
      }
    }
    return found;
  }();
  return files;
}

inline bool is_cpp(const std::string& path) { return path.ends_with(".cpp") || path.ends_with(".h"); }

// "ops" of "src/ops/families/reduction.cpp"; "" where the file is in no folder of src/.
inline std::string folder_of(const std::string& path) {
  static const std::regex pattern("src/([^/]+)/.*");
  std::smatch match;
  return std::regex_match(path, match, pattern) ? match[1].str() : "";
}

inline std::set<std::string> folders_of_src(const Files& files) {
  std::set<std::string> folders;
  for (const auto& [path, text] : files) folders.insert(folder_of(path));
  folders.erase("");
  return folders;
}

struct Include {
  std::string path;  // of the file that includes
  int line = 0;
  bool quoted = false;
  std::string header;

  std::string place() const { return fmt::format("{}:{}", path, line); }
};

inline std::vector<Include> includes_of(const Files& files) {
  static const std::regex pattern(R"re(\s*#\s*include\s*([<"])([^>"]+)[>"].*)re");
  std::vector<Include> includes;
  for (const auto& [path, text] : files) {
    if (!is_cpp(path)) continue;
    int number = 0;
    for (const std::string& line : lines_of(text)) {
      ++number;
      std::smatch match;
      if (line.find('#') == std::string::npos) continue;
      if (std::regex_match(line, match, pattern)) includes.push_back({path, number, match[1] == "\"", match[2]});
    }
  }
  return includes;
}

}  // namespace kw::house
