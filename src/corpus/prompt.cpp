#include "corpus/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"
#include "compose/techniques.h"
#include "corpus/task_text.h"
#include "runs/drafts.h"
#include "targets/target.h"

namespace kw::corpus {

Result<std::vector<std::string>> headers_for(const Task& task, const std::string& device) {
  KW_TRY(const auto techniques, runs::techniques_for(device));
  std::set<std::string> headers;
  for (const compose::Technique& technique : techniques) {
    const bool fits = std::ranges::any_of(task.nodes, [&](const Node& node) {
      return std::ranges::find(technique.serves, node.op) != technique.serves.end();
    });
    if (!fits) continue;
    KW_TRY(const std::string text, read_file(technique.file));
    std::istringstream lines(text);
    constexpr std::string_view kPart = "#include \"parts/";
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(kPart)) continue;
      const std::string name = line.substr(kPart.size(), line.size() - kPart.size() - 1);
      const auto file = technique.file.parent_path() / "parts" / name;
      KW_TRY(const std::string part, read_file(file));
      if (compose::can_be_named(file, part)) headers.insert("kw/" + name);
    }
    if (task.nodes.size() > 1 && technique.any_part && technique.file.extension() == ".h")
      headers.insert("kw/blocks.h");
  }
  return std::vector<std::string>(headers.begin(), headers.end());
}

Result<std::string> prompt_of(const Task& task, const std::string& device) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  KW_TRY(const std::string text, text_of(task));
  KW_TRY(const std::vector<std::string> headers, headers_for(task, device));
  std::string prompt = fmt::format("Write a kernel for {} that is right and fast: one {} file in the contract of kw.\n",
                                   target.name, target.languages.front());
  for (const std::string& header : headers) prompt += fmt::format("header <{}>\n", header);
  return prompt + text;
}

}  // namespace kw::corpus
