// The warden: a small process that starts sandboxes and watches over them. Small, because forking a process with much
// memory takes many milliseconds; and apart from the client, so that what it starts never saw the client's memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sandbox/confine.h"
#include "sandbox/view.h"

namespace kw::sandbox {

// What a role is given.
struct Job {
  std::vector<std::byte> arguments;
  std::vector<int> descriptors;
  const Isolation* isolation = nullptr;
  std::string work_folder;
};

// What runs inside. `before` still has the warden's rights, in the work folder; `run` has none, and its result is the
// process's exit code.
struct Role {
  std::string name;
  Files files = Files::tools;
  Filter filter = Filter::tools;
  bool (*before)(Job& job) = nullptr;
  int (*run)(Job& job) = nullptr;
};

// Serves until the other end of the socket is closed; then everything that still runs is ended.
int serve(int socket, const std::vector<Shown>& shown, std::span<const Role> roles);

// The compiled filter for a role's second step; empty where seccomp cannot be had. Made when the warden starts.
const Program& filter_of(Filter filter);

}  // namespace kw::sandbox
