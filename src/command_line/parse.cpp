#include "command_line/parse.h"

#include <algorithm>
#include <limits>

#include "base/nearest.h"
#include "command_line/numbers.h"

namespace kw::cli {
namespace {

bool is_flag(const Option& option) { return option.name.starts_with("--"); }

const Option* find_flag(const Command& command, const std::string& name) {
  const auto found = std::ranges::find_if(command.options, [&](const Option& one) { return one.is_called(name); });
  return found == command.options.end() || !is_flag(*found) ? nullptr : &*found;
}

// The option of the next word at a place, given how many such words came before.
const Option* find_word(const Command& command, std::size_t before) {
  for (const Option& option : command.options) {
    if (is_flag(option)) continue;
    if (before == 0 || option.repeated) return &option;
    --before;
  }
  return nullptr;
}

Error wrong_use(const Command& command, const std::string& problem) {
  return fail("{}; see `kw {} --help`", problem, command.name);
}

}  // namespace

Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words) {
  std::map<std::string, std::vector<std::string>> values;
  std::size_t places = 0;
  bool only_places = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--" && !only_places) {
      only_places = true;
      continue;
    }
    if (only_places || !words[i].starts_with("--")) {
      const Option* option = find_word(command, places++);
      if (!option) return wrong_use(command, fmt::format("did not expect '{}'", words[i]));
      values[option->name].push_back(words[i]);
      continue;
    }
    const std::size_t equals = words[i].find('=');
    std::string name = words[i].substr(0, equals);
    const Option* option = find_flag(command, name);
    if (!option) {
      std::vector<std::string> names;
      for (const Option& known : command.options) {
        if (is_flag(known)) names.push_back(known.name);
        if (!known.also.empty()) names.push_back(known.also);
      }
      return wrong_use(command, fmt::format("no option is called '{}'{}", name, nearest_hint(name, names)));
    }
    name = option->name;
    if (values.contains(name) && !option->repeated) return wrong_use(command, fmt::format("{} is given twice", name));
    std::vector<std::string>& given = values[name];
    if (option->value.empty()) {
      if (equals != std::string::npos) return wrong_use(command, fmt::format("{} takes no value", name));
    } else if (equals != std::string::npos) {
      given.push_back(words[i].substr(equals + 1));
    } else if (i + 1 < words.size()) {
      given.push_back(words[++i]);
    } else {
      return wrong_use(command, fmt::format("{} needs a value: {} {}", name, name, option->value));
    }
    if (option->takes_number()) {
      const double any = std::numeric_limits<double>::max();
      const auto number = number_in(name, given.back(), -any, any);
      if (!number.ok()) return wrong_use(command, fmt::format("{} takes a number, not '{}'", name, given.back()));
    }
  }
  Arguments arguments;
  for (const Option& option : command.options) {
    if (option.required && !values.contains(option.name))
      return wrong_use(command, fmt::format("{} is missing: {}", option.name, option.help));
  }
  for (auto& [name, given] : values) arguments.add(name, std::move(given));
  return arguments;
}

}  // namespace kw::cli
