// The commands of the program. Each file commands/NAME.cpp defines `Command NAME();` in this namespace's `commands`;
// the build writes the table from the folder. A command is data: the parser, --help, shell completion and the test that
// runs every help's examples all read it.
#pragma once

#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cli {

// What completion offers for a value.
enum class Completes { nothing, task, suite, category, file, run };

struct Option {
  std::string name;        // "--json", or "TASK" for a word at its place
  std::string value = {};  // what --help calls its value: "FILE"; empty: a switch (words at a place need none)
  std::string help = {};
  bool required = false;
  bool repeated = false;  // may be given several times
  Completes completes = Completes::nothing;

  // By what its value is called: then the parser refuses what is none. The command knows the range.
  bool takes_number() const { return value == "N" || value == "S" || value == "SECONDS"; }
};

class Arguments {
 public:
  bool has(const std::string& name) const { return values_.contains(name); }
  // The value, or "" where it was not given.
  std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() || found->second.empty() ? std::string() : found->second.back();
  }
  std::vector<std::string> texts(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::vector<std::string>() : found->second;
  }
  void add(const std::string& name, std::vector<std::string> values) { values_[name] = std::move(values); }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

// Exit codes: yes, no, and wrong use or a broken machine.
inline constexpr int kYes = 0;
inline constexpr int kNo = 1;
inline constexpr int kBroken = 2;

struct Command {
  std::string name;
  std::string summary;           // one line, for `kw --help`
  std::string description = {};  // for `kw NAME --help`
  std::vector<Option> options = {};
  std::vector<std::string> examples;  // two, complete command lines ("kw tasks --category Matrix"); a test runs them
  // Writes its answer to `out`; an Error is printed by main and ends with kBroken.
  Result<int> (*run)(const Arguments& arguments, std::ostream& out) = nullptr;
};

namespace commands {
using Maker = Command (*)();
extern const std::span<const Maker> table;
}  // namespace commands

}  // namespace kw::cli
