#include "compose/parts.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/files.h"

namespace kw::compose {
namespace {

namespace fs = std::filesystem;

Result<fs::path> folder() {
  KW_TRY(const fs::path data, data_folder());
  return data / "kernels/cpu/parts";
}

// The file that kernels include as <kw/NAME>; empty where there is none. Of device code also what plain kernels share.
fs::path file_of_part(const fs::path& kernels, const std::string& name) {
  if (name.find('/') != std::string::npos) return {};
  std::error_code failed;
  for (const char* place : {"cpu/parts", "cuda/parts", "cuda/plain"}) {
    const bool is_device_code = std::string_view(place).starts_with("cuda");
    fs::path file = kernels / place / name;
    if (file.extension() == (is_device_code ? ".cuh" : ".h") && fs::is_regular_file(file, failed)) return file;
  }
  return {};
}

// Of `#include <kw/vector.h>`: "vector.h"; empty where the line is none of that.
std::string part_of(const std::string& line, const std::string& before, char after) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos || line.compare(begin, before.size(), before) != 0) return {};
  const std::size_t name = begin + before.size();
  const std::size_t end = line.find(after, name);
  return end == std::string::npos ? "" : line.substr(name, end - name);
}

Status add(const fs::path& file, std::set<std::string>& added, std::string& text) {
  if (!added.insert(file.lexically_normal().string()).second) return {};
  KW_TRY(const std::string part, read_file(file));
  std::istringstream lines(part);
  std::string body;
  for (std::string line; std::getline(lines, line);) {
    if (line == "#pragma once" || line.starts_with("#include <kernelwright")) continue;
    if (const std::string other = part_of(line, "#include \"", '"'); !other.empty()) {
      KW_CHECK(add(file.parent_path() / other, added, text));
    } else if (!line.empty() || !(body.empty() || body.ends_with("\n\n"))) {
      body += line + "\n";
    }
  }
  text += "// " + file.filename().string() + "\n" + body;
  return {};
}

}  // namespace

Result<std::string> library_part(const std::string& name) {
  KW_TRY(const fs::path parts, folder());
  return read_file(parts / name);
}

Result<std::vector<std::string>> library_parts() {
  KW_TRY(const fs::path parts, folder());
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts, error)) {
    if (entry.path().extension() == ".h") names.push_back(entry.path().filename().string());
  }
  if (error) return fail("{}: {}", parts.string(), error.message());
  std::ranges::sort(names);
  return names;
}

Result<std::string> library_version() {
  KW_TRY(const fs::path parts, folder());
  KW_TRY(const std::string text, read_file(parts / "version.h"));
  const std::string mark = "#define KW_PARTS_VERSION ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return fail("{}: says no version", (parts / "version.h").string());
  return text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
}

Result<std::string> with_parts_inlined(const std::string& source, const std::string& name) {
  if (source.find("<kw/") == std::string::npos) return source;
  KW_TRY(const fs::path data, data_folder());
  std::set<std::string> added;
  std::istringstream lines(source);
  std::string text;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const fs::path file = file_of_part(data / "kernels", part_of(line, "#include <kw/", '>'));
    if (file.empty()) {
      text += line + "\n";
      continue;
    }
    if (added.empty()) {
      KW_TRY(const std::string version, library_version());
      text += "// Kernelwright's library of parts, version " + version + ", as far as this kernel needs it.\n";
    }
    if (!name.empty()) text += "#line 1 \"" + file.filename().string() + "\"\n";
    KW_CHECK(add(file, added, text));
    if (!name.empty()) text += "#line " + std::to_string(number + 1) + " \"" + name + "\"\n";
  }
  return text;
}

}  // namespace kw::compose
