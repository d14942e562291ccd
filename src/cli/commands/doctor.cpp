// kw doctor: what this machine has, how fast it can be, and what is missing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/target_flag.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

using targets::DeviceFacts;
using targets::Fact;
using targets::IsolationPart;
using targets::Roof;
using targets::RoofTable;
using targets::Target;
using targets::Tools;
using targets::ToolState;

struct Report {
  std::string target;
  DeviceFacts facts;
  std::optional<RoofTable> roofs;
  bool measured_now = false;
  Tools tools;
  std::optional<std::string> isolation;
  std::vector<IsolationPart> parts;  // of the isolation
  std::vector<std::string> notes;    // what did not go well, each a sentence
};

void add_roofs(const Target& target, const std::string& device, bool measure_again, Report& report) {
  if (!target.known_roofs || !target.measure_roofs) return;
  if (const auto known = target.known_roofs(device); known.ok() && !measure_again) {
    report.roofs = *known;
    return;
  }
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "measuring, some three seconds ...\n");
  const auto measured = target.measure_roofs(device);
  if (!measured.ok()) return report.notes.push_back(measured.error().message);
  report.roofs = *measured;
  report.measured_now = true;
  for (const std::string& note : measured->notes) report.notes.push_back(note);
}

Result<Report> examine(const std::string& device, bool measure_again) {
  KW_TRY(const Target target, targets::target_of(device));
  Report report{.target = target.name, .facts = targets::facts_of(device)};
  if (target.tools) report.tools = target.tools(false);
  for (const ToolState& tool : report.tools.list) {
    if (!tool.note.empty()) report.notes.push_back(tool.note);
  }
  for (const std::string& note : report.facts.notes) report.notes.push_back(note);
  if (const auto opened = target.open(device); opened.ok()) {
    report.isolation = (*opened)->isolation();
    report.parts = (*opened)->isolation_parts();
  } else {
    report.notes.push_back(opened.error().message);
  }
  add_roofs(target, device, measure_again, report);
  return report;
}

void print_facts(const DeviceFacts& facts, std::ostream& out) {
  for (const Fact& fact : facts.rows) out << fmt::format("{:11}{}\n", fact.name, fact.text);
}

// "   2.5 %", and what of it is not stable.
std::string spread_text(double spread, const std::string& unstable) {
  return fmt::format("{:8.1f} %{}", 100 * spread, unstable.empty() ? "" : "  not stable: " + unstable);
}

// One line for all that was measured of the same, with a column for each way of measuring it.
void print_roofs(const RoofTable& table, std::ostream& out) {
  out << fmt::format("\nroofs of {}, measured at {}\n", table.scope, table.measured_at);
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::vector<const Roof*>>> lines;
  for (const Roof& roof : table.roofs) {
    if (!roof.what.empty() && std::ranges::find(columns, roof.what) == columns.end()) columns.push_back(roof.what);
    const std::string heading = roof.of + " " + roof.unit;
    if (lines.empty() || lines.back().first != heading) lines.push_back({heading, {}});
    lines.back().second.push_back(&roof);
  }
  if (columns.empty()) columns.emplace_back();
  std::size_t wide = 12;
  for (const auto& line : lines) wide = std::max(wide, line.first.size());
  out << fmt::format("  {:{}}  ", "", wide);
  for (const std::string& column : columns) out << fmt::format("{:>8}", column);
  out << fmt::format("{:>10}\n", "spread");
  for (const auto& [heading, roofs] : lines) {
    out << fmt::format("  {:{}}  ", heading, wide);
    std::string unstable;
    double spread = 0;
    for (const std::string& column : columns) {
      const auto found = std::ranges::find_if(roofs, [&](const Roof* roof) {
        return roof->what == column || (roof->what.empty() && column == columns[0]);
      });
      out << (found == roofs.end() ? std::string(8, ' ') : fmt::format("{:8.1f}", (*found)->best));
    }
    for (const Roof* roof : roofs) {
      spread = std::max(spread, roof->spread);
      if (!roof->stable) unstable += (unstable.empty() ? "" : ", ") + (roof->what.empty() ? roof->of : roof->what);
    }
    out << spread_text(spread, unstable) << "\n";
  }
  if (!table.stable()) out << "  not stable: to try on a quieter machine: kw doctor --measure\n";
}

void print_tools(const Tools& tools, std::ostream& out) {
  if (tools.list.empty()) return;
  out << "\ntools\n";
  for (const ToolState& tool : tools.list) {
    if (tool.works) out << fmt::format("  {:9}{:10}{}\n", tool.name, tool.version, tool.path);
  }
  if (tools.install.empty()) return;
  out << "\nmissing\n";
  for (const ToolState& tool : tools.list) {
    if (tool.missed) out << fmt::format("  {:9}{:10}{}\n", tool.name, tool.required ? "needed" : "of use", tool.use);
  }
  out << fmt::format("  {}\n", tools.install);
}

void print_report(const Report& report, std::ostream& out) {
  print_facts(report.facts, out);
  if (report.roofs) print_roofs(*report.roofs, out);
  if (report.isolation) out << fmt::format("\nsandbox    {}\n", *report.isolation);
  for (const IsolationPart& part : report.parts) {
    out << fmt::format("  {:27}{}\n", part.name, part.there ? "yes" : "no; it needs " + part.needs);
  }
  print_tools(report.tools, out);
  if (!report.notes.empty()) out << "\n";
  for (const std::string& note : report.notes) out << "note: " << note << "\n";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json as_json(const Report& report) {
  Json tools = Json::array(), parts = Json::array(), missing = Json::array();
  for (const ToolState& tool : report.tools.list) {
    tools.push_back({{"name", tool.name},
                     {"required", tool.required},
                     {"use", tool.use},
                     {"package", tool.package},
                     {"path", text_or_null(tool.path)},
                     {"version", text_or_null(tool.version)}});
    if (tool.missed) missing.push_back(tool.name);
  }
  for (const IsolationPart& part : report.parts) {
    parts.push_back(
        {{"name", part.name}, {"there", part.there}, {"needs", part.there ? Json(nullptr) : Json(part.needs)}});
  }
  return {{"ready", report.tools.ready()},
          {report.target, Json::parse(report.facts.json)},
          {"roofs", report.roofs ? Json::parse(report.roofs->json) : Json(nullptr)},
          {"measured_now", report.measured_now},
          {"sandbox",
           report.isolation ? Json{{"isolation", *report.isolation}, {"parts", std::move(parts)}} : Json(nullptr)},
          {"tools", std::move(tools)},
          {"missing", std::move(missing)},
          {"install", text_or_null(report.tools.install)},
          {"notes", report.notes}};
}

Result<int> run_doctor(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const Report report, examine(device, arguments.has("--measure")));
  if (arguments.has("--json")) {
    out << as_json(report).dump(2) << "\n";
  } else {
    print_report(report, out);
  }
  if (!report.roofs) return kBroken;
  return report.tools.ready() ? kYes : kNo;
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
          "--json prints one object: ready, the facts of the target by its name: cpu {model, logical_cores, "
          "usable_cores, vector {extension, width_bits}, "
          "memory_bytes, caches [{name, level, kind, size_bytes, shared_by}]}, roofs {measured_at, spread, stable, "
          "levels [{name, size_bytes, working_set_bytes, read_gbps, write_gbps, copy_gbps, triad_gbps}], and the "
          "arithmetic} where a figure is {best, spread, stable, runs}, measured_now, sandbox {isolation, parts [{name, "
          "there, "
          "needs}]}, "
          "tools [{name, required, use, package, path, "
          "version}], missing [names], install (a command or null), notes [sentences].\n"
          "\n"
          "Exits 0 where all that kw needs is there, 1 where something needed is missing, 2 where nothing could be "
          "measured.",
      .options = {target_option(),
                  {.name = "--measure", .help = "measure the roofs again"},
                  {.name = "--json", .help = "print one JSON object"}},
      .examples = {"kw doctor", "kw doctor --json"},
      .run = run_doctor,
  };
}

}  // namespace kw::cli::commands
