#include "runs/device_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "base/terminal.h"

namespace kw::runs {
namespace {

using targets::IsolationPart;
using targets::Roof;
using targets::RoofTable;
using targets::Target;
using targets::Tools;
using targets::ToolState;

// "   2.5 %", and what of it is not stable.
std::string spread_text(double spread, const std::string& unstable) {
  return fmt::format("{:8.1f} %{}", 100 * spread, unstable.empty() ? "" : "  not stable: " + unstable);
}

std::string facts_as_text(const targets::DeviceFacts& facts) {
  std::string text;
  for (const targets::Fact& fact : facts.rows) text += fmt::format("{:11}{}\n", fact.name, fact.text);
  return text;
}

// One line for all that was measured of the same, with a column for each way of measuring it.
std::string roofs_as_text(const RoofTable& table) {
  std::string text = fmt::format("\nroofs of {}, measured at {}\n", table.scope, table.measured_at);
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
  std::size_t column_wide = 8;
  for (const std::string& column : columns) column_wide = std::max(column_wide, column.size() + 2);
  text += fmt::format("  {:{}}  ", "", wide);
  for (const std::string& column : columns) text += fmt::format("{:>{}}", column, column_wide);
  text += fmt::format("{:>10}\n", "spread");
  for (const auto& [heading, roofs] : lines) {
    text += fmt::format("  {:{}}  ", heading, wide);
    std::string unstable;
    double spread = 0;
    for (const std::string& column : columns) {
      const auto found = std::ranges::find_if(roofs, [&](const Roof* roof) {
        return roof->what == column || (roof->what.empty() && column == columns[0]);
      });
      text +=
          found == roofs.end() ? std::string(column_wide, ' ') : fmt::format("{:{}.1f}", (*found)->best, column_wide);
    }
    for (const Roof* roof : roofs) {
      spread = std::max(spread, roof->spread);
      if (!roof->stable) unstable += (unstable.empty() ? "" : ", ") + (roof->what.empty() ? roof->of : roof->what);
    }
    text += spread_text(spread, unstable) + "\n";
  }
  if (!table.stable()) text += "  not stable: to try on a quieter machine: kw doctor --measure\n";
  return text;
}

void add_roofs(const Target& target, const std::string& device, bool measure_again, DeviceReport& report) {
  if (const auto known = target.known_roofs(device); known.ok() && !measure_again) {
    report.roofs = *known;
    return;
  }
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "measuring, a few seconds ...\n");
  const auto measured = target.measure_roofs(device);
  if (!measured.ok()) return report.notes.push_back(measured.error().message);
  report.roofs = *measured;
  report.measured_now = true;
  for (const std::string& note : measured->notes) report.notes.push_back(note);
}

void print_tools(const Tools& tools, std::string& out) {
  if (tools.list.empty()) return;
  out += "\ntools\n";
  for (const ToolState& tool : tools.list) {
    if (tool.works) out += fmt::format("  {:<8} {:10}{}\n", tool.name, tool.version, tool.path);
  }
  if (tools.install.empty()) return;
  out += "\nmissing\n";
  for (const ToolState& tool : tools.list) {
    if (tool.missed) out += fmt::format("  {:<8} {:10}{}\n", tool.name, tool.required ? "needed" : "of use", tool.use);
  }
  out += fmt::format("  {}\n", tools.install);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Result<DeviceReport> report_on(const std::string& device, bool measure_again) {
  KW_TRY(const Target target, targets::target_of(device));
  // None of a GPU that is not there, or that is emulated.
  const bool is_missing = target.missing && !target.missing(device).empty();
  DeviceReport report{.target = target.name,
                      .facts = targets::facts_of(device),
                      .has_roofs = target.measure_roofs && !is_missing && (!target.gpu || target.gpu(device))};
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
  if (report.has_roofs) {
    add_roofs(target, device, measure_again, report);
  } else {
    report.notes.push_back(fmt::format("roofs cannot be measured on {}", device));
  }
  return report;
}

std::string as_text(const DeviceReport& report) {
  std::string out;
  std::size_t wide = 27;
  for (const IsolationPart& part : report.parts) wide = std::max(wide, part.name.size() + 2);
  out += facts_as_text(report.facts);
  if (report.roofs) out += roofs_as_text(*report.roofs);
  if (report.isolation) out += fmt::format("\nsandbox    {}\n", *report.isolation);
  for (const IsolationPart& part : report.parts) {
    out += fmt::format("  {:<{}}{}\n", part.name, wide, part.there ? "yes" : "no; it needs " + part.needs);
  }
  print_tools(report.tools, out);
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  return out;
}

std::string as_json(const DeviceReport& report) {
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
  return Json{{"ready", report.tools.ready()},
              {report.target, Json::parse(report.facts.json)},
              {"roofs", report.roofs ? Json::parse(report.roofs->json) : Json(nullptr)},
              {"measured_now", report.measured_now},
              {"sandbox",
               report.isolation ? Json{{"isolation", *report.isolation}, {"parts", std::move(parts)}} : Json(nullptr)},
              {"tools", std::move(tools)},
              {"missing", std::move(missing)},
              {"install", text_or_null(report.tools.install)},
              {"notes", report.notes}}
      .dump(2);
}

CheckedDevice check_device(const std::string& name, const std::string& device) {
  CheckedDevice checked{.name = name, .device = device};
  const auto begin = std::chrono::steady_clock::now();
  const auto opened = targets::open_device(device);
  checked.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!opened.ok()) {
    checked.problem = opened.error().message;
    return checked;
  }
  checked.reachable = true;
  checked.isolation = (*opened)->isolation();
  checked.parts = (*opened)->isolation_parts();
  checked.facts = targets::facts_of(device);
  return checked;
}

std::string as_text(const CheckedDevice& checked) {
  // What devices say of themselves comes from outside.
  if (!checked.reachable) {
    return fmt::format("{}  cannot be used\n  {}\n", fit_for_a_line(checked.name), fit_for_a_line(checked.problem));
  }
  std::string text = fmt::format("{}  ready, in {:.1f} s\n", fit_for_a_line(checked.name), checked.seconds);
  for (const targets::Fact& fact : checked.facts.rows) {
    text += fmt::format("  {:11}{}\n", fact.name, fit_for_a_line(fact.text));
  }
  text += fmt::format("  {:11}{}\n", "isolation", checked.isolation);
  for (const targets::IsolationPart& part : checked.parts) {
    text += fmt::format("    {:36}{}\n", part.name, part.there ? "yes" : "no; it needs " + part.needs);
  }
  for (const std::string& note : checked.facts.notes) text += fmt::format("  note: {}\n", fit_for_a_line(note));
  return text;
}

std::string as_json(const CheckedDevice& checked) {
  Json parts = Json::array();
  for (const targets::IsolationPart& part : checked.parts)
    parts.push_back({{"name", part.name}, {"there", part.there}});
  return Json{
      {"name", checked.name},           {"device", checked.device},
      {"reachable", checked.reachable}, {"problem", checked.problem.empty() ? Json(nullptr) : Json(checked.problem)},
      {"seconds", checked.seconds},     {"facts", Json::parse(checked.facts.json)},
      {"isolation", checked.isolation}, {"parts", std::move(parts)}}
      .dump();
}

}  // namespace kw::runs
