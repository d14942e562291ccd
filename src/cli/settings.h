// Settings that are flags too.
#pragma once

#include <string>

#include "cli/commands.h"
#include "settings/settings.h"

namespace kw::cli {

using settings::setting;

// What the flag --NAME says, else the setting of that name; of a flag that is no setting, that alone.
inline std::string setting(const Arguments& arguments, const std::string& name) {
  if (arguments.has("--" + name)) return arguments.text("--" + name);
  return settings::is_setting(name) ? setting(name) : std::string();
}

}  // namespace kw::cli
