// Settings of tunables as one JSON object, the form in which records and labels keep them.
#pragma once

#include <string>

#include "base/result.h"
#include "core/tunables.h"

namespace kw {

std::string settings_as_json(const Settings& settings);
Result<Settings> settings_from_json(const std::string& text);

}  // namespace kw
