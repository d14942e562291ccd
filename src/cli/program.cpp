#include "cli/program.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <new>
#include <ostream>
#include <sstream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "cli/complete.h"
#include "cli/manual.h"
#include "cli/numbers.h"
#include "cli/settings.h"

namespace kw::cli {
namespace {

bool is_flag(const Option& option) { return option.name.starts_with("--"); }

const Option* find_flag(const Command& command, const std::string& name) {
  const auto found = std::ranges::find(command.options, name, &Option::name);
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

const Command* find_command(const std::string& name) {
  const auto found = std::ranges::find(all_commands(), name, &Command::name);
  return found == all_commands().end() ? nullptr : &*found;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  return names;
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (const commands::Maker make : commands::table) all.push_back(make());
    std::ranges::sort(all, {}, &Command::name);
    return all;
  }();
  return commands;
}

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
    if (name == "--on" && find_flag(command, name) == nullptr) name = "--target";  // the same by another name
    const Option* option = find_flag(command, name);
    if (!option) {
      std::vector<std::string> names;
      for (const Option& known : command.options) {
        if (is_flag(known)) names.push_back(known.name);
      }
      return wrong_use(command, fmt::format("no option is called '{}'{}", name, nearest_hint(name, names)));
    }
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
      return wrong_use(command, fmt::format("{} is missing", option.name));
  }
  for (auto& [name, given] : values) arguments.add(name, std::move(given));
  return arguments;
}

std::string help_text() {
  std::string text = fmt::format("Kernelwright: {}.\n\nusage: kw COMMAND ...\n\ncommands:\n", kAbout);
  for (const Command& command : all_commands()) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  text += "\nNew here? `kw demo` takes one task from start to end, in a minute or two.\n";
  return text + fmt::format("\n{} Exit codes: {}\n\nsettings, {}\n{}", kUse, kExitCodes, kSettingsOrder,
                            settings::settings_text());
}

std::string help_text(const Command& command) {
  std::string text =
      wrapped(command.name + ": " + command.summary) + "\n\nusage: " + wrapped(usage(command), 9, 7) + "\n";
  if (!command.description.empty()) text += "\n" + wrapped(command.description) + "\n";
  text += "\noptions:\n";
  for (const Option& option : command.options) {
    const std::string name = option.value.empty() ? option.name : option.name + " " + option.value;
    text += fmt::format("  {:<20} {}\n", name, wrapped(option.help, 23, 23));
  }
  text += fmt::format("  {:<20} {}\n", "--help", kHelpHelp);
  if (!command.examples.empty()) text += "\nexamples:\n";
  for (const std::string& example : command.examples) text += "  " + example + "\n";
  return text;
}

namespace {

Result<int> run_command(const Command& command, const std::vector<std::string>& words, std::ostream& out,
                        std::ostream& err) {
  KW_TRY(const Arguments arguments, parse_arguments(command, words));
  KW_CHECK(settings::check_config());
  if (command.name != "trust") {
    for (const std::string& warning : settings::config_warnings()) err << "kw: " << warning << "\n";
  }
  return command.run(arguments, out);
}

int refuse_command(const std::string& name, std::ostream& err) {
  err << fmt::format("kw: no command is called '{}'{}; `kw --help` lists them\n", name,
                     nearest_hint(name, command_names()));
  return kBroken;
}

int run_words(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    const Command* asked = words.size() > 1 ? find_command(words[1]) : nullptr;
    if (words.size() > 1 && !asked) return refuse_command(words[1], err);
    out << (asked ? help_text(*asked) : help_text());
    return kYes;
  }
  if (words[0] == "--version" || words[0] == "-V" || words[0] == "version") {
    out << "kw " KW_VERSION "\n";
    return kYes;
  }
  if (words[0] == "__complete") {
    for (const std::string& candidate : completions({words.begin() + 1, words.end()})) out << candidate << "\n";
    return kYes;
  }
  if (words[0] == "__man" && words.size() == 2) {
    const Status written = write_manual(words[1]);
    if (!written.ok()) err << "kw: " << written.error().message << "\n";
    return written.ok() ? kYes : kBroken;
  }
  const Command* command = find_command(words[0]);
  if (!command) return refuse_command(words[0], err);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (std::ranges::find(rest, "--help") != rest.end() || std::ranges::find(rest, "-h") != rest.end()) {
    out << help_text(*command);
    return kYes;
  }
  const Result<int> code = run_command(*command, rest, out, err);
  if (code.ok()) return *code;
  out.flush();
  err << "kw: " << code.error().message << "\n";
  return kBroken;
}

}  // namespace

int run_program(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  TerminalBuffer out_buffer(*out.rdbuf(), &out == &std::cout && ::isatty(STDOUT_FILENO) == 1);
  TerminalBuffer err_buffer(*err.rdbuf(), true);
  std::ostream fitting_out(&out_buffer), fitting_err(&err_buffer);
  int code = kBroken;
  // What comes from outside may be larger than memory, or of another form than anybody thought of.
  try {
    code = run_words(words, fitting_out, fitting_err);
  } catch (const std::bad_alloc&) {
    fitting_err << "kw: there is not enough memory for this\n";
  } catch (const JsonError& error) {
    fitting_err << "kw: something that was read has another form than expected: " << error.what() << "\n";
  } catch (const std::exception& error) {
    fitting_err << "kw: this should not have happened: " << error.what() << "\n";
  }
  fitting_out.flush();
  fitting_err.flush();
  if (!fitting_out) out.setstate(std::ios::badbit);
  return code;
}

}  // namespace kw::cli
