// kw doctor: what this machine has, how fast it can be, and what is missing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

#include "base/json.h"
#include "cli/commands.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/kept_roofs.h"
#include "targets/cpu/roofs.h"
#include "targets/cpu/tools.h"
#include "targets/cpu/workshop.h"

namespace kw::cli::commands {
namespace {

using namespace kw::targets;
struct Report {
  CpuFacts facts;
  std::optional<Roofs> roofs;
  bool measured_now = false;
  std::vector<ToolFound> tools;
  std::vector<Tool> missing;
  std::optional<sandbox::Tier> tier;  // of the sandbox
  std::vector<std::string> notes;     // what did not go well, each a sentence

  bool has_all_required() const { return std::ranges::none_of(missing, &Tool::required); }
};

// Measures, joins what is known from before, and keeps it; what fails on the way becomes a note.
void measure_into(Report& report, const Result<Roofs>& kept) {
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "measuring, some three seconds ...\n");
  Result<Roofs> fresh = measure_roofs(report.facts);
  if (!fresh) {
    report.notes.push_back(fresh.error().message);
    return;
  }
  report.roofs = kept ? joined(*std::move(fresh), *kept) : *std::move(fresh);
  report.measured_now = true;
  if (const Status status = keep_roofs(*report.roofs, report.facts); !status)
    report.notes.push_back("the figures could not be kept, so they will be measured again: " + status.error().message);
}

Report examine(bool measure_again) {
  Report report = {.facts = read_cpu_facts(), .tools = look_for_tools()};
  report.missing = missing_tools(report.tools);
  for (const ToolFound& found : report.tools) {
    if (!found.note.empty()) report.notes.push_back(found.note);
  }
  if (report.facts.caches.empty())
    report.notes.push_back("this system does not tell its caches; every task is held against the speed of memory");

  if (const auto workshop = cpu::Workshop::open(); workshop.ok()) {
    report.tier = workshop->sandbox().tier();
  } else {
    report.notes.push_back(workshop.error().message);
  }

  const Result<Roofs> kept = read_kept_roofs(report.facts);
  std::error_code code;
  if (!kept && std::filesystem::exists(kept_roofs_file(), code))
    report.notes.push_back("the roofs were measured anew; " + kept.error().message);
  if (kept && !measure_again) {
    report.roofs = *kept;
  } else {
    measure_into(report, kept);
  }
  return report;
}

std::string size_text(std::uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, size < 10 && size != static_cast<int>(size) ? 1 : 0, units[unit]);
}

void print_facts(const CpuFacts& facts, std::ostream& out) {
  out << fmt::format("{:11}{}\n", "processor", facts.model);
  out << fmt::format("{:11}{}{}\n", "cores", facts.logical_cores,
                     facts.usable_cores < facts.logical_cores
                         ? fmt::format(", of which kw may use {}", facts.usable_cores)
                         : std::string());
  const VectorUnit& vector = facts.vector;
  out << fmt::format(
      "{:11}{}\n", "vectors",
      vector.extension.empty() ? "none known" : fmt::format("{}, {} bits", vector.extension, vector.width_bits));
  if (facts.memory_bytes > 0) out << fmt::format("{:11}{}\n", "memory", size_text(facts.memory_bytes));
  const char* heading = "caches";
  for (const Cache& cache : facts.caches) {
    out << fmt::format("{:11}{:4}{:>8}  {}\n", std::exchange(heading, ""), cache.name(), size_text(cache.size_bytes),
                       cache.shared_by == 1 ? "of one core" : fmt::format("shared by {} cores", cache.shared_by));
  }
}

// "   2.5 %", and what of it is not stable.
std::string spread_text(double spread, const std::string& unstable) {
  return fmt::format("{:8.1f} %{}", 100 * spread, unstable.empty() ? "" : "  not stable: " + unstable);
}

std::string unstable_patterns(const LevelRoof& level) {
  std::string names;
  const auto add = [&](const char* name, const Figure& figure) {
    if (!figure.stable()) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add("read", level.read_gbps);
  add("write", level.write_gbps);
  add("copy", level.copy_gbps);
  add("triad", level.triad_gbps);
  return names;
}

void print_roofs(const Roofs& roofs, std::ostream& out) {
  out << fmt::format("\nroofs of one core, measured at {}\n", roofs.measured_at);
  out << fmt::format("  {:14}{:>8}{:>8}{:>8}{:>8}{:>10}\n", "", "read", "write", "copy", "triad", "spread");
  for (const LevelRoof& level : roofs.levels) {
    out << fmt::format("  {:14}{:8.1f}{:8.1f}{:8.1f}{:8.1f}{}\n", level.name + " GB/s", level.read_gbps.best,
                       level.write_gbps.best, level.copy_gbps.best, level.triad_gbps.best,
                       spread_text(level.spread(), unstable_patterns(level)));
  }
  out << fmt::format("  {:14}{:8.1f}{:24}{}\n", "FMA GFLOP/s", roofs.fma_gflops.best, "",
                     spread_text(roofs.fma_gflops.spread, roofs.fma_gflops.stable() ? "" : "FMA"));
  if (!roofs.stable())
    out << fmt::format("  not stable is above {:.0f} %; to try on a quieter machine: kw doctor --measure\n",
                       100 * kStableSpread);
}

void print_tools(const Report& report, std::ostream& out) {
  out << "\ntools\n";
  for (const ToolFound& found : report.tools) {
    if (found.works()) out << fmt::format("  {:9}{:10}{}\n", found.tool.name, found.version, found.path);
  }
  if (report.missing.empty()) return;
  out << "\nmissing\n";
  for (const Tool& tool : report.missing)
    out << fmt::format("  {:9}{:10}{}\n", tool.name, tool.required ? "needed" : "of use", tool.use);
  out << fmt::format("  {}\n", install_command(report.missing));
}

void print_tier(const sandbox::Tier& tier, std::ostream& out) {
  out << fmt::format("\nsandbox    {}\n", tier.name());
  for (const sandbox::Tier::Part& part : tier.parts()) {
    out << fmt::format("  {:27}{}\n", part.name, part.there ? "yes" : "no; it needs " + part.needs);
  }
}

void print(const Report& report, std::ostream& out) {
  print_facts(report.facts, out);
  if (report.roofs) print_roofs(*report.roofs, out);
  if (report.tier) print_tier(*report.tier, out);
  print_tools(report, out);
  if (!report.notes.empty()) out << "\n";
  for (const std::string& note : report.notes) out << "note: " << note << "\n";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json facts_as_json(const CpuFacts& facts) {
  Json caches = Json::array();
  for (const Cache& cache : facts.caches) {
    caches.push_back({{"name", cache.name()},
                      {"level", cache.level},
                      {"kind", cache.kind},
                      {"size_bytes", cache.size_bytes},
                      {"shared_by", cache.shared_by}});
  }
  return {{"model", facts.model},
          {"logical_cores", facts.logical_cores},
          {"usable_cores", facts.usable_cores},
          {"vector", {{"extension", text_or_null(facts.vector.extension)}, {"width_bits", facts.vector.width_bits}}},
          {"memory_bytes", facts.memory_bytes},
          {"caches", std::move(caches)}};
}

Json as_json(const Report& report) {
  Json tools = Json::array();
  for (const ToolFound& found : report.tools) {
    tools.push_back({{"name", found.tool.name},
                     {"required", found.tool.required},
                     {"use", found.tool.use},
                     {"package", found.tool.package},
                     {"path", text_or_null(found.path)},
                     {"version", text_or_null(found.version)}});
  }
  Json parts = Json::array();
  for (const auto& part : report.tier ? report.tier->parts() : std::vector<sandbox::Tier::Part>()) {
    parts.push_back(
        {{"name", part.name}, {"there", part.there}, {"needs", part.there ? Json(nullptr) : Json(part.needs)}});
  }
  Json missing = Json::array();
  for (const Tool& tool : report.missing) missing.push_back(tool.name);
  return {{"ready", report.has_all_required()},
          {"cpu", facts_as_json(report.facts)},
          {"roofs", report.roofs ? Json::parse(roofs_as_json(*report.roofs)) : Json(nullptr)},
          {"measured_now", report.measured_now},
          {"sandbox", report.tier ? Json{{"tier", report.tier->name()}, {"parts", std::move(parts)}} : Json(nullptr)},
          {"tools", std::move(tools)},
          {"missing", std::move(missing)},
          {"install", report.missing.empty() ? Json(nullptr) : Json(install_command(report.missing))},
          {"notes", report.notes}};
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  const Report report = examine(arguments.has("--measure"));
  if (arguments.has("--json")) {
    out << as_json(report).dump(2) << "\n";
  } else {
    print(report, out);
  }
  if (!report.roofs) return kBroken;
  return report.has_all_required() ? kYes : kNo;
}

}  // namespace

Command doctor() {
  return {
      .name = "doctor",
      .summary = "shows what this machine has, how fast it can be, and what is missing",
      .description =
          "Shows the processor, its caches, the compilers, and the roofs of one core: the most float32 multiply-adds "
          "and the most bytes from each cache and from memory in a second, measured. Measuring takes some three "
          "seconds and is done once; the figures are kept in machine.json of the cache folder. A roof is the best of "
          "the last ten measurings; its spread says how far the usual round or the worst measuring lies below it, and "
          "above 5 % it is called not stable.\n"
          "\n"
          "The sandbox is full, filtered or weak, by what this machine lets us lock candidates up with.\n"
          "\n"
          "copy is a = b and triad is a = b + s * c; every byte read or written counts.\n"
          "\n"
          "--json prints one object: ready, cpu {model, logical_cores, usable_cores, vector {extension, width_bits}, "
          "memory_bytes, caches [{name, level, kind, size_bytes, shared_by}]}, roofs {measured_at, spread, stable, "
          "fma_gflops, levels [{name, size_bytes, working_set_bytes, read_gbps, write_gbps, copy_gbps, triad_gbps}]} "
          "where a figure is {best, spread, stable, runs}, measured_now, sandbox {tier, parts [{name, there, needs}]}, "
          "tools [{name, required, use, package, path, "
          "version}], missing [names], install (a command or null), notes [sentences].\n"
          "\n"
          "Exits 0 where all that kw needs is there, 1 where something needed is missing, 2 where nothing could be "
          "measured.",
      .options = {{.name = "--measure", .help = "measure the roofs again"},
                  {.name = "--json", .help = "print one JSON object"}},
      .examples = {"kw doctor", "kw doctor --json"},
      .run = run,
  };
}

}  // namespace kw::cli::commands
