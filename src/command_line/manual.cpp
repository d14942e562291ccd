#include "command_line/manual.h"

#include <sstream>

#include "base/files.h"
#include "command_line/help.h"

namespace kw::cli {
namespace {

// Text as roff shows it: signs that it would read as commands are escaped, and minus signs are those of a keyboard.
std::string shown(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (made.empty() || made.back() == '\n')) made += "\\&";
    if (c == '\\') {
      made += "\\e";
    } else if (c == '-') {
      made += "\\-";
    } else if (c == '\'') {
      made += "\\(aq";
    } else if (c == '`') {
      made += "\\(ga";
    } else if (c == '^') {
      made += "\\(ha";
    } else if (c == '~') {
      made += "\\(ti";
    } else {
      made += c;
    }
  }
  return made;
}

std::string bold(const std::string& text) { return "\\fB" + shown(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + shown(text) + "\\fR"; }

std::string opening(const ProgramText& program, const std::string& name, const std::string& summary) {
  return fmt::format(".TH {} 1 \"\" \"kernelwright {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", shown(name),
                     program.version, shown(name), shown(summary));
}

// Empty lines begin paragraphs.
std::string paragraphs(const std::string& text) {
  std::string made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) made += line.empty() ? ".PP\n" : shown(line) + "\n";
  return made;
}

// Lines as they stand.
std::string as_it_stands(const std::string& text) { return ".PP\n.nf\n" + shown(text) + ".fi\n"; }

// "--budget SECONDS", "TASK".
std::string option_text(const Option& option) {
  if (!option.name.starts_with("--")) return italic(option.name);
  const std::string value = option.value.empty() ? "" : " " + italic(option.value);
  return bold(option.name) + value + (option.also.empty() ? "" : ", " + bold(option.also) + value);
}

std::string page_name(const ProgramText& program, const Command& command) { return program.name + "-" + command.name; }

}  // namespace

std::string manual_page(const ProgramText& program, const std::vector<Command>& commands) {
  std::string page = opening(program, program.name, program.about);
  page += ".SH SYNOPSIS\n" + bold(program.name) + " " + italic("COMMAND") + " ...\n";
  page += ".SH DESCRIPTION\n" + paragraphs(program.use);
  page += ".SH COMMANDS\n";
  for (const Command& command : commands) {
    page += fmt::format(".TP\n{}(1)\n{}\n", bold(page_name(program, command)), shown(command.summary));
  }
  page += ".SH SETTINGS\n" + paragraphs(program.settings_order) + as_it_stands(program.settings);
  page += ".SH EXIT STATUS\n" + paragraphs(program.exit_codes);
  return page;
}

std::string manual_page(const ProgramText& program, const Command& command) {
  std::string page = opening(program, page_name(program, command), command.summary);
  page += ".SH SYNOPSIS\n" + bold(program.name + " " + command.name) + "\n";
  for (const Option& option : command.options) {
    const std::string text = option_text(option) + (option.repeated ? "..." : "");
    page += option.required ? text + "\n" : "[" + text + "]\n";
  }
  if (!command.description.empty()) page += ".SH DESCRIPTION\n" + paragraphs(command.description);
  page += ".SH OPTIONS\n";
  for (const Option& option : command.options) {
    page += fmt::format(".TP\n{}\n{}\n", option_text(option), shown(option.help));
  }
  page += fmt::format(".TP\n{}\n{}\n", bold("--help"), kHelpHelp);
  if (!command.examples.empty()) {
    std::string examples;
    for (const std::string& example : command.examples) examples += example + "\n";
    page += ".SH EXAMPLES\n" + as_it_stands(examples);
  }
  return page + ".SH EXIT STATUS\n" + paragraphs(program.exit_codes) + ".SH SEE ALSO\n" + bold(program.name) + "(1)\n";
}

Status write_manual(const std::filesystem::path& folder, const ProgramText& program,
                    const std::vector<Command>& commands) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  KW_CHECK(write_file(folder / (program.name + ".1"), manual_page(program, commands)));
  for (const Command& command : commands) {
    KW_CHECK(write_file(folder / (page_name(program, command) + ".1"), manual_page(program, command)));
  }
  return {};
}

}  // namespace kw::cli
