// Has the user's own Python a framework? Asked of Python once, and again when a folder that it looks into has changed:
// starting it takes longer than a whole command should.
#pragma once

#include <optional>
#include <string>

#include "rivals/catalog.h"

namespace kw::rivals {

// `python` is a program's path or name, "": python3. None where it is not there, or where it lacks the module, or
// numpy, which every worker needs.
std::optional<OwnPython> find_own(const std::string& module, const std::string& python);

}  // namespace kw::rivals
