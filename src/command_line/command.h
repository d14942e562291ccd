// What a command is to its program: a name, options, help. It is data: the parser, --help, manual pages and shell
// completion all read it, and none of them knows any command.
#pragma once

#include <iosfwd>
#include <map>
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
  std::string also = {};  // a flag's second name: "--on"

  bool is_called(const std::string& flag) const { return name == flag || (!also.empty() && also == flag); }
  // "--target NAME, --on NAME"
  std::string with_value() const {
    const std::string rest = value.empty() ? "" : " " + value;
    return name + rest + (also.empty() ? "" : ", " + also + rest);
  }
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

// What a command is about: `kw --help` lists those of a topic together, in this order.
enum class Topic { kernels, models, language_models, record, machine };

struct Command {
  std::string name;
  Topic topic = Topic::kernels;
  std::string summary;           // one line, for `kw --help`
  std::string description = {};  // for `kw NAME --help`
  std::vector<Option> options = {};
  std::vector<std::string> examples;  // two, complete command lines ("kw tasks --category Matrix"); a test runs them
  // Writes its answer to `out`; an Error is printed by main and ends with kBroken.
  Result<int> (*run)(const Arguments& arguments, std::ostream& out) = nullptr;
};

// What a program says of itself, in --help and in its manual page.
struct ProgramText {
  std::string name;   // "kw"
  std::string about;  // one line
  std::string use;    // what holds for all commands
  std::string exit_codes;
  std::string settings_order;  // which setting wins
  std::string settings;        // a line each
  std::string version;
};

}  // namespace kw::cli
