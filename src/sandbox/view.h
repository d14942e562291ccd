// The warden's own walls, built once when it starts: namespaces of its own, and a small read-only view of the file
// system in which every child lives.
#pragma once

#include <string>
#include <vector>

#include "sandbox/isolation.h"

namespace kw::sandbox {

// A folder of the machine shown inside under another name, read-only.
struct Shown {
  std::string outside;
  std::string inside;
};

// The folder inside that a child may write to, a small file system of its own.
inline constexpr char kWorkFolder[] = "/work";

// Enters what namespaces it may and sets `processes`, `view`, `network` and `user` of the isolation level.
void enter_view(const std::vector<Shown>& shown, Isolation& isolation);

}  // namespace kw::sandbox
