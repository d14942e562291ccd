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

// Of `#include <kw/vector.h>`: "vector.h"; empty where the line is none of that.
std::string part_of(const std::string& line, const std::string& before, char after) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos || line.compare(begin, before.size(), before) != 0) return {};
  const std::size_t name = begin + before.size();
  const std::size_t end = line.find(after, name);
  return end == std::string::npos ? "" : line.substr(name, end - name);
}

Status add(const fs::path& parts, const std::string& name, std::set<std::string>& added, std::string& text) {
  if (!added.insert(name).second) return {};
  KW_TRY(const std::string part, read_file(parts / name));
  std::istringstream lines(part);
  std::string body;
  for (std::string line; std::getline(lines, line);) {
    if (line == "#pragma once" || line == "#include <kernelwright.h>") continue;
    if (const std::string other = part_of(line, "#include \"", '"'); !other.empty()) {
      KW_CHECK(add(parts, other, added, text));
    } else if (!line.empty() || !(body.empty() || body.ends_with("\n\n"))) {
      body += line + "\n";
    }
  }
  text += "// " + name + "\n" + body;
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

Result<std::string> with_parts_inlined(const std::string& source) {
  if (source.find("<kw/") == std::string::npos) return source;
  KW_TRY(const fs::path parts, folder());
  KW_TRY(const std::vector<std::string> known, library_parts());
  std::set<std::string> added;
  std::istringstream lines(source);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = part_of(line, "#include <kw/", '>');
    if (!name.empty() && std::ranges::binary_search(known, name)) {
      if (added.empty()) {
        KW_TRY(const std::string version, library_version());
        text += "// Kernelwright's library of parts, version " + version + ", as far as this kernel needs it.\n";
      }
      KW_CHECK(add(parts, name, added, text));
    } else {
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace kw::compose
