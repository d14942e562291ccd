#include "runs/machine.h"

#include <sys/utsname.h>

#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "store/sha256.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/kept_roofs.h"
#include "targets/cpu/tools.h"

namespace kw::runs {
namespace {

Json cpu_as_json(const targets::CpuFacts& facts) {
  Json caches = Json::array();
  for (const targets::Cache& cache : facts.caches) {
    caches.push_back({{"name", cache.name()}, {"size_bytes", cache.size_bytes}, {"shared_by", cache.shared_by}});
  }
  return {{"model", facts.model},
          {"logical_cores", facts.logical_cores},
          {"vector", facts.vector.extension},
          {"caches", std::move(caches)}};
}

}  // namespace

std::string machine_identity() {
  // Only its hash leaves this function: the number itself is nobody's business.
  const auto number = read_file("/etc/machine-id", 4096);
  return store::sha256(cpu_as_json(targets::read_cpu_facts()).dump() + (number.ok() ? *number : "")).substr(0, 32);
}

store::Machine this_machine(const std::string& tier) {
  const targets::CpuFacts facts = targets::read_cpu_facts();
  // Only those that matter to times: asking each takes a while.
  std::vector<targets::Tool> compilers_known;
  for (const targets::Tool& tool : targets::known_tools()) {
    if (tool.use.starts_with("compiles kernels")) compilers_known.push_back(tool);
  }
  const char* folders = std::getenv("PATH");
  Json compilers = Json::object();
  for (const targets::ToolFound& found : targets::look_for(compilers_known, folders ? folders : "")) {
    if (found.works()) compilers[found.tool.name] = found.version;
  }
  struct utsname system = {};
  ::uname(&system);
  const auto roofs = targets::known_roofs();
  const Json json = {{"cpu", cpu_as_json(facts)},
                     {"usable_cores", facts.usable_cores},
                     {"memory_bytes", facts.memory_bytes},
                     {"compilers", std::move(compilers)},
                     {"kernel", fmt::format("{} {}", system.sysname, system.release)},
                     {"kw", KW_VERSION},
                     {"sandbox", tier},
                     {"roofs", roofs.ok() ? Json::parse(targets::roofs_as_json(*roofs)) : Json(nullptr)}};
  return {.identity = machine_identity(),
          .name = facts.model.empty() ? "an unknown processor" : facts.model,
          .facts = json.dump()};
}

}  // namespace kw::runs
