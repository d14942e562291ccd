#include "command_line/help.h"

#include <sstream>

namespace kw::cli {
namespace {

struct TopicTitle {
  Topic topic;
  const char* title;
};
constexpr TopicTitle kTopics[] = {{Topic::kernels, "kernels: judged, optimised, compared"},
                                  {Topic::models, "whole models"},
                                  {Topic::language_models, "language models and agents"},
                                  {Topic::record, "what was measured"},
                                  {Topic::machine, "devices, rivals, settings"}};

constexpr std::size_t kHelpWidth = 100;

// Lines of at most kHelpWidth letters, broken at spaces; those after the first begin with `indent` spaces. Line breaks
// of the text stay.
std::string wrapped(const std::string& text, std::size_t indent = 0, std::size_t column = 0) {
  std::string made;
  std::size_t at = column;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!made.empty()) {
      made += "\n";
      at = 0;
    }
    std::istringstream words(line);
    bool is_first = true;
    for (std::string word; words >> word; is_first = false) {
      if (!is_first && at + 1 + word.size() > kHelpWidth) {
        made += "\n" + std::string(indent, ' ');
        at = indent;
      } else if (!is_first) {
        made += " ";
        ++at;
      }
      made += word;
      at += word.size();
    }
  }
  return made;
}

std::string usage(const Command& command) {
  std::string line = "kw " + command.name;
  for (const Option& option : command.options) {
    std::string part = option.value.empty() ? option.name : option.name + " " + option.value;
    if (!option.required) part = "[" + part + "]";
    line += " " + part + (option.repeated ? "..." : "");
  }
  return line;
}

}  // namespace

std::string help_text(const ProgramText& program, const std::vector<Command>& commands) {
  std::string text = fmt::format("Kernelwright: {}.\n\nusage: {} COMMAND ...\n", program.about, program.name);
  for (const auto& [topic, title] : kTopics) {
    text += fmt::format("\n{}:\n", title);
    for (const Command& command : commands) {
      if (command.topic == topic) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
    }
  }
  text += fmt::format("\nNew here? `{} demo` takes one task from start to end, in a minute or two.\n", program.name);
  return text + fmt::format("\n{} Exit codes: {}\n\nsettings, {}\n{}", program.use, program.exit_codes,
                            program.settings_order, program.settings);
}

std::string help_text(const Command& command) {
  std::string text =
      wrapped(command.name + ": " + command.summary) + "\n\nusage: " + wrapped(usage(command), 9, 7) + "\n";
  if (!command.description.empty()) text += "\n" + wrapped(command.description) + "\n";
  text += "\noptions:\n";
  for (const Option& option : command.options) {
    const std::string name = option.with_value();
    const std::string_view gap = name.size() > 20 ? "\n                       " : " ";  // its help begins below it
    text += fmt::format("  {:<20}{}{}\n", name, gap, wrapped(option.help, 23, 23));
  }
  text += fmt::format("  {:<20} {}\n", "--help", kHelpHelp);
  if (!command.examples.empty()) text += "\nexamples:\n";
  for (const std::string& example : command.examples) text += "  " + example + "\n";
  return text;
}

}  // namespace kw::cli
