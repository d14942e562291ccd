#include "settings/devices.h"

#include "base/toml.h"
#include "settings/settings.h"

namespace kw::settings {

Result<std::string> device_named(const std::string& name) {
  const TextOfFile file = config_with("device", name);
  if (file.path.empty()) return name;
  const toml::table root = toml::parse(file.text, file.path.string());
  const toml::table& table = *root["device"][name].as_table();
  const auto wrong = [&](const toml::source_region& where, const std::string& why) {
    return at(place_in_toml(file.path.string(), where), fail("[device.{}]: {}", name, why));
  };
  for (const auto& [key, node] : table) {
    if (key.str() != "on" && key.str() != "core") {
      return wrong(key.source(), fmt::format("'{}' is not one of its settings: on, core", std::string(key.str())));
    }
  }
  const auto on = table["on"].value_exact<std::string>();
  if (!on || on->empty())
    return wrong(table.source(), "on is missing: on = \"ssh:USER@HOST\", \"adb:SERIAL\" or the like");
  if (!table.contains("core")) return *on;
  const auto core = table["core"].value_exact<std::int64_t>();
  if (!core || *core < 0 || *core > 1023) return wrong(table["core"].node()->source(), "core is the number of a core");
  return fmt::format("{}#{}", *on, *core);
}

}  // namespace kw::settings
