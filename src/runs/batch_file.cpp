#include "runs/batch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "runs/case_record.h"
#include "runs/kernel_file.h"
#include "store/store.h"
#include "suites/catalog.h"

namespace kw::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of a batch

// Where a batch may read.
struct BatchFolders {
  std::vector<fs::path> allowed;

  // The path without links and dots.
  Result<std::string> checked(const std::string& file) const {
    std::error_code error;
    const fs::path path = fs::canonical(file, error);
    if (error) return fail("{}: no such file", file);
    for (const fs::path& folder : allowed) {
      const fs::path root = fs::canonical(folder, error);
      if (!error && std::ranges::mismatch(root, path).in1 == root.end()) return path.string();
    }
    return fail("{}: lies outside of the batch's folder; where that is meant: --files DIR", file);
  }

  // "model.onnx:NODE" and "suite.toml:NAME" name files too.
  Status check_task(const std::string& name) const {
    const std::string file = suites::file_named_by(name);
    if (file.empty()) return {};
    if (const auto path = checked(file); !path.ok()) return path.error();
    return {};
  }
};

Result<judge::Case> case_of(const Json& json, judge::Case rules, std::map<std::string, Task>& tasks,
                            const BatchFolders& folders) {
  const auto text_at = [&](const char* key) -> std::string {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  const std::string name = text_at("task");
  if (name.empty()) return fail("\"task\" is missing");
  if (!tasks.contains(name)) {
    KW_CHECK(folders.check_task(name));
    KW_TRY(Task task, suites::find_task(name));
    tasks.emplace(name, std::move(task));
  }
  rules.task = &tasks.at(name);
  if (json.contains("source") == json.contains("file")) return fail("say either \"file\" or \"source\"");
  if (json.contains("file")) {
    KW_TRY(const std::string file, folders.checked(text_at("file")));
    KW_TRY(rules.source, read_checked_kernel(file));
  } else {
    rules.source = {text_at("name").empty() ? targets::source_name(rules.device, "kernel") : text_at("name"),
                    text_at("source")};
  }
  if (json.contains("set")) {
    if (!json["set"].is_object()) return fail("\"set\" is an object: {{\"TILE\": 8}}");
    for (const auto& [key, value] : json["set"].items()) {
      rules.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  // What was set from outside is not the candidate's fault.
  if (const auto tunables = read_tunables(rules.source.text); tunables.ok() && !rules.settings.empty()) {
    KW_TRY([[maybe_unused]] const Choice choice,
           choose(*tunables, rules.settings, targets::build_options(rules.device)));
  }
  return rules;
}

BatchLine parse_line(const std::string& text, const judge::Case& rules, std::map<std::string, Task>& tasks,
                     const BatchFolders& folders) {
  BatchLine line;
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) {
    line.problem = "not a JSON object";
    return line;
  }
  if (json.contains("id")) line.id = json["id"].dump();
  if (json.contains("author") && json["author"].is_string()) line.author = json["author"];
  if (json.contains("notes") && json["notes"].is_string()) line.notes = json["notes"];
  if (json.contains("parents")) {
    if (!json["parents"].is_array()) {
      line.problem = "\"parents\" is a list of the ids of earlier lines";
      return line;
    }
    for (const Json& parent : json["parents"]) line.parents.push_back(parent.dump());
  }
  auto wanted = case_of(json, rules, tasks, folders);
  if (wanted.ok()) {
    line.wanted = *std::move(wanted);
  } else {
    line.problem = wanted.error().message;
  }
  return line;
}

}  // namespace

Result<std::vector<BatchLine>> parse_batch(const std::string& file, const judge::Case& rules,
                                           std::map<std::string, Task>& tasks,
                                           const std::vector<std::string>& more_folders) {
  BatchFolders folders{.allowed = {fs::absolute(file).parent_path()}};
  for (const std::string& more : more_folders) folders.allowed.emplace_back(more);
  KW_TRY(const std::string text, read_file(file, kMostBytes));
  std::vector<BatchLine> lines;
  std::istringstream stream(text);
  std::int64_t number = 0;
  for (std::string one; std::getline(stream, one);) {
    ++number;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    lines.push_back(parse_line(one, rules, tasks, folders));
    lines.back().number = number;
  }
  if (lines.empty()) return fail("{}: there is nothing to judge in it", file);
  return lines;
}

std::string suites_of(const std::vector<BatchLine>& lines) {
  std::set<std::string> names;
  for (const BatchLine& line : lines) {
    if (line.wanted && !line.wanted->task->suite.empty()) names.insert(line.wanted->task->suite);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<store::NewItem> items_of(std::vector<BatchLine>& lines, const std::string& author) {
  std::vector<store::NewItem> items;
  std::map<std::string, std::string> candidate_of;  // by the line's id
  for (BatchLine& line : lines) {
    store::NewItem item{.position = line.number, .label = line.id};
    if (line.wanted) {
      item = planned(line.number, *line.wanted, line.id);
      item.candidate->author = line.author.empty() ? author : line.author;
      item.candidate->notes = line.notes;
      for (const std::string& parent : line.parents) {
        const auto found = candidate_of.find(parent);
        if (found == candidate_of.end()) {
          line.problem = fmt::format("its parent {} is no earlier line's id", parent);
          break;
        }
        item.candidate->parents.push_back(found->second);
      }
    }
    if (!line.problem.empty()) {
      item = {.position = line.number, .label = line.id, .problem = line.problem};
    } else if (line.id != "null") {
      candidate_of[line.id] = store::hash_of(*item.candidate);
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace kw::runs
