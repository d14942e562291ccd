// What this machine can do at most, for commands that tell results against it.
#pragma once

namespace kw::cli {

// Measures and keeps the roofs where they are not known yet, and says so on standard error. Without them a command goes
// on all the same.
void know_roofs();

}  // namespace kw::cli
