// The programs that kw calls, or could: which are here, which are missing, and what installs those.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kw::targets {

struct Tool {
  std::string name;     // of the program
  std::string use;      // what kw needs it for
  std::string package;  // of Debian and its kin
  bool required = false;
  std::string version_argument = "--version";
  std::string version_after = {};  // the text in front of the version in the answer
  std::string only_with = {};      // a path; where it does not exist the tool is not missed
  std::string also_in = {};        // a folder to look in after those of PATH
};

struct ToolFound {
  Tool tool;
  std::string path = {};     // empty: not here
  std::string version = {};  // empty: not here, or it does not run

  bool works() const { return !version.empty(); }
};

// The one table of them.
std::span<const Tool> known_tools();

// `folders` as PATH writes them: separated by colons.
std::vector<ToolFound> look_for(std::span<const Tool> tools, const std::string& folders);

// The tools of the table along $PATH.
std::vector<ToolFound> look_for_tools();

// Of the compilers that a kernel may ask for ("g++", "clang++"), those along $PATH; the one that a kernel without
// wishes gets comes first. Only looked up, not started: quick.
std::vector<std::string> kernel_compilers();

// Those that do not work here and could be of use.
std::vector<Tool> missing_tools(std::span<const ToolFound> found);

// "apt-get install g++ clang"; where there is no apt-get, the packages in words.
std::string install_command(std::span<const Tool> missing);

}  // namespace kw::targets
