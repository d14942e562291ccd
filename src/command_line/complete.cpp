#include "command_line/complete.h"

#include <algorithm>

namespace kw::cli {
namespace {

// What can stand where the last word stands.
std::vector<std::string> choices(const std::vector<Command>& commands, const std::vector<std::string>& words,
                                 const ValuesFor& values_for) {
  std::vector<std::string> result;
  if (words.size() <= 1) {
    for (const Command& command : commands) result.push_back(command.name);
    return result;
  }
  const auto command = std::ranges::find(commands, words[0], &Command::name);
  if (command == commands.end()) return {};
  const auto is_valued = [&](const std::string& word) {
    return std::ranges::any_of(command->options,
                               [&](const Option& o) { return o.is_called(word) && !o.value.empty(); });
  };
  const std::string& before = words[words.size() - 2];
  std::size_t places = 0;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with("--") && !is_valued(words[i - 1])) ++places;
  }
  for (const Option& option : command->options) {
    if (option.is_called(before) && !option.value.empty()) return values_for(option.completes);
  }
  if (words.back().starts_with("-")) {
    for (const Option& option : command->options) {
      if (option.name.starts_with("--")) result.push_back(option.name);
      if (!option.also.empty()) result.push_back(option.also);
    }
    result.push_back("--help");
    return result;
  }
  for (const Option& option : command->options) {
    if (option.name.starts_with("--")) continue;
    if (places == 0 || option.repeated) return values_for(option.completes);
    --places;
  }
  return {};
}

}  // namespace

std::vector<std::string> completions(const std::vector<Command>& commands, const std::vector<std::string>& words,
                                     const ValuesFor& values_for) {
  const std::string typed = words.empty() ? "" : words.back();
  const std::vector<std::string> all = choices(commands, words, values_for);
  if (all == std::vector<std::string>{":files"}) return all;
  std::vector<std::string> result;
  for (const std::string& choice : all) {
    if (choice.starts_with(typed)) result.push_back(choice);
  }
  return result;
}

}  // namespace kw::cli
