// Settings: what a person would otherwise have to say with every command.
//
// A flag wins over the environment (KW_RIVAL for `rival`), the environment over kw.toml in the working directory or the
// nearest folder above it that has one, and that over the user's own, $XDG_CONFIG_HOME/kernelwright/kw.toml. Whoever
// needs a setting asks for it by name; a new one is a row in the table of settings.cpp.
//
// A kw.toml may have come with a folder from anywhere. Settings that run a program, send something or read elsewhere
// (python, model, a store outside of the folder) are obeyed there only after the user has said so: settings/trust.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace kw::settings {

struct Setting {
  enum class Kind { text, path, number, yes_or_no, tables };
  std::string name;
  Kind kind = Kind::text;
  std::string about;

  std::string variable() const;  // "KW_RIVAL"
};
const std::vector<Setting>& all_settings();

// Reads both files and complains, with file and line, about what is no setting or has no such value. The program asks
// once, before any command runs.
Status check_config();

// What is not obeyed, and why, each in a line: files of other users, settings that need the user's trust.
std::vector<std::string> config_warnings();
// Each with what it does; empty where none needs it.
Result<std::vector<std::string>> settings_that_need_trust(const TextOfFile& file);
// The nearest kw.toml, in the working folder or above it; empty: there is none. It may be anybody's.
std::filesystem::path folder_config();

inline constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 20;

// What the environment or a file says; "" where neither does. A path in a file is meant from the file's folder;
// yes_or_no is "yes" or "no".
std::string setting(const std::string& name);
bool is_setting(const std::string& name);

// The file in which the table [KIND.NAME] stands, the nearest where there are several; empty: in none that is the
// user's own or trusted. What is in such a table is its reader's business.
TextOfFile config_with(const std::string& kind, const std::string& name);

// The names of the tables [KIND.NAME] of all files that are the user's own or trusted.
std::vector<std::string> tables_of(const std::string& kind);

// For --help: every setting in a line.
std::string settings_text();

}  // namespace kw::settings
