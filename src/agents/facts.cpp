#include "agents/facts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"
#include "compose/parts.h"
#include "compose/techniques.h"
#include "corpus/prompt.h"
#include "inspect/model.h"
#include "inspect/outline.h"
#include "inspect/repository.h"
#include "llm/model.h"
#include "runs/kernel_file.h"
#include "runs/task_text.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfParts = 3400;  // characters
constexpr std::size_t kMostOverloads = 2;   // of a name that are shown

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
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? "" : llm::measured(text);
}

// What stands in a file of prompts/ under each line that begins with "## ".
Result<std::vector<std::pair<std::string, std::string>>> sections_of(const std::string& name) {
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const std::string text, read_file(data / "prompts" / name));
  std::vector<std::pair<std::string, std::string>> sections;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      sections.emplace_back(line.substr(3), "");
    } else if (!sections.empty()) {
      sections.back().second += line + "\n";
    }
  }
  return sections;
}

// The paragraphs of prompts/hints.md, or of hints_FORM.md, under the names of the task's category and operators.
Result<std::string> hints_for(const Task& task, const std::string& form) {
  KW_TRY(const auto sections, sections_of(form.empty() ? "hints.md" : fmt::format("hints_{}.md", form)));
  std::vector<std::string> names = operators_of(task);
  names.push_back(task.category);
  std::string hints;
  for (const auto& [title, text] : sections) {
    const bool fits = std::ranges::any_of(names, [&, titles = ", " + title + ","](const std::string& name) {
      return titles.find(", " + name + ",") != std::string::npos;
    });
    if (fits) hints += text.substr(0, text.find_last_not_of('\n') + 1) + "\n";
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

// The comment right above a definition as one line, or as much of it as fits; empty: there is none.
std::string comment_above(const std::vector<std::string>& lines, int line) {
  constexpr std::size_t kMost = 150;
  int first = line - 1;  // the line above, from 1
  while (first >= 1 && lines[static_cast<std::size_t>(first - 1)].starts_with("// ")) --first;
  std::string comment;
  for (int i = first + 1; i < line; ++i) comment += lines[static_cast<std::size_t>(i - 1)].substr(2);
  if (comment.size() <= kMost) return comment;
  const std::size_t end = comment.rfind(' ', kMost);
  return comment.substr(0, end) + " ...";
}

// A type with its data on one line: "struct Left { const float* data; int64_t row; }".
std::string type_on_a_line(const std::vector<std::string>& lines, const inspect::Scope& type) {
  std::string text = type.signature + " {";
  for (int i = type.first_line; i < type.last_line; ++i) {
    std::string line = lines[static_cast<std::size_t>(i)];
    line = line.substr(0, line.find("//"));
    const std::size_t first = line.find_first_not_of(' ');
    const std::size_t last = line.find_last_not_of(' ');
    if (first == 2 && line[last] == ';' && line.find('(') == std::string::npos && !line.substr(2).starts_with("static"))
      text += " " + line.substr(first, last + 1 - first);
  }
  return text + " }";
}

// Those that our own techniques for the task's operators are made of, and the vectors under all of them.
Result<std::vector<Part>> parts_for(const Task& task, const std::string& device) {
  const auto target = targets::target_of(device);
  if (!target.ok() || !target->offers_parts) return std::vector<Part>();
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
  // What they are made of in turn, the vectors under all of them last.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const fs::path& part : included_by(parts[i])) add(part);
  }
  KW_TRY(const std::vector<Part> told, told_parts());
  std::vector<Part> fitting;
  const auto fits = [&](const std::string& op) { return std::ranges::find(operators, op) != operators.end(); };
  for (const Part& part : told) {
    if (std::ranges::any_of(part.operators, fits)) fitting.push_back(part);
  }
  for (const fs::path& part : parts) {
    const auto found = std::ranges::find(told, part.filename().string(), &Part::header);
    const bool is_new =
        found != told.end() && std::ranges::find(fitting, found->header, &Part::header) == fitting.end();
    if (is_new && found->header != "vector.h") fitting.push_back(*found);
  }
  fitting.push_back(told.front());
  return fitting;
}

// "<kw/moments.h>: Mean and variance of a row in two passes. (moments_of_row, scale_row)"
std::string named(const Part& part) {
  return fmt::format("<kw/{}>:{} ({})\n", part.header, part.words, fmt::join(part.names, ", "));
}

Result<std::string> signatures_of(const std::vector<Part>& fitting) {
  // Parts that are shorter than their share leave the rest to longer ones.
  std::vector<std::size_t> sizes;
  for (const Part& part : fitting) {
    KW_TRY(const std::string whole, text_of(part, kMostOfParts));
    sizes.push_back(whole.size());
  }
  std::vector<std::size_t> ascending = sizes;
  std::ranges::sort(ascending);
  std::size_t room = kMostOfParts, most = 0;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    most = room / (ascending.size() - i);
    room -= std::min(most, ascending[i]);
  }
  std::string text;
  for (const Part& part : fitting) {
    KW_TRY(const std::string one, text_of(part, most));
    text += one;
  }
  return text;
}

}  // namespace

Result<std::vector<Part>> told_parts() {
  KW_TRY(const auto sections, sections_of("parts.md"));
  std::vector<Part> parts;
  for (const auto& [title, text] : sections) {
    Part part{.header = title};
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool lists_names = line.starts_with("- "), lists_operators = line.starts_with("for: ");
      if (!lists_names && !lists_operators) {
        part.words += line.empty() ? "" : " " + line;
        continue;
      }
      std::istringstream names(line.substr(line.find(' ')));
      for (std::string name; std::getline(names >> std::ws, name, ',');)
        (lists_names ? part.names : part.operators).push_back(name);
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty() || parts.front().header != "vector.h") return fail("prompts/parts.md: begins with '## vector.h'");
  return parts;
}

Result<std::string> text_of(const Part& part, std::size_t most) {
  KW_TRY(const std::string text, compose::library_part(part.header));
  const std::vector<inspect::Scope> outline = inspect::outline_of(text);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  const auto space = std::ranges::find(outline, inspect::Scope::Kind::name_space, &inspect::Scope::kind);
  std::string shown = fmt::format("#include <kw/{}>{}:{}\n", part.header,
                                  space != outline.end() ? ", namespace " + space->name : "", part.words);
  for (const std::string& name : part.names) {
    std::vector<std::string> seen;
    for (const inspect::Scope& scope : outline) {
      if (scope.name != name || scope.depth > 1 || scope.kind == inspect::Scope::Kind::name_space) continue;
      std::string signature = scope.kind == inspect::Scope::Kind::type ? type_on_a_line(lines, scope) : scope.signature;
      for (const char* word : {"[[gnu::noinline]] ", "[[gnu::always_inline]] ", "inline ", "static ", "constexpr "}) {
        for (std::size_t at; (at = signature.find(word)) != std::string::npos;)
          signature.erase(at, std::string_view(word).size());
      }
      const std::string comment = comment_above(lines, scope.first_line);
      const std::string one = fmt::format("  {}{}\n", signature, comment.empty() ? "" : "  //" + comment);
      if (std::ranges::find(seen, signature) != seen.end()) continue;
      seen.push_back(signature);
      if (shown.size() + one.size() > most) return shown + "  ...\n";
      shown += one;
      if (seen.size() == kMostOverloads) break;
    }
    if (seen.empty()) return fail("prompts/parts.md: {} has no '{}'", part.header, name);
  }
  return shown;
}

Result<std::vector<Exemplar>> all_exemplars() {
  KW_TRY(const fs::path data, data_folder());
  std::vector<Exemplar> all;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data / "kernels" / "exemplars", error)) {
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

const Exemplar* exemplar_for(const Task& task, const std::vector<Exemplar>& all, const std::string& device) {
  const std::vector<std::string> wanted = operators_of(task);
  const std::string ending = targets::source_name(runs::form_of(device).empty() ? targets::usual_device() : device, "");
  for (const Exemplar& one : all) {
    if (one.file.extension() != ending) continue;
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
  // What a person is told of a machine that was not measured is of no use to a model.
  KW_TRY(const std::string text, runs::task_as_text(task, wanted.device, {.advice = false}));
  const std::string form = runs::form_of(wanted.device);
  facts["form"] = form;
  facts["task"] = cut_to(text, 700) + "\nas the kernel sees it\n" +
                  inspect::kernel_side(graph, form.empty() ? inspect::Reads::call : inspect::Reads::plan);
  // As a model that was trained on a corpus knows it; a task that the short form cannot tell is told as to others.
  const auto prompt = corpus::prompt_of(task, wanted.device);
  facts["prompt"] = prompt.ok() ? *prompt : facts["task"];
  facts["machine"] = machine_text(wanted.device);
  KW_TRY(const std::vector<Part> parts, parts_for(task, wanted.device));
  KW_TRY(facts["parts"], signatures_of(parts));
  for (const Part& part : parts) facts["parts_named"] += named(part);
  if (wanted.from_nothing) {
    KW_TRY(facts["hints"], hints_for(task, form));
    KW_TRY(const std::vector<Exemplar> exemplars, all_exemplars());
    if (const Exemplar* one = exemplar_for(task, exemplars, wanted.device)) {
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
