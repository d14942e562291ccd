#include "agents/facts.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"
#include "compose/techniques.h"
#include "corpus/prompt.h"
#include "inspect/model.h"
#include "inspect/outline.h"
#include "inspect/repository.h"
#include "llm/model.h"
#include "runs/task_text.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfParts = 3400;  // characters

std::vector<std::string> operators_of(const Task& task) {
  std::vector<std::string> names;
  for (const Node& node : task.nodes) names.push_back(node.op);
  return names;
}

// The processor as the compiler and the clock know it. Roofs were measured: another machine has others.
std::string machine_text(const std::string& device) {
  std::string text;
  for (const targets::Fact& row : targets::facts_of(device).rows) {
    std::string value;
    for (const char c : row.text) {
      if (c != ' ' || !value.ends_with(' ')) value += c;
    }
    text += row.name.empty() ? fmt::format("; {}", value)
                             : fmt::format("{}{}: {}", text.empty() ? "" : "\n", row.name, value);
  }
  if (!text.empty()) text += "\n";
  const auto roofs = targets::known_roofs(device);
  if (roofs.ok()) {
    text += fmt::format("at most, measured ({}):", roofs->scope);
    for (const targets::Roof& roof : roofs->roofs) {
      if (roof.what.empty() || roof.what == "read" || roof.what == "copy") text += fmt::format(" {};", roof.text());
    }
    text += "\n";
  }
  return text.empty() ? "" : llm::measured(text);
}

// The paragraph of prompts/hints.md under the category's name.
Result<std::string> hints_for(const std::string& category) {
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const std::string text, read_file(data / "prompts" / "hints.md"));
  std::istringstream lines(text);
  std::string hints;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      inside = (", " + line.substr(3) + ",").find(", " + category + ",") != std::string::npos;
    } else if (inside) {
      hints += line + "\n";
    }
  }
  return hints;
}

// Files of ours that a source includes.
std::vector<fs::path> included_by(const fs::path& file) {
  std::vector<fs::path> files;
  const auto text = read_file(file);
  if (!text.ok()) return files;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#include \"")) continue;
    const std::size_t begin = line.find('"') + 1;
    files.push_back((file.parent_path() / line.substr(begin, line.find('"', begin) - begin)).lexically_normal());
  }
  return files;
}

// The opening comment of a part as one line, and the signatures of its functions.
std::string part_text(const fs::path& file, std::size_t most) {
  const auto text = read_file(file);
  if (!text.ok()) return {};
  std::string about;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("// ")) about += line.substr(2);
    if (line.empty() && !about.empty()) break;
  }
  std::string shown = fmt::format("#include <kw/{}> //{}\n", file.filename().string(), about.substr(0, 200));
  std::string space;
  for (const inspect::Scope& scope : inspect::outline_of(*text)) {
    if (scope.kind == inspect::Scope::Kind::name_space) {
      space = scope.name;
      continue;
    }
    if (scope.depth > 1) continue;
    std::string signature = scope.signature;
    for (const char* word : {"inline ", "template ", "static ", "constexpr "}) {
      for (std::size_t at; (at = signature.find(word)) != std::string::npos;)
        signature.erase(at, std::string_view(word).size());
    }
    const std::string one = fmt::format("  {}{}\n", space.empty() || scope.depth == 0 ? "" : space + ": ", signature);
    if (shown.size() + one.size() > most) {
      shown += "  ...\n";
      break;
    }
    shown += one;
  }
  return shown;
}

// Those that our own techniques for the task's operators are made of, and the vectors under all of them.
Result<std::string> parts_for(const Task& task, const std::string& device) {
  const auto target = targets::target_of(device);
  if (!target.ok() || !target->offers_parts) return std::string();
  KW_TRY(const std::vector<compose::Technique> techniques, compose::read_techniques(target->techniques));
  const std::vector<std::string> operators = operators_of(task);
  std::vector<fs::path> parts;
  const auto add = [&](const fs::path& file) {
    if (std::ranges::find(parts, file) == parts.end()) parts.push_back(file);
  };
  for (const compose::Technique& technique : techniques) {
    const bool serves = std::ranges::any_of(
        technique.serves, [&](const std::string& op) { return std::ranges::find(operators, op) != operators.end(); });
    if (!serves) continue;
    for (const fs::path& part : included_by(technique.file)) add(part);
  }
  if (parts.empty()) return std::string();
  // What they are made of in turn, the vectors under all of them last.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const fs::path& part : included_by(parts[i])) add(part);
  }
  const fs::path vectors = parts.front().parent_path() / "vector.h";
  std::erase(parts, vectors);
  add(vectors);
  std::string text;
  for (const fs::path& part : parts) text += part_text(part, kMostOfParts / parts.size());
  return text;
}

}  // namespace

Result<std::vector<Exemplar>> all_exemplars() {
  KW_TRY(const fs::path data, data_folder());
  std::vector<Exemplar> all;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data / "kernels" / "exemplars", error)) {
    if (entry.path().extension() != ".cpp") continue;
    KW_TRY(const std::string text, read_file(entry.path()));
    const std::size_t end = text.find('\n');
    const std::size_t colon = text.find(": ");
    if (!text.starts_with("// ") || end == std::string::npos || colon > end)
      return fail("{}: its first line is '// TASK: Category, Category'", entry.path().string());
    Exemplar one{.file = entry.path(), .task = text.substr(3, colon - 3), .source = text.substr(end + 1)};
    std::istringstream categories(text.substr(colon + 2, end - colon - 2));
    for (std::string category; std::getline(categories >> std::ws, category, ',');) one.categories.push_back(category);
    all.push_back(std::move(one));
  }
  if (error) return fail("{}: {}", (data / "kernels" / "exemplars").string(), error.message());
  std::ranges::sort(all, {}, &Exemplar::file);
  return all;
}

const Exemplar* exemplar_for(const Task& task, const std::vector<Exemplar>& all) {
  const std::vector<std::string> wanted = operators_of(task);
  for (const Exemplar& one : all) {
    if (std::ranges::find(one.categories, task.category) == one.categories.end()) continue;
    const auto other = suites::find_task(one.task, {});
    if (!other.ok()) continue;
    const std::vector<std::string> theirs = operators_of(*other);
    const bool shares = std::ranges::any_of(
        theirs, [&](const std::string& op) { return std::ranges::find(wanted, op) != wanted.end(); });
    if (!shares) return &one;
  }
  return nullptr;
}

Result<Facts> facts_of(const Task& task, const ops::Graph& graph, const FactsWanted& wanted) {
  Facts facts;
  KW_TRY(const std::string text, runs::task_as_text(task, wanted.device));
  facts["task"] = cut_to(text, 700) + "\nas the kernel sees it\n" + inspect::kernel_side(graph);
  // As a model that was trained on a corpus knows it; a task that the short form cannot tell is told as to others.
  const auto prompt = corpus::prompt_of(task, wanted.device);
  facts["prompt"] = prompt.ok() ? *prompt : facts["task"];
  facts["machine"] = machine_text(wanted.device);
  KW_TRY(facts["parts"], parts_for(task, wanted.device));
  if (wanted.from_nothing) {
    KW_TRY(facts["hints"], hints_for(task.category));
    KW_TRY(const std::vector<Exemplar> exemplars, all_exemplars());
    if (const Exemplar* one = exemplar_for(task, exemplars)) {
      facts["exemplar"] = one->source;
      facts["exemplar_task"] = one->task;
    }
  }
  if (!wanted.repository.empty()) {
    KW_TRY(const inspect::Repository repository, inspect::Repository::open(wanted.repository));
    constexpr int kMostTokens = 1400;
    facts["sources"] = repository.name() + "/\n" + repository.map(operators_of(task), kMostTokens);
  }
  return facts;
}

}  // namespace kw::agents
