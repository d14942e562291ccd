// What is known of devices behind a link: the facts that they reported when they were last connected, kept in the cache
// folder.
#pragma once

#include <string>

#include "core/tunables.h"
#include "targets/about.h"
#include "targets/remote/architecture.h"

namespace kw::remote {

// Facts that cannot be written are not kept; this is no Error.
void keep_facts(const std::string& device, const Said& said);
Said kept_facts(const std::string& device);

targets::DeviceFacts device_facts(const std::string& device);
// The identity under which verdicts are kept: it changes with the device, its facts and the tools that build for it.
std::string identity(const std::string& device);
// Why nothing can be judged on it; "" where something can, or where only an attempt shows.
std::string missing(const std::string& device);
// An emulator's sandbox has no files, and so no frameworks.
bool runs_frameworks(const std::string& device);
targets::Tools tools(bool only_builders);
BuildOptions build_options();

struct DeviceCache {
  int level = 0;
  std::string kind;  // "data", "instruction" or "unified"
  std::uint64_t size_bytes = 0;
};
// Of the core that kernels are timed on, as far as sizes make sense.
std::vector<DeviceCache> caches_of(const Said& said);
// The second cache of the core that kernels are timed on; 0: not said.
std::uint64_t own_cache_bytes(const Said& said);

}  // namespace kw::remote
