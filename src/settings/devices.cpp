#include "settings/devices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/toml.h"
#include "settings/settings.h"

namespace kw::settings {

namespace {

constexpr std::string_view kLibraries[] = {"mnn", "ncnn", "onnxruntime"};

// A table [device.NAME], checked.
struct Table {
  std::string on;
  std::int64_t core = -1;
  FrameworksThere frameworks;
};

// None: there is no such table.
Result<std::optional<Table>> table_named(const std::string& name) {
  const TextOfFile file = config_with("device", name);
  if (file.path.empty()) return std::optional<Table>();
  const toml::table root = toml::parse(file.text, file.path.string());
  const toml::table& table = *root["device"][name].as_table();
  const auto wrong = [&](const toml::source_region& where, const std::string& why) {
    return at(place_in_toml(file.path.string(), where), fail("[device.{}]: {}", name, why));
  };
  Table said;
  for (const auto& [key, node] : table) {
    const std::string_view setting = key.str();
    const bool is_library = std::ranges::find(kLibraries, setting) != std::end(kLibraries);
    if (setting == "core") {
      const auto core = node.value_exact<std::int64_t>();
      if (!core || *core < 0 || *core > 1023) return wrong(node.source(), "core is the number of a core");
      said.core = *core;
    } else if (setting == "on" || setting == "python" || is_library) {
      const auto text = node.value_exact<std::string>();
      if (!text || text->empty()) return wrong(node.source(), fmt::format("{} is a text", setting));
      if (is_library && !text->starts_with('/')) {
        return wrong(node.source(), fmt::format("{} is a path on the device, from / on", setting));
      }
      (is_library            ? said.frameworks.libraries[std::string(setting)]
       : setting == "python" ? said.frameworks.python
                             : said.on) = *text;
    } else {
      return wrong(key.source(), fmt::format("'{}' is not one of its settings: on, core, python, {}", setting,
                                             fmt::join(kLibraries, ", ")));
    }
  }
  if (said.on.empty()) {
    return wrong(table.source(), "on is missing: on = \"ssh:USER@HOST\", \"adb:SERIAL\" or the like");
  }
  return std::optional(std::move(said));
}

}  // namespace

Result<std::string> device_named(const std::string& name) {
  KW_TRY(const std::optional<Table> table, table_named(name));
  if (!table) return name;
  return table->core < 0 ? table->on : fmt::format("{}#{}", table->on, table->core);
}

Result<FrameworksThere> frameworks_on(const std::string& device) {
  for (const std::string& name : tables_of("device")) {
    KW_TRY(const std::string meant, device_named(name));
    if (meant != device) continue;
    KW_TRY(const std::optional<Table> table, table_named(name));
    return table->frameworks;
  }
  return FrameworksThere();
}

}  // namespace kw::settings
