// The only way in which kw starts a program (tests/house_test.cpp names the exceptions: the sandbox).
//
// A program that is started in a foreign folder must not run what lies there. So a program is found over the
// absolute folders of PATH alone, it gets a short list of variables, no open files but those that are meant, and a
// working folder in which nothing lies. Only a command that the user has typed runs where the user is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace kw {

enum class Surroundings {
  neutral,  // a clean environment, and / as the working folder
  users,    // those of the user: for what the user has typed to be run
};

struct Program {
  std::vector<std::string> words;  // the first is a path from / or a name to be found; never "./x"
  Surroundings surroundings = Surroundings::neutral;
  std::vector<std::string> variables = {};  // "NAME=value", beside or instead of what is clean
  bool only_these_variables = false;        // nothing but `variables`
  int in = -1;                              // -1: /dev/null
  int out = -1;
  int err = -1;
  int third = -1;             // what it finds as descriptor 3; -1: nothing
  bool off_network = false;   // where the system allows it
  bool ends_with_us = false;  // killed when the thread that started it ends
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> file_bytes = {};  // of each file that it writes
};

// In a process group of its own. Fails where it cannot be found or executed. The caller waits for it.
Result<pid_t> start_program(const Program& program);

// The first executable regular file of this name in the absolute folders of a list such as PATH; "" where there is
// none. Entries that are empty or relative mean the working folder, and are passed over.
std::string program_in(const std::string& folders, const std::string& name);
// The same over $PATH; a path from / is taken as it is.
Result<std::string> find_program(const std::string& name);

// Of $PATH those entries that begin with /.
std::string absolute_path_entries(const std::string& folders);

// Its exit code; 128 and the signal's number where one ended it. What it prints goes into `log`, which is written anew
// or, with `append`, written on. Fails where the program cannot be started or the time runs out; then it is killed.
Result<int> run_program(const std::vector<std::string>& words, const std::filesystem::path& log, bool append,
                        std::chrono::seconds most_time);
// The same with surroundings and limits of its own.
Result<int> run_program(Program program, const std::filesystem::path& log, bool append, std::chrono::seconds most_time);

}  // namespace kw
