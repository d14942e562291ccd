// A child's own walls, put up between its birth and the first instruction of what is not trusted.
#pragma once

#include <string>
#include <vector>

#include "sandbox/filters.h"
#include "sandbox/isolation.h"
#include "sandbox/protocol.h"

namespace kw::sandbox {

// What of the file system a role needs.
enum class Files {
  tools,  // read the view and run its programs, write to the work folder
  own,    // read the work folder alone, which becomes the root
};

struct Confinement {
  Limits limits;
  Files files = Files::tools;
  std::string work_folder;         // "/work", or a folder on disk where there is no view
  std::vector<std::string> shown;  // folders that tools may read besides the system's
  int warden = 0;                  // the warden's process
  int slot = 0;                    // a small number that no other living child has
};

// The steps, in this order. Each is false where a part that the isolation level promises could not be had: the child
// must end.
bool mount_work_folder(const Confinement& confinement, const Isolation& isolation);
bool limit_resources(const Limits& limits);
bool drop_rights(const Confinement& confinement, const Isolation& isolation);
bool filter_files(const Confinement& confinement, const Isolation& isolation);

// The version of Landlock; 0: none.
int landlock_version();

}  // namespace kw::sandbox
