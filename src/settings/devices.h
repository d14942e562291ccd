// Devices by names of the user's own: a table [device.NAME] in kw.toml.
//
//   [device.phone]
//   on = "adb:R58M123ABC"
//   core = 7               # where kernels are timed; default: the strongest
//   python = "python3.12"  # what runs frameworks there; default: python3
//   mnn = "/data/local/tmp/libMNN.so"  # or a framework's own library there: mnn, ncnn, onnxruntime
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace kw::settings {

// What such a table says, as --on takes it ("adb:R58M123ABC#7"); `name` itself where there is no such table.
Result<std::string> device_named(const std::string& name);

// What the table of a device says of frameworks there; nothing where none has it.
struct FrameworksThere {
  std::string python = {};
  std::map<std::string, std::string> libraries = {};  // by the framework's name
};
Result<FrameworksThere> frameworks_on(const std::string& device);

}  // namespace kw::settings
