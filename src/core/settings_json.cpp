#include "core/settings_json.h"

#include "base/json.h"

namespace kw {

std::string settings_as_json(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = value;
  return json.dump();
}

Result<Settings> settings_from_json(const std::string& text) {
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) return fail("the record of a candidate's settings is damaged");
  Settings settings;
  for (const auto& [name, value] : json.items()) {
    settings[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return settings;
}

}  // namespace kw
