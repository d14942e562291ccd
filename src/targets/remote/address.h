// The names of devices, and how each is reached.
//
//   emulated:aarch64          an emulator here, in the sandbox
//   ssh:USER@HOST[:PORT]      as the user's ssh reaches it
//   adb, adb:SERIAL           as adb shell does
//   command:PROGRAM WORDS     whatever gives a shell over standard input and output
//
// "#7" at the end of any of them: kernels are timed on core 7, in place of the device's strongest.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::remote {

struct Address {
  enum class Kind { emulated, ssh, adb, command };
  Kind kind = Kind::emulated;
  std::string name;                     // the whole
  int core = -1;                        // where kernels are timed; -1: on the strongest
  std::string architecture = {};        // of an emulated one
  std::vector<std::string> words = {};  // of the others: the program that gives a shell there
};

// Names come from outside: what could be taken for an option or for more than a name is refused.
Result<Address> address_of(const std::string& device);

}  // namespace kw::remote
