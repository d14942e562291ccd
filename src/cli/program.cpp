#include "cli/program.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <new>
#include <ostream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "cli/settings.h"
#include "cli/values.h"
#include "command_line/complete.h"
#include "command_line/help.h"
#include "command_line/manual.h"
#include "command_line/parse.h"

namespace kw::cli {
namespace {

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

const ProgramText& about_kw() {
  static const ProgramText text = {
      .name = "kw",
      .about = "compute kernels, tested hard and made fast",
      .use =
          "`kw COMMAND --help` explains one. A task is named by its name in a suite, by suite.toml:NAME, or as\n"
          "model.onnx:NODE.",
      .exit_codes = "0 yes, 1 no, 2 wrong use or a broken machine.",
      .settings_order =
          "by a flag, else the environment (KW_RIVAL for rival), else kw.toml in the working directory or above\n"
          "it, else in $XDG_CONFIG_HOME/kernelwright (~/.config/kernelwright):",
      .settings = settings::settings_text(),
      .version = KW_VERSION};
  return text;
}

std::string help_text() { return help_text(about_kw(), all_commands()); }

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
    const Command* named = words.size() > 1 ? find_command(words[1]) : nullptr;
    if (words.size() > 1 && !named) return refuse_command(words[1], err);
    out << (named ? help_text(*named) : help_text());
    return kYes;
  }
  if (words[0] == "--version" || words[0] == "-V" || words[0] == "version") {
    out << "kw " KW_VERSION "\n";
    return kYes;
  }
  if (words[0] == "__complete") {
    for (const std::string& candidate : completions(all_commands(), {words.begin() + 1, words.end()}, values_for))
      out << candidate << "\n";
    return kYes;
  }
  if (words[0] == "__man" && words.size() == 2) {
    const Status written = write_manual(words[1], about_kw(), all_commands());
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
