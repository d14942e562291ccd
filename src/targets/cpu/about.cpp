#include "targets/cpu/about.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/json.h"
#include "targets/cpu/kept_roofs.h"
#include "targets/cpu/tools.h"

namespace kw::cpu {
namespace {

using targets::Roof;

std::string size_text(std::uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, size < 10 && size != static_cast<int>(size) ? 1 : 0, units[unit]);
}

// Records compare machines by its hash: it must not change for one that stays the same.
std::string identity_of(const CpuFacts& facts) {
  Json caches = Json::array();
  for (const Cache& cache : facts.caches) {
    caches.push_back({{"name", cache.name()}, {"size_bytes", cache.size_bytes}, {"shared_by", cache.shared_by}});
  }
  return Json{{"model", facts.model},
              {"logical_cores", facts.logical_cores},
              {"vector", facts.vector.extension},
              {"caches", std::move(caches)}}
      .dump();
}

std::string json_of(const CpuFacts& facts) {
  Json caches = Json::array();
  for (const Cache& cache : facts.caches) {
    caches.push_back({{"name", cache.name()},
                      {"level", cache.level},
                      {"kind", cache.kind},
                      {"size_bytes", cache.size_bytes},
                      {"shared_by", cache.shared_by}});
  }
  const std::string& extension = facts.vector.extension;
  return Json{
      {"model", facts.model},
      {"logical_cores", facts.logical_cores},
      {"usable_cores", facts.usable_cores},
      {"vector",
       {{"extension", extension.empty() ? Json(nullptr) : Json(extension)}, {"width_bits", facts.vector.width_bits}}},
      {"memory_bytes", facts.memory_bytes},
      {"caches", std::move(caches)}}
      .dump();
}

// Flags that choose how code is made. What names files, other programs or the linker is not a kernel's to choose.
Status check_flag(const std::string& flag) {
  const bool kind = flag.starts_with("-O") || flag.starts_with("-f") || flag.starts_with("-m") ||
                    flag.starts_with("-std=") || flag.starts_with("-D") || flag == "--param" ||
                    flag.starts_with("--param=");
  const bool harmful = flag.starts_with("-fplugin") || flag.starts_with("-fdump") || flag.starts_with("-fprofile") ||
                       flag.starts_with("-fsanitize") || flag.starts_with("-fuse-ld") || flag.starts_with("-flto") ||
                       flag.starts_with("-fpass-plugin") || flag.starts_with("-fmodule") || flag.starts_with("-DKW_") ||
                       flag.find('@') != std::string::npos;
  const bool harmless = std::ranges::all_of(
      flag, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-+=.,", c) != nullptr; });
  if (kind && !harmful && harmless) return {};
  return fail("{}: not a flag that a kernel may choose; allowed are -O, -f..., -m..., -std=, -D and --param", flag);
}

}  // namespace

targets::DeviceFacts device_facts(const CpuFacts& facts) {
  targets::DeviceFacts told{.name = facts.model, .identity = identity_of(facts), .json = json_of(facts)};
  const auto row = [&](std::string name, std::string text) { told.rows.push_back({std::move(name), std::move(text)}); };
  row("processor", facts.model + (facts.core.empty() ? "" : " (" + facts.core + ")"));
  row("cores",
      fmt::format("{}{}", facts.logical_cores,
                  facts.usable_cores < facts.logical_cores ? fmt::format(", of which kw may use {}", facts.usable_cores)
                                                           : std::string()));
  const VectorUnit& vector = facts.vector;
  row("vectors", vector.extension.empty()
                     ? "none known"
                     : fmt::format("{}, {} bits, {} registers", vector.extension, vector.width_bits,
                                   vector.extension == "avx512f" || vector.extension == "neon" ? 32 : 16));
  if (facts.memory_bytes > 0) row("memory", size_text(facts.memory_bytes));
  const char* heading = "caches";
  for (const Cache& cache : facts.caches) {
    row(std::exchange(heading, ""),
        fmt::format("{:4}{:>8}  {}", cache.name(), size_text(cache.size_bytes),
                    cache.shared_by == 1 ? "of one core" : fmt::format("shared by {} cores", cache.shared_by)));
  }
  if (facts.caches.empty()) {
    told.notes.push_back("this system does not tell its caches; every task is held against the speed of memory");
  }
  return told;
}

targets::RoofTable roof_table(const Roofs& roofs) {
  targets::RoofTable table{.measured_at = roofs.measured_at, .scope = "one core", .json = roofs_as_json(roofs)};
  const auto add = [&](Roof::Kind kind, const std::string& of, const char* what, const Figure& figure, const char* unit,
                       std::uint64_t holds_bytes) {
    table.roofs.push_back({.kind = kind,
                           .of = of,
                           .what = what,
                           .best = figure.best,
                           .unit = unit,
                           .spread = figure.spread,
                           .stable = figure.stable(),
                           .holds_bytes = holds_bytes});
  };
  for (const LevelRoof& level : roofs.levels) {
    add(Roof::Kind::moving, level.name, "read", level.read_gbps, "GB/s", level.size_bytes);
    add(Roof::Kind::moving, level.name, "write", level.write_gbps, "GB/s", level.size_bytes);
    add(Roof::Kind::moving, level.name, "copy", level.copy_gbps, "GB/s", level.size_bytes);
    add(Roof::Kind::moving, level.name, "triad", level.triad_gbps, "GB/s", level.size_bytes);
  }
  add(Roof::Kind::arithmetic, "float32 multiply-adds", "", roofs.fma_gflops, "GFLOP/s", 0);
  return table;
}

Result<targets::RoofTable> known_roof_table() {
  KW_TRY(const Roofs roofs, known_roofs());
  return roof_table(roofs);
}

targets::RoofTable joined_and_kept(Roofs fresh, const CpuFacts& facts, const std::filesystem::path& file) {
  const Result<Roofs> kept = read_kept_roofs(facts, file);
  const Roofs roofs = kept.ok() ? joined(std::move(fresh), *kept) : std::move(fresh);
  targets::RoofTable table = roof_table(roofs);
  std::error_code code;
  if (!kept.ok() && std::filesystem::exists(file, code)) {
    table.notes.push_back("the roofs were measured anew; " + kept.error().message);
  }
  if (const Status status = keep_roofs(roofs, facts, file); !status.ok()) {
    table.notes.push_back("the figures could not be kept, so they will be measured again: " + status.error().message);
  }
  return table;
}

Result<targets::RoofTable> measured_roof_table() {
  const CpuFacts facts = read_cpu_facts();
  KW_TRY(Roofs fresh, measure_roofs(facts));
  return joined_and_kept(std::move(fresh), facts, kept_roofs_file());
}

Result<targets::LeastTime> least_time(const Cost& cost, int threads) {
  KW_TRY(const Roofs roofs, known_roofs());
  return least_time(roofs, cost, threads);
}

Result<targets::LeastTime> least_time(const Roofs& roofs, const Cost& cost, int threads) {
  if (threads != 1) return fail("what {} threads can do at most is not known: roofs are of one core", threads);
  return targets::LeastTime{.arithmetic_ns = least_time_ns(roofs, {.flops = cost.flops}),
                            .moving_ns = least_time_ns(roofs, {0, cost.read_bytes, cost.written_bytes})};
}

targets::Tools tools(bool only_builders) {
  std::vector<Tool> wanted;
  for (const Tool& tool : known_tools()) {
    if (!only_builders || tool.sandboxed) wanted.push_back(tool);
  }
  const char* folders = std::getenv("PATH");
  const std::vector<ToolFound> found = look_for(wanted, folders ? folders : "");
  const std::vector<Tool> missing = missing_tools(found);
  targets::Tools told;
  for (const ToolFound& one : found) {
    told.list.push_back({.name = one.tool.name,
                         .use = one.tool.use,
                         .package = one.tool.package,
                         .required = one.tool.required,
                         .builds_kernels = one.tool.sandboxed,
                         .path = one.path,
                         .version = one.version,
                         .works = one.works(),
                         .missed = std::ranges::find(missing, one.tool.name, &Tool::name) != missing.end(),
                         .note = one.note});
  }
  if (!missing.empty()) told.install = install_command(missing);
  return told;
}

BuildOptions build_options() {
  return {.compilers = {"g++", "clang++"},
          .here = kernel_compilers(),
          .flags = {"-O3", "-O2", "-O3 -fno-math-errno -fno-trapping-math", "-O3 -funroll-loops"},
          .check_flag = check_flag};
}

std::string build_command(const std::string& name, const Choice& choice) {
  return fmt::format("{0} -std=c++20 -march=native {1} -I. {2}.cpp -c -o {2}.o", choice.compiler,
                     fmt::join(choice.flags, " "), name);
}

}  // namespace kw::cpu
