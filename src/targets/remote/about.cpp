#include "targets/remote/about.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "targets/cpu/about.h"
#include "targets/remote/address.h"
#include "targets/target.h"

namespace kw::remote {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostFactBytes = 1 << 20;
// The largest cache that a device is believed to have: the size decides how much is sent to it at a time.
constexpr std::uint64_t kMostCacheBytes = 64 << 20;

fs::path file_of(const std::string& device) {
  return cache_folder() / "devices" / fmt::format("{:016x}.txt", hash_of(device));
}

std::string size_text(std::uint64_t bytes) {
  return bytes >= (std::uint64_t{1} << 30)   ? fmt::format("{:.1f} GB", static_cast<double>(bytes) / (1 << 30))
         : bytes >= (std::uint64_t{1} << 20) ? fmt::format("{:.0f} MB", static_cast<double>(bytes) / (1 << 20))
                                             : fmt::format("{} KB", bytes >> 10);
}

// "4 Cortex-A55 up to 1.8 GHz, 4 Cortex-A76 up to 2.4 GHz"
std::string cores_text(const Said& said) {
  std::map<std::pair<long, std::string>, int> kinds;
  for (const std::string& line : said.all("core")) {
    std::istringstream words(line);
    std::string number, midr, frequency;
    words >> number >> midr >> frequency;
    std::string name = core_name(midr);
    if (name.empty()) name = midr.size() > 2 ? "core " + midr : "core";
    ++kinds[{std::atol(frequency.c_str()), name}];
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, kind.second,
                        kind.second == "core" && count > 1 ? "s" : "");
    if (kind.first > 0) text += fmt::format(" up to {:.1f} GHz", static_cast<double>(kind.first) / 1e6);
  }
  return text;
}

std::uint64_t bytes_in(const std::string& size) {
  const auto number = static_cast<std::uint64_t>(std::atoll(size.c_str()));
  return size.ends_with("K") ? number << 10 : size.ends_with("M") ? number << 20 : number;
}

}  // namespace

void keep_facts(const std::string& device, const Said& said) {
  std::error_code error;
  fs::create_directories(file_of(device).parent_path(), error);
  static_cast<void>(write_file(file_of(device), said.lines()));
}

Said kept_facts(const std::string& device) {
  const auto text = read_file(file_of(device), kMostFactBytes);
  return text.ok() ? Said(*text) : Said();
}

std::vector<DeviceCache> caches_of(const Said& said) {
  std::vector<DeviceCache> caches;
  for (const std::string& line : said.all("cache")) {
    std::istringstream words(line);
    DeviceCache cache;
    std::string kind, size;
    if (!(words >> cache.level >> kind >> size) || cache.level < 1 || cache.level > 4) continue;
    cache.kind = kind == "Instruction" ? "instruction" : kind == "Data" ? "data" : "unified";
    cache.size_bytes = std::min(bytes_in(size), kMostCacheBytes);
    if (cache.size_bytes > 0) caches.push_back(std::move(cache));
  }
  std::ranges::stable_sort(caches, {}, &DeviceCache::level);
  return caches;
}

std::uint64_t own_cache_bytes(const Said& said) {
  for (const DeviceCache& cache : caches_of(said)) {
    if (cache.level == 2 && cache.kind != "instruction") return cache.size_bytes;
  }
  return 0;
}

targets::DeviceFacts device_facts(const std::string& name) {
  const auto address = address_of(name);
  if (!address.ok()) return {.name = name, .notes = {address.error().message}};
  const std::string& device = address->name;
  const Said said = kept_facts(device);
  targets::DeviceFacts facts{.name = device, .identity = device};
  Json json = {{"name", device}};
  const auto row = [&](const char* title, const std::string& text) {
    if (text.empty()) return;
    facts.rows.push_back({title, text});
    json[title] = text;
  };
  row("device", device);
  if (said.empty()) {
    facts.notes.push_back(fmt::format("{} has not answered yet: kw devices check \"{}\" asks it", device, device));
    facts.json = json.dump();
    return facts;
  }
  const auto architecture = architecture_named(said.text("machine"));
  row("model", said.text("model"));
  row("machine", said.text("machine"));
  row("system", said.text("system"));
  row("cores", cores_text(said));
  const std::string core = address->core >= 0 ? std::to_string(address->core) : said.text("best_core");
  row("timed on", core.empty() ? "" : "core " + core);
  if (architecture.ok()) row("vectors", vectors_of(*architecture, said));
  row("memory", size_text(said.number("memory_bytes")));
  std::string caches;
  for (const std::string& line : said.all("cache")) caches += (caches.empty() ? "L" : ", L") + line;
  row("caches", caches);
  row("folder", said.text("folder").substr(0, said.text("folder").rfind('/')));
  if (address->kind == Address::Kind::emulated) {
    facts.notes.push_back("an emulator: its times say nothing of a real device, and no speed is claimed");
  }
  facts.identity += "\n" + said.text("machine") + "\n" + cores_text(said) + "\n" + said.text("model");
  facts.json = json.dump();
  return facts;
}

std::string identity(const std::string& name) {
  std::string text = device_facts(name).identity + "\n";
  for (const Architecture& one : all_architectures()) {
    text += targets::state_of("/usr/bin/" + one.compiler);
    if (!one.emulator.empty()) text += targets::state_of("/usr/bin/" + one.emulator);
  }
  return text;
}

std::string missing(const std::string& name) {
  const auto address = address_of(name);
  if (!address.ok()) return address.error().message;
  if (address->kind != Address::Kind::emulated) return {};
  const auto architecture = architecture_named(address->architecture);
  const std::string install = architecture.ok() ? missing_for(*architecture, true) : architecture.error().message;
  return install.empty() ? ""
                         : fmt::format("{} needs programs that are not here; on Debian: {}", address->name, install);
}

bool runs_frameworks(const std::string& device) {
  const auto address = address_of(device);
  return address.ok() && address->kind != Address::Kind::emulated;
}

targets::Tools tools(bool) {
  targets::Tools all;
  std::string packages;
  for (const Architecture& one : all_architectures()) {
    const std::string path = "/usr/bin/" + one.compiler;
    const bool here = ::access(path.c_str(), X_OK) == 0;
    all.list.push_back({.name = one.compiler,
                        .use = "compiles kernels for " + one.name,
                        .package = one.package,
                        .required = one.name == "aarch64",
                        .builds_kernels = true,
                        .path = here ? path : "",
                        .version = here ? "here" : "",
                        .works = here,
                        .missed = !here && one.name == "aarch64"});
    if (!here && one.name == "aarch64") all.install = "apt-get install " + one.package;
  }
  return all;
}

BuildOptions build_options() {
  BuildOptions options = cpu::build_options();
  options.here = {"g++"};
  return options;
}

}  // namespace kw::remote
