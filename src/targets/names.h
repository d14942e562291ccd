// What the name of a device says by itself, for those who need nothing else of targets (targets/target.h).
#pragma once

#include <string>

namespace kw::targets {

// Where kernels run unless a device is named.
const std::string& usual_device();

// "ssh" of "ssh:me@board#3".
std::string scheme_of(const std::string& device);

// A program of the user's reaches it (Target::schemes): ssh, adb, or one that the name itself says. Such names must
// come from the user, and such a link may break at any moment.
bool reached_by_a_program(const std::string& device);

}  // namespace kw::targets
