#include "inspect/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>

#include "base/inside.h"
#include "base/nearest.h"

namespace kw::inspect {
namespace {

namespace fs = std::filesystem;

constexpr int kLinesAround = 4;
constexpr std::size_t kMostHits = 40;
constexpr std::size_t kMostLine = 200;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool number_in(const std::string& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0;
}

std::string upper(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

std::string without_slashes(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.starts_with("/")) path.erase(0, 1);
  while (path.ends_with("/")) path.pop_back();
  return path == "." ? "" : path;
}

std::string shortened(const std::string& line) {
  return line.size() > kMostLine ? line.substr(0, kMostLine) + "..." : line;
}

}  // namespace

std::optional<Look> look_of(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty()) return std::nullopt;
  const std::string verb = upper(words[0]);
  if (verb == "LIST") return Look{Look::Verb::list, words.size() > 1 ? without_slashes(words[1]) : ""};
  if (words.size() < 2) return std::nullopt;
  if (verb == "FIND")
    return Look{Look::Verb::find, line.substr(line.find(words[1], line.find(words[0]) + words[0].size()))};
  if (verb != "READ") return std::nullopt;
  Look look{Look::Verb::read, without_slashes(words[1])};
  if (words.size() < 3) return look;
  const std::size_t dash = words[2].find('-');
  const bool lines = number_in(words[2].substr(0, dash), look.first) &&
                     (dash == std::string::npos || number_in(words[2].substr(dash + 1), look.last));
  if (!lines) look = {Look::Verb::read, look.what, words[2]};
  return look;
}

Result<Repository> Repository::open(const fs::path& folder) {
  static std::mutex lock;
  static std::map<fs::path, std::shared_ptr<const std::vector<TreeFile>>> kept;
  std::error_code error;
  Repository repository;
  repository.folder_ = fs::canonical(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  const std::lock_guard guard(lock);
  auto& files = kept[repository.folder_];
  KW_TRY(auto read, read_tree(repository.folder_, files.get()));
  std::ranges::sort(read, {}, &TreeFile::path);
  files = std::make_shared<const std::vector<TreeFile>>(std::move(read));
  repository.files_ = files;
  return repository;
}

const TreeFile* Repository::file_named(const std::string& path) const {
  const auto found = std::ranges::lower_bound(*files_, path, {}, &TreeFile::path);
  return found != files_->end() && found->path == path ? &*found : nullptr;
}

std::string Repository::lines(const TreeFile& file, int first, int last, std::size_t most) const {
  const auto text = read_without_links(folder_ / file.path, kMostFileBytes);
  if (!text.ok()) return fmt::format("{}: cannot be read\n", file.path);
  std::istringstream stream(*text);
  std::string shown = fmt::format("{}\n", file.path);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    if (++number < first) continue;
    if (last > 0 && number > last) break;
    const std::string one = fmt::format("{:>5} {}\n", number, shortened(line));
    if (shown.size() + one.size() > most) {
      shown += fmt::format("      ... READ {} {}- shows more\n", file.path, number);
      break;
    }
    shown += one;
  }
  if (number < first) return fmt::format("{}: has {} lines\n", file.path, number);
  return shown;
}

std::string Repository::map(const std::vector<std::string>& subject, int most_tokens) const {
  const std::vector<TreeFile> sorted = sorted_by_likeness(*files_, subject);
  // A third of the room for whole functions: those whose own names are most like the subject.
  std::string text = as_text(sorted, most_tokens * 2 / 3);
  const std::size_t most = static_cast<std::size_t>(most_tokens) * 4;
  for (const TreeFile& file : sorted) {
    if (file.likeness == 0 || text.size() + 200 > most) break;
    for (const Scope& scope : file.scopes) {
      if (scope.kind != Scope::Kind::function || scope.declared || scope.last_line <= scope.first_line) continue;
      if (likeness_of(scope.name, subject) == 0) continue;
      const std::string body = lines(file, scope.first_line, scope.last_line, most);
      if (text.size() + body.size() > most) continue;
      text += "\n" + body;
      if (text.size() + 200 > most) break;
    }
  }
  return text;
}

std::string Repository::show(const std::vector<Look>& looks, int most_tokens) const {
  const std::size_t most = static_cast<std::size_t>(most_tokens) * 4;
  std::string text;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    // What one look leaves, the next ones may use.
    const std::size_t room = (most - std::min(most, text.size())) / (looks.size() - i);
    if (room < 100) return text + "... no room for more\n";
    text += show_one(looks[i], room);
  }
  return text;
}

std::string Repository::show_one(const Look& look, std::size_t most) const {
  switch (look.verb) {
    case Look::Verb::list: {
      const std::string prefix = look.what.empty() ? "" : look.what + "/";
      std::map<std::string, int> entries;  // files, and folders with how many files are in them
      for (const TreeFile& file : *files_) {
        if (!file.path.starts_with(prefix)) continue;
        const std::string rest = file.path.substr(prefix.size());
        const std::size_t slash = rest.find('/');
        ++entries[slash == std::string::npos ? rest : rest.substr(0, slash + 1)];
      }
      if (entries.empty()) return fmt::format("{}: no such folder, or no sources in it\n", look.what);
      std::string text = fmt::format("{}:\n", look.what.empty() ? name() : look.what);
      for (const auto& [entry, count] : entries) {
        const std::string one =
            entry.ends_with('/') ? fmt::format("  {} ({} files)\n", entry, count) : "  " + entry + "\n";
        if (text.size() + one.size() + 40 > most)
          return text + fmt::format("  ... {} entries in all\n", entries.size());
        text += one;
      }
      return text;
    }
    case Look::Verb::find: {
      std::string text = fmt::format("'{}':\n", look.what.substr(0, 80));
      std::size_t hits = 0;
      for (const TreeFile& file : *files_) {
        const auto content = read_without_links(folder_ / file.path, kMostFileBytes);
        if (!content.ok() || content->find(look.what) == std::string::npos) continue;
        std::istringstream stream(*content);
        int number = 0;
        for (std::string line; std::getline(stream, line);) {
          ++number;
          if (line.find(look.what) == std::string::npos) continue;
          const std::string one = fmt::format("  {}:{}: {}\n", file.path, number, shortened(line));
          if (++hits > kMostHits || text.size() + one.size() + 30 > most) return text + "  ... and more\n";
          text += one;
        }
      }
      return hits > 0 ? text : text + "  nowhere\n";
    }
    case Look::Verb::read:
      break;
  }
  const TreeFile* file = file_named(look.what);
  if (file == nullptr) {
    std::vector<std::string> paths;
    for (const TreeFile& one : *files_) paths.push_back(one.path);
    return fmt::format("{}: no such source{}\n", look.what, nearest_hint(look.what, paths));
  }
  if (look.scope.empty()) return lines(*file, look.first, look.last, most);
  for (const Scope& scope : file->scopes) {
    if (scope.name == look.scope && !scope.declared) return lines(*file, scope.first_line, scope.last_line, most);
  }
  std::vector<std::string> names;
  for (const Scope& scope : file->scopes) names.push_back(scope.name);
  return fmt::format("{}: no {} in it{}\n", file->path, look.scope, nearest_hint(look.scope, names));
}

std::string Repository::around(const std::string& file, int line, std::size_t most) const {
  for (const TreeFile& one : *files_) {
    const bool same = file == one.path || file.ends_with("/" + one.path) || one.path.ends_with("/" + file);
    if (same) return lines(one, std::max(1, line - kLinesAround), line + kLinesAround, most);
  }
  return {};
}

std::string Repository::definition_of(const std::string& name, std::size_t most) const {
  for (const TreeFile& one : *files_) {
    for (const Scope& scope : one.scopes) {
      if (scope.name == name && !scope.declared && scope.kind != Scope::Kind::name_space)
        return lines(one, scope.first_line, scope.last_line, most);
    }
  }
  return {};
}

std::string Repository::cited_by(const std::string& errors, int most_tokens) const {
  static const std::regex place("([A-Za-z0-9_./+-]+\\.[A-Za-z]+):([0-9]{1,6})");
  static const std::regex missing("([A-Za-z0-9_./+-]+): No such file");
  static const std::regex quoted("'([A-Za-z_][A-Za-z0-9_:]*)");
  const std::size_t most = static_cast<std::size_t>(most_tokens) * 4;
  std::string text;
  std::set<std::string> told;
  const auto add = [&](const std::string& one) {
    if (!one.empty() && text.size() + one.size() <= most && told.insert(one).second) text += one;
  };
  const auto each = [&](const std::regex& pattern, const auto& found) {
    for (std::sregex_iterator it(errors.begin(), errors.end(), pattern), end; it != end && text.size() + 100 < most;
         ++it)
      found(*it);
  };
  each(place, [&](const std::smatch& match) { add(around(match[1], std::stoi(match[2]), most / 2)); });
  each(missing, [&](const std::smatch& match) { add(around(match[1], 1, most / 2)); });
  each(quoted, [&](const std::smatch& match) {
    const std::string name = match[1];
    const std::size_t space = name.rfind("::");
    add(definition_of(space == std::string::npos ? name : name.substr(space + 2), most / 2));
  });
  return text;
}

}  // namespace kw::inspect
