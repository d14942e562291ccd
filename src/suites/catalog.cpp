#include "suites/catalog.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/nearest.h"
#include "core/dtype.h"
#include "ops/retyped.h"
#include "suites/onnx_task.h"

namespace kw::suites {
namespace fs = std::filesystem;
namespace {

Result<std::vector<fs::path>> suite_files() {
  KW_TRY(const fs::path data, data_folder());
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(data / "suites", code)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  if (code) return fail("{}: cannot be read: {}", (data / "suites").string(), code.message());
  std::ranges::sort(files);
  return files;
}

bool is_path(const std::string& name) {
  return name.ends_with(".toml") || name.find('/') != std::string::npos || fs::exists(name);
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool begins(const std::string& text, const std::string& start) { return lower(text).starts_with(lower(start)); }

// Puts a file's tasks to those of the same suite, which are the last: files of a suite stand side by side.
Status join(Suite suite, const fs::path& file, std::vector<Suite>& suites) {
  if (suites.empty() || suites.back().name != suite.name) {
    suites.push_back(std::move(suite));
    return {};
  }
  Suite& whole = suites.back();
  if (whole.about.empty()) whole.about = std::move(suite.about);
  for (Task& task : suite.tasks) {
    const bool known = std::ranges::any_of(whole.tasks, [&](const Task& one) { return one.name == task.name; });
    if (known) return fail("{}: suite {} has a task '{}' already", file.string(), whole.name, task.name);
    whole.tasks.push_back(std::move(task));
  }
  return {};
}

// The task with other values of its named lengths.
Result<Task> with_lengths(Task task, const Lengths& dims) {
  for (const auto& [name, value] : dims) {
    const auto known = task.lengths.find(name);
    if (known == task.lengths.end()) {
      std::vector<std::string> names;
      for (const auto& [one, ignored] : task.lengths) names.push_back(one);
      return fail("task '{}' has no open length '{}'; it has {}", task.name, name, fmt::join(names, ", "));
    }
    known->second = value;
  }
  return task;
}

// "model.onnx:NODE" split at the colon behind the file's name; empty parts where it is not such a name.
std::pair<std::string, std::string> split_onnx(const std::string& name) {
  const std::size_t ending = name.rfind(".onnx");
  if (ending == std::string::npos) return {};
  const std::size_t end = ending + 5;
  if (end == name.size()) return {name, ""};
  if (name[end] != ':') return {};
  return {name.substr(0, end), name.substr(end + 1)};
}

Result<Task> task_of_onnx(const std::string& file, const std::string& node, const Lengths& dims) {
  KW_TRY(const OnnxModel model, read_onnx(file));
  if (node.empty() && model.nodes.size() != 1) {
    return fail("{} has {} nodes: say which one, as {}:NAME (or {}:0 for the first)", file, model.nodes.size(), file,
                file);
  }
  return task_from_node(model, node.empty() ? "0" : node, dims);
}

Result<Suite> suite_of_onnx(const std::string& file, const Lengths& dims) {
  KW_TRY(const OnnxModel model, read_onnx(file));
  KW_TRY(const ModelTasks tasks, ModelTasks::of(model, dims));
  Suite suite{.name = fs::path(file).filename().string(), .about = "", .tasks = {}};
  for (const std::size_t i : model.order) {
    if (!tasks.why_not(i).empty() || tasks.never_runs(i)) continue;
    auto task = tasks.task({i});
    if (!task.ok()) continue;
    task->category = model.nodes[i].node.op;
    task->suite = suite.name;
    suite.tasks.push_back(*std::move(task));
  }
  return suite;
}

}  // namespace

Result<std::vector<Suite>> installed_suites() {
  KW_TRY(const std::vector<fs::path> files, suite_files());
  std::vector<Suite> suites;
  for (const fs::path& file : files) {
    KW_TRY(Suite suite, read_suite(file));
    KW_CHECK(join(std::move(suite), file, suites));
  }
  return suites;
}

Result<Suite> find_suite(const std::string& name_or_path, const Lengths& dims) {
  if (name_or_path.ends_with(".onnx")) return suite_of_onnx(name_or_path, dims);
  if (!dims.empty()) return fail("--dim: {} is no ONNX model, and has no open lengths to be given", name_or_path);
  if (is_path(name_or_path)) return read_suite(name_or_path);
  KW_TRY(const std::vector<fs::path> files, suite_files());
  std::vector<Suite> found;
  for (const fs::path& file : files) {
    if (file.stem() != name_or_path && !file.stem().string().starts_with(name_or_path + "-")) continue;
    KW_TRY(Suite suite, read_suite(file));
    if (suite.name == name_or_path || file.stem() == name_or_path) KW_CHECK(join(std::move(suite), file, found));
  }
  if (!found.empty()) return std::move(found[0]);
  KW_TRY(const std::vector<Suite> all, installed_suites());
  std::vector<std::string> names;
  for (const Suite& suite : all) names.push_back(suite.name);
  return fail("no suite is called '{}'; there are {}, and any path of a .toml file", name_or_path,
              fmt::join(names, ", "));
}

Result<std::vector<Task>> tasks_of_level(std::vector<Task> all, int level) {
  std::set<int> levels;
  for (const Task& task : all) levels.insert(task.level);
  levels.erase(0);
  if (levels.empty()) return fail("--level {}: these tasks have no levels", level);
  if (!levels.contains(level)) return fail("--level {}: there are levels {}", level, fmt::join(levels, ", "));
  std::erase_if(all, [&](const Task& task) { return task.level != level; });
  return all;
}

Result<std::vector<std::string>> categories_named(const std::vector<Suite>& suites, const std::string& wanted) {
  std::set<std::string> all;
  for (const Suite& suite : suites) {
    for (const Task& task : suite.tasks) all.insert(task.category);
  }
  std::vector<std::string> found;
  for (const std::string& one : all) {
    if (lower(one) == lower(wanted)) return std::vector{one};
    if (!wanted.empty() && begins(one, wanted)) found.push_back(one);
  }
  if (found.empty()) return fail("no category is called '{}'; there are {}", wanted, fmt::join(all, ", "));
  return found;
}

namespace {

// "Gemm@tf32" in two; without an @ the second is empty.
std::pair<std::string, std::string> split_precision(const std::string& name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos || name.find_first_of("/.:", at) != std::string::npos) return {name, ""};
  return {name.substr(0, at), name.substr(at + 1)};
}

Result<Task> in_precision(const Task& task, const std::string& precision) {
  Task other = task;
  if (precision == "tf32") {
    other.precision = Precision::tf32;
  } else if (precision == "float16" || precision == "bfloat16") {
    other = ops::retyped(task, *dtype_named(precision));
  } else {
    return fail("{}@{}: a task is taken in another precision with @tf32, @float16 or @bfloat16", task.name, precision);
  }
  other.name += "@" + precision;
  return other;
}

}  // namespace

Result<std::vector<Task>> tasks_named(std::vector<Task> all, const std::string& wanted) {
  if (wanted.empty()) return all;
  std::map<std::string, std::string> chosen;  // with the precision, where it is said
  std::istringstream words(wanted);
  for (std::string written; std::getline(words, written, ',');) {
    std::string word, precision;
    std::tie(word, precision) = split_precision(written);
    const auto choose = [&](const auto& fits) {
      bool any = false;
      for (const Task& task : all) {
        if (!fits(task)) continue;
        chosen[task.name] = precision;
        any = true;
      }
      return any;
    };
    const std::string start = word.substr(0, word.size() - 1);
    const bool found =
        word.ends_with("*")
            ? choose([&](const Task& task) { return begins(task.name, start); })
            : choose([&](const Task& task) { return task.name == word || task.category == word; }) ||
                  choose([&](const Task& task) {
                    return lower(task.name) == lower(word) || lower(task.category) == lower(word);
                  }) ||
                  (!word.empty() && choose([&](const Task& task) { return begins(task.category, word); }));
    if (found) continue;
    std::vector<std::string> names;
    for (const Task& task : all) {
      names.push_back(task.name);
      names.push_back(task.category);
    }
    return fail("no task or category is called '{}'{}; `kw tasks` lists them", word, nearest_hint(word, names));
  }
  std::erase_if(all, [&](const Task& task) { return !chosen.contains(task.name); });
  for (Task& task : all) {
    if (const std::string& precision = chosen[task.name]; !precision.empty()) {
      KW_TRY(task, in_precision(task, precision));
    }
  }
  return all;
}

namespace {

// What stands before the first task, and the task around a place: read in a fraction of the time that all of it takes.
std::string with_one_task(const std::string& text, std::size_t at) {
  constexpr char kTask[] = "\n[[task]]";
  const std::size_t first = text.find(kTask), begin = text.rfind(kTask, at);
  if (begin == std::string::npos) return text;
  return text.substr(0, first) + text.substr(begin, text.find(kTask, at) - begin);
}

}  // namespace

std::string file_named_by(const std::string& task) {
  if (const auto [file, node] = split_onnx(task); !file.empty()) return file;
  const std::size_t colon = task.rfind(".toml:");
  return colon == std::string::npos ? std::string() : task.substr(0, colon + 5);
}

namespace {

Result<Task> find_written_task(const std::string& name) {
  if (const std::string file = file_named_by(name); !file.empty()) {
    KW_TRY(Suite suite, read_suite(file));
    const std::string wanted = name.substr(file.size() + 1);
    std::vector<std::string> names;
    for (Task& task : suite.tasks) {
      if (task.name == wanted) return std::move(task);
      names.push_back(task.name);
    }
    return fail("{} has no task '{}'{}", file, wanted, nearest_hint(wanted, names));
  }
  // Reading a suite takes milliseconds: one in whose text the name does not stand is not read.
  const std::string quoted = "\"" + name.substr(name.rfind('/') + 1) + "\"";
  KW_TRY(const std::vector<fs::path> files, suite_files());
  for (const fs::path& file : files) {
    KW_TRY(const std::string text, read_file(file));
    const std::size_t at = text.find(quoted);
    if (at == std::string::npos) continue;
    if (auto alone = parse_suite(with_one_task(text, at), file.string()); alone.ok() && alone->tasks.size() == 1) {
      Task& task = alone->tasks[0];
      if (task.name == name || alone->name + "/" + task.name == name) return std::move(task);
    }
    KW_TRY(Suite suite, parse_suite(text, file.string()));
    for (Task& task : suite.tasks) {
      if (task.name == name || suite.name + "/" + task.name == name) return std::move(task);
    }
  }
  KW_TRY(const std::vector<Suite> suites, installed_suites());
  std::vector<std::string> names;
  std::vector<const Task*> alike;
  for (const Suite& suite : suites) {
    for (const Task& task : suite.tasks) {
      names.push_back(task.name);
      if (lower(task.name) == lower(name)) alike.push_back(&task);
    }
  }
  if (alike.size() == 1) return *alike[0];
  return fail("no task is called '{}'{}; `kw tasks` lists them", name, nearest_hint(name, names));
}

}  // namespace

Result<Task> find_task(const std::string& name, const Lengths& dims) {
  if (const auto [bare, precision] = split_precision(name); !precision.empty()) {
    KW_TRY(const Task task, find_task(bare, dims));
    return in_precision(task, precision);
  }
  if (const auto [file, node] = split_onnx(name); !file.empty()) return task_of_onnx(file, node, dims);
  KW_TRY(Task task, find_written_task(name));
  return with_lengths(std::move(task), dims);
}

}  // namespace kw::suites
