// How well this machine lets us lock something up, part by part. A container or a user without rights may lack some;
// the sandbox goes on with what there is, and the verdict says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kw::sandbox {

// Plain data: it travels from the warden to its client as bytes.
struct Isolation {
  bool processes = false;     // a pid namespace: nothing outlives or sees beyond the sandbox
  bool view = false;          // a mount namespace with a small read-only view of the file system
  bool network = false;       // a network namespace without interfaces
  bool user = false;          // a user without rights
  bool seccomp = false;       // a filter of system calls
  std::int32_t landlock = 0;  // the version of Landlock; 0: none

  bool full() const { return processes && view && network && user && seccomp && landlock > 0; }
  // "full", "filtered" (no namespaces, but system calls and files are filtered), "weak" (limits only).
  std::string name() const;

  struct Part {
    std::string name;
    bool there;
    std::string needs;  // what would have to change, where it is not there
  };
  std::vector<Part> parts() const;
};

}  // namespace kw::sandbox
