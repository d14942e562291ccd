#include "runs/machine.h"

#include <sys/utsname.h>

#include "base/files.h"
#include "base/json.h"
#include "store/sha256.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

Json json_of(const targets::RoofTable& table) {
  Json figures = Json::array();
  for (const targets::Roof& roof : table.roofs) {
    figures.push_back({{"kind", roof.kind == targets::Roof::Kind::arithmetic ? "arithmetic" : "moving"},
                       {"of", roof.of},
                       {"what", roof.what},
                       {"best", roof.best},
                       {"unit", roof.unit},
                       {"spread", roof.spread},
                       {"holds_bytes", roof.holds_bytes > 0 ? Json(roof.holds_bytes) : Json(nullptr)}});
  }
  return {{"measured_at", table.measured_at}, {"scope", table.scope}, {"figures", std::move(figures)}};
}

}  // namespace

std::string machine_identity(const std::string& device) {
  // Only its hash leaves this function: the number itself identifies the machine.
  const auto number = read_file("/etc/machine-id", 4096);
  return store::sha256(targets::facts_of(device).identity + (number.ok() ? *number : "")).substr(0, 32);
}

store::Machine this_machine(const std::string& device, const std::string& isolation) {
  const targets::DeviceFacts facts = targets::facts_of(device);
  Json rows = Json::array(), compilers = Json::object();
  for (const targets::Fact& fact : facts.rows) rows.push_back({{"name", fact.name}, {"text", fact.text}});
  const auto target = targets::target_of(device);
  if (target.ok() && target->tools) {
    for (const targets::ToolState& tool : target->tools(true).list) {
      if (tool.works) compilers[tool.name] = tool.version;
    }
  }
  struct utsname system = {};
  ::uname(&system);
  const auto roofs = targets::known_roofs(device);
  Json json = {{"device", device},
               {"rows", std::move(rows)},
               {"compilers", std::move(compilers)},
               {"kernel", fmt::format("{} {}", system.sysname, system.release)},
               {"kw", KW_VERSION},
               {"sandbox", isolation},
               {"roofs", roofs.ok() ? json_of(*roofs) : Json(nullptr)}};
  if (target.ok()) json[target->name] = Json::parse(facts.json);
  return {.identity = machine_identity(device),
          .name = facts.name.empty() ? "an unknown processor" : facts.name,
          .facts = json.dump()};
}

}  // namespace kw::runs
