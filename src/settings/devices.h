// Devices by names of the user's own: a table [device.NAME] in kw.toml.
//
//   [device.phone]
//   on = "adb:R58M123ABC"
//   core = 7               # where kernels are timed; the strongest unless said
#pragma once

#include <string>

#include "base/result.h"

namespace kw::settings {

// What such a table says, as --on takes it ("adb:R58M123ABC#7"); `name` itself where there is no such table.
Result<std::string> device_named(const std::string& name);

}  // namespace kw::settings
