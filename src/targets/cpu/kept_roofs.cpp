#include "targets/cpu/kept_roofs.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include "base/files.h"
#include "base/json.h"

namespace kw::cpu {
namespace fs = std::filesystem;
namespace {

// Raise it when a change of the measurement would change its figures.
constexpr int kMeasuringVersion = 2;

constexpr const char* name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::read:
      return "read_gbps";
    case Pattern::write:
      return "write_gbps";
    case Pattern::copy:
      return "copy_gbps";
    case Pattern::triad:
      break;
  }
  return "triad_gbps";
}

Json json_of(const Figure& figure) {
  return {{"best", figure.best}, {"spread", figure.spread}, {"stable", figure.stable()}, {"runs", figure.runs}};
}

Json json_of(const Roofs& roofs) {
  Json levels = Json::array();
  for (const LevelRoof& level : roofs.levels) {
    Json entry = {{"name", level.name},
                  {"size_bytes", level.size_bytes > 0 ? Json(level.size_bytes) : Json(nullptr)},
                  {"working_set_bytes", level.working_set_bytes}};
    for (const Pattern pattern : kPatterns) entry[name_of(pattern)] = json_of(level.of(pattern));
    levels.push_back(std::move(entry));
  }
  return {{"measured_at", roofs.measured_at},
          {"spread", roofs.spread()},
          {"stable", roofs.stable()},
          {"fma_gflops", json_of(roofs.fma_gflops)},
          {"levels", std::move(levels)}};
}

// The readers below throw a JsonError where a key is missing or of another type.
Figure figure_of(const Json& entry) {
  return {.best = entry.at("best").get<double>(),
          .spread = entry.at("spread").get<double>(),
          .runs = entry.at("runs").get<std::vector<double>>()};
}

Roofs roofs_of(const Json& entry) {
  Roofs roofs = {.measured_at = entry.at("measured_at").get<std::string>(),
                 .fma_gflops = figure_of(entry.at("fma_gflops"))};
  for (const Json& kept : entry.at("levels")) {
    const Json& size_bytes = kept.at("size_bytes");
    LevelRoof level = {.name = kept.at("name").get<std::string>(),
                       .size_bytes = size_bytes.is_null() ? 0 : size_bytes.get<std::uint64_t>(),
                       .working_set_bytes = kept.at("working_set_bytes").get<std::uint64_t>()};
    for (const Pattern pattern : kPatterns) level.of(pattern) = figure_of(kept.at(name_of(pattern)));
    roofs.levels.push_back(std::move(level));
  }
  return roofs;
}

bool makes_sense(const Figure& figure) {
  const auto speed = [](double value) { return std::isfinite(value) && value > 0; };
  return speed(figure.best) && std::isfinite(figure.spread) && figure.spread >= 0 && !figure.runs.empty() &&
         std::ranges::all_of(figure.runs, speed);
}

// What least_time_ns and joined rely on.
bool makes_sense(const Roofs& roofs) {
  if (!makes_sense(roofs.fma_gflops) || roofs.levels.empty() || roofs.levels.back().size_bytes != 0) return false;
  return std::ranges::all_of(roofs.levels, [](const LevelRoof& level) {
    return std::ranges::all_of(kPatterns, [&](Pattern pattern) { return makes_sense(level.of(pattern)); });
  });
}

Json machine_of(const CpuFacts& facts) {
  return {{"model", facts.model}, {"logical_cores", facts.logical_cores}, {"measuring_version", kMeasuringVersion}};
}

}  // namespace

fs::path kept_roofs_file() { return cache_folder() / "machine.json"; }

Result<Roofs> read_kept_roofs(const CpuFacts& facts, const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code)) return fail("this machine's roofs have not been measured");
  KW_TRY(const std::string text, read_file(file, 1 << 20));
  try {
    const Json kept = Json::parse(text);
    if (kept.at("machine") != machine_of(facts))
      return fail("{}: measured on another machine, or by another version of kw", file.string());
    Roofs roofs = roofs_of(kept.at("roofs"));
    if (makes_sense(roofs)) return roofs;
    return fail("{}: damaged: a figure is out of its range", file.string());
  } catch (const JsonError&) {
    return fail("{}: damaged: not what kw writes there", file.string());
  }
}

Result<Roofs> known_roofs() {
  Result<Roofs> roofs = read_kept_roofs(read_cpu_facts());
  if (roofs) return roofs;
  return fail("{}; run 'kw doctor' to measure them", roofs.error().message);
}

Status keep_roofs(const Roofs& roofs, const CpuFacts& facts, const fs::path& file) {
  std::error_code code;
  fs::create_directories(file.parent_path(), code);
  if (code) return fail("{}: cannot be created: {}", file.parent_path().string(), code.message());
  const Json kept = {{"machine", machine_of(facts)}, {"roofs", json_of(roofs)}};
  return write_file(file, kept.dump(2) + "\n");
}

std::string roofs_as_json(const Roofs& roofs) { return json_of(roofs).dump(); }

}  // namespace kw::cpu
