// Wheels of a rival for another machine's Python: downloaded here, by pip, which takes none whose SHA-256 is not in the
// rival's list (catalog.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "rivals/catalog.h"

namespace kw::rivals {

// What a device's Python says of itself (rivals/shared/device.py).
struct DevicePython {
  std::string path;     // its folders of modules, with colons
  std::string version;  // "3.11"
  std::string architecture;
  int libc_minor = 0;  // of glibc 2.MINOR
  bool has = false;    // the framework, in the version that was tried
};

// Whatever it answers, the texts are fit to be words of a command.
Result<DevicePython> device_python_in(const Json& answer, const std::string& architecture);

// Platforms whose wheels such a Python takes, as pip names them.
std::vector<std::string> platforms_of(const DevicePython& python);

// Kept in the cache.
Result<std::vector<std::filesystem::path>> wheels_for(const RivalFile& rival, const DevicePython& python);

}  // namespace kw::rivals
