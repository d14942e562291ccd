#include "cli/manual.h"

#include <sstream>

#include "base/files.h"
#include "cli/program.h"
#include "cli/settings.h"

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

std::string opening(const std::string& name, const std::string& summary) {
  return fmt::format(".TH {} 1 \"\" \"kernelwright {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", shown(name),
                     KW_VERSION, shown(name), shown(summary));
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
  return bold(option.name) + (option.value.empty() ? "" : " " + italic(option.value));
}

std::string page_name(const Command& command) { return "kw-" + command.name; }

}  // namespace

std::string manual_page() {
  std::string page = opening("kw", kAbout);
  page += ".SH SYNOPSIS\n" + bold("kw") + " " + italic("COMMAND") + " ...\n";
  page += ".SH DESCRIPTION\n" + paragraphs(kUse);
  page += ".SH COMMANDS\n";
  for (const Command& command : all_commands()) {
    page += fmt::format(".TP\n{}(1)\n{}\n", bold(page_name(command)), shown(command.summary));
  }
  page += ".SH SETTINGS\n" + paragraphs(kSettingsOrder) + as_it_stands(settings::settings_text());
  page += ".SH EXIT STATUS\n" + paragraphs(kExitCodes);
  return page;
}

std::string manual_page(const Command& command) {
  std::string page = opening(page_name(command), command.summary);
  page += ".SH SYNOPSIS\n" + bold("kw " + command.name) + "\n";
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
  return page + ".SH EXIT STATUS\n" + paragraphs(kExitCodes) + ".SH SEE ALSO\n" + bold("kw") + "(1)\n";
}

Status write_manual(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  KW_CHECK(write_file(folder / "kw.1", manual_page()));
  for (const Command& command : all_commands()) {
    KW_CHECK(write_file(folder / (page_name(command) + ".1"), manual_page(command)));
  }
  return {};
}

}  // namespace kw::cli
