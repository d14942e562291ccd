// The programs that kw calls, or could: which are here, which are missing, and what installs those.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kw::cpu {

struct Tool {
  std::string name;     // of the program
  std::string use;      // what kw needs it for
  std::string package;  // of Debian and its kin
  bool required = false;
  std::string version_argument = "--version";
  std::string version_after = {};  // the text in front of the version in the answer
  std::string only_with = {};      // a path; where it does not exist the tool is not missed
  std::string also_in = {};        // a folder to look in after those of PATH
  bool sandboxed = false;          // runs in the sandbox, which shows /usr alone and finds programs in /usr/bin alone
};

struct ToolFound {
  Tool tool;
  std::string path = {};     // empty: not here
  std::string version = {};  // empty: not here, or it does not run
  bool usable = true;        // false: it is here, but where the sandbox does not show it
  std::string note = {};     // a sentence about one that is here and not used; empty: there is none

  bool works() const { return !version.empty() && usable; }
};

// The one table of them.
std::span<const Tool> known_tools();

// `folders` as PATH writes them: separated by colons. `shown` is what the sandbox shows of programs.
std::vector<ToolFound> look_for(std::span<const Tool> tools, const std::string& folders,
                                const std::string& shown = "/usr");

// The tools of the table along $PATH.
std::vector<ToolFound> look_for_tools();

// Of the compilers that a kernel may ask for ("g++", "clang++"), those that the sandbox can run: a compiler elsewhere
// on PATH would fail at the first kernel. The one that a kernel without wishes gets comes first. Only looked up, not
// started: quick.
std::vector<std::string> kernel_compilers();
std::vector<std::string> kernel_compilers(const std::string& folders, const std::string& shown);

// Those that do not work here and could be of use.
std::vector<Tool> missing_tools(std::span<const ToolFound> found);

// "apt-get install g++ clang"; where there is no apt-get, the packages in words.
std::string install_command(std::span<const Tool> missing);

}  // namespace kw::cpu
