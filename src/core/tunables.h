// What a kernel's source leaves open: KW_TUNE, KW_REQUIRE, KW_COMPILER and KW_FLAGS, read from its text; and the choice
// of values that a build is made with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct Tunable {
  std::string name;
  std::int64_t fallback = 0;         // the value that holds unless it is set
  std::vector<std::int64_t> values;  // those worth trying
  int line = 0;
};

struct Requirement {
  std::string text;  // integer arithmetic on tunables: "TILE_M * TILE_N <= 32"
  int line = 0;
};

struct Tunables {
  std::vector<Tunable> list;
  std::vector<Requirement> requirements;
  std::vector<std::string> compilers;  // the default first; empty: the target's
  std::vector<std::string> flags;      // each a whole set of flags, the default first; empty: the target's
};

// Macros in comments and in text are not meant. Errors name the line.
Result<Tunables> read_tunables(std::string_view source);

// Values by name; "compiler" and "flags" among them.
using Settings = std::map<std::string, std::string>;

// "TILE=16" and the like, as a command line has them.
Result<Settings> parse_settings(const std::vector<std::string>& texts);

// What a build is made with.
struct Choice {
  std::map<std::string, std::int64_t> values;  // of every tunable
  std::string compiler;
  std::vector<std::string> flags;
};

// What a target builds with.
struct BuildOptions {
  std::vector<std::string> compilers = {};  // that a source may name, the default first
  std::vector<std::string> here = {};       // of those, what this machine has; the default first
  std::vector<std::string> flags = {};      // each a whole set worth trying, the default first
  // A message where a kernel may not choose this flag; empty: it may choose none.
  std::function<Status(const std::string& flag)> check_flag = {};
};

// Completes the settings with defaults. Any integer may be set, also one that the source does not list; what breaks a
// requirement, is no integer, names no tunable, or that the target does not build with is an error.
Result<Choice> choose(const Tunables& tunables, const Settings& settings, const BuildOptions& options);

// The source with its tunables fixed to these values, as plain constants; compiler and flags are left to the builder.
Result<std::string> with_tunables_fixed(std::string_view source, const Choice& choice);

// Integer arithmetic of C on names with values: + - * / % comparisons && || ! ?: and brackets.
Result<std::int64_t> evaluate_expression(std::string_view text, const std::map<std::string, std::int64_t>& values);

}  // namespace kw
