#include "inspect/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <set>
#include <thread>

#include "base/inside.h"

namespace kw::inspect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000;
constexpr std::size_t kMostSignature = 140;

bool is_source(const fs::path& path) {
  static const std::set<std::string> endings = {".c",   ".cc", ".cpp", ".cxx", ".cu",
                                                ".cuh", ".h",  ".hpp", ".hh",  ".inc"};
  return endings.contains(path.extension().string());
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

int hits(const std::string& text, const std::vector<std::string>& words) {
  const std::string where = lower(text);
  return static_cast<int>(
      std::ranges::count_if(words, [&](const std::string& word) { return where.find(word) != std::string::npos; }));
}

// Single letters are no subject.
std::vector<std::string> words_of(const std::vector<std::string>& subject) {
  std::vector<std::string> words;
  for (const std::string& word : subject) {
    if (word.size() > 1) words.push_back(lower(word));
  }
  return words;
}

}  // namespace

int likeness_of(const std::string& text, const std::vector<std::string>& subject) {
  return hits(text, words_of(subject));
}

Result<std::vector<TreeFile>> read_tree(const fs::path& folder, const std::vector<TreeFile>* before) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail("{}: is no folder", folder.string());
  const fs::path place = fs::canonical(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  std::vector<TreeFile> files;
  for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator() && files.size() < kMostFiles; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory(error) && (name.starts_with(".") || name == "build" || name == "node_modules")) {
      entry.disable_recursion_pending();
    }
    // A link may lead out of the folder.
    if (entry->is_symlink(error) || !entry->is_regular_file(error) || !is_source(entry->path())) continue;
    std::error_code unreadable;
    const std::uint64_t bytes = entry->file_size(unreadable);
    const auto changed = entry->last_write_time(unreadable).time_since_epoch().count();
    if (unreadable || bytes > kMostFileBytes) continue;
    files.push_back({.path = entry->path().lexically_relative(folder).string(), .bytes = bytes, .changed = changed});
  }
  if (error) return fail("{}: {}", folder.string(), error.message());

  std::vector<char> read(files.size(), 1);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < files.size();) {
      TreeFile& file = files[i];
      if (before != nullptr) {
        const auto known = std::ranges::lower_bound(*before, file.path, {}, &TreeFile::path);
        if (known != before->end() && known->path == file.path && known->bytes == file.bytes &&
            known->changed == file.changed) {
          file.scopes = known->scopes;
          continue;
        }
      }
      const auto text = read_without_links(place / file.path, kMostFileBytes);
      read[i] = text.ok() ? 1 : 0;
      if (text.ok()) file.scopes = outline_of(*text, Listed::declarations_too);
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < std::min(std::thread::hardware_concurrency(), 8u) && files.size() > 50; ++i)
      workers.emplace_back(work);
    work();
  }
  std::vector<TreeFile> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (read[i] != 0) all.push_back(std::move(files[i]));
  }
  return all;
}

std::vector<TreeFile> sorted_by_likeness(std::vector<TreeFile> files, const std::vector<std::string>& subject) {
  const std::vector<std::string> words = words_of(subject);
  for (TreeFile& file : files) {
    file.likeness = 3 * hits(file.path, words);
    for (const Scope& scope : file.scopes) file.likeness += hits(scope.name, words);
  }
  std::ranges::sort(files, [](const TreeFile& a, const TreeFile& b) {
    return a.likeness != b.likeness ? a.likeness > b.likeness : a.path < b.path;
  });
  return files;
}

Result<std::vector<TreeFile>> tree_of(const fs::path& folder, const std::vector<std::string>& subject) {
  KW_TRY(std::vector<TreeFile> files, read_tree(folder));
  return sorted_by_likeness(std::move(files), subject);
}

std::string as_text(const std::vector<TreeFile>& files, int most_tokens) {
  const std::size_t most = static_cast<std::size_t>(std::max(most_tokens, 20)) * 4;
  const bool chosen = !files.empty() && files.front().likeness > 0;
  std::string text;
  std::size_t shown = 0;
  for (const TreeFile& file : files) {
    if (chosen && file.likeness == 0) break;
    std::string one = file.path + "\n";
    for (const Scope& scope : file.scopes) {
      if (scope.kind == Scope::Kind::name_space) continue;
      std::string signature = scope.signature.substr(0, kMostSignature);
      if (scope.signature.size() > kMostSignature) signature += "...";
      one += fmt::format("{}{}  :{}\n", std::string(2 + 2 * static_cast<std::size_t>(std::min(scope.depth, 4)), ' '),
                         signature, scope.first_line);
    }
    if (text.size() + one.size() > most) {
      // What fits of the first file, and only names of the others.
      one = text.empty() ? one.substr(0, one.rfind('\n', most - std::min<std::size_t>(most, 30))) + "\n"
                         : file.path + "\n";
      if (text.size() + one.size() > most) break;
    }
    text += one;
    ++shown;
  }
  if (shown < files.size() && text.size() + 40 <= most)
    text += fmt::format("... and {} more files\n", files.size() - shown);
  return text;
}

}  // namespace kw::inspect
