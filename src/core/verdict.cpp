#include "core/verdict.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>

namespace kw {

std::string_view name_of(VerdictStage stage) {
  switch (stage) {
    case VerdictStage::build:
      return "build";
    case VerdictStage::load:
      return "load";
    case VerdictStage::verify:
      return "verify";
    case VerdictStage::quick_check:
      return "quick_check";
    case VerdictStage::hidden:
      return "hidden";
    case VerdictStage::guard:
      return "guard";
    case VerdictStage::precision:
      return "precision";
    case VerdictStage::behaviour:
      return "behaviour";
    case VerdictStage::time:
      return "time";
    case VerdictStage::accepted:
      return "accepted";
  }
  return "";
}

std::optional<VerdictStage> stage_named(std::string_view name) {
  if (name == "glance") return VerdictStage::quick_check;  // in records until November 2026
  for (int i = 0; i <= static_cast<int>(VerdictStage::accepted); ++i) {
    if (name_of(static_cast<VerdictStage>(i)) == name) return static_cast<VerdictStage>(i);
  }
  return std::nullopt;
}

std::string text_of(const Conditions& conditions) {
  const auto from_to = [](double low, double high) {
    return std::lround(low) == std::lround(high) ? fmt::format("{:.0f}", high)
                                                 : fmt::format("{:.0f} to {:.0f}", low, high);
  };
  std::string text;
  if (conditions.mhz_least && conditions.mhz_most)
    text += fmt::format("core at {} MHz, ", from_to(*conditions.mhz_least, *conditions.mhz_most));
  if (conditions.celsius_first && conditions.celsius_most)
    text += fmt::format("{} degrees, ", from_to(*conditions.celsius_first, *conditions.celsius_most));
  text += fmt::format("up to {:.0f} % slower than at best", 100 * (conditions.slowest - 1));
  if (conditions.pauses > 0) {
    text += fmt::format("; {} pause{} to cool down, {:.1f} s", conditions.pauses, conditions.pauses > 1 ? "s" : "",
                        conditions.paused_s);
  }
  for (const std::string& why : conditions.slowed_by) text += fmt::format("; slowed by {}", why);
  return text;
}

std::vector<std::string> text_of(const Coverage& coverage) {
  if (coverage.empty()) return {"what was tried is not recorded"};
  std::vector<std::string> lines;
  std::vector<std::string> ranges;
  for (const auto& [name, range] : coverage.lengths) {
    ranges.push_back(fmt::format("{} in [{}, {}]", name, range.low, range.high));
  }
  lines.push_back(coverage.shapes > 1 ? fmt::format("right on {} shapes: {}", coverage.shapes, fmt::join(ranges, ", "))
                                      : "right on the task's own shape; no other was tried");
  std::vector<std::string> classes;
  for (const auto& [name, count] : coverage.input_classes) classes.push_back(fmt::format("{} {}", count, name));
  lines.push_back(fmt::format("{} cases of values ({}); on the task's own shape {}", coverage.cases,
                              fmt::join(classes, ", "), fmt::join(coverage.own_classes, ", ")));
  lines.push_back(
      fmt::format("tensors {}; threads {}", fmt::join(coverage.placements, ", "), fmt::join(coverage.threads, ", ")));
  std::string more = fmt::format("{} calls of one shape in a row", coverage.calls_in_a_row);
  if (coverage.instances > 1) more += fmt::format("; {} prepared instances with other weights", coverage.instances);
  if (coverage.neighbours) more += "; writes beside outputs watched for";
  if (coverage.timed_calls_verified > 0)
    more += fmt::format("; {} timed calls verified", coverage.timed_calls_verified);
  lines.push_back(std::move(more));
  return lines;
}

}  // namespace kw
