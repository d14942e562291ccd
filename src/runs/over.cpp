#include "runs/over.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "base/paired_ratio.h"
#include "base/random.h"
#include "base/units.h"
#include "judge/verdict_json.h"
#include "report/table.h"
#include "report/verdict_text.h"

namespace kw::runs {
namespace {

constexpr int kUnseen = 6;
constexpr std::int64_t kMostLength = std::int64_t{1} << 40;

bool read_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Where a share of the way from the low end to the high one lies, by the logarithm; a length of 0 counts as one
// below 1.
std::int64_t part_of_the_way(const OverRange& range, double share) {
  const double low = std::log(static_cast<double>(range.low) + 1), high = std::log(static_cast<double>(range.high) + 1);
  const double length = std::exp(low + (high - low) * share) - 1;
  return std::clamp<std::int64_t>(std::llround(length), range.low, range.high);
}

Lengths all_at(const std::vector<OverRange>& over, double share) {
  Lengths lengths;
  for (const OverRange& range : over) lengths[range.name] = part_of_the_way(range, share);
  return lengths;
}

}  // namespace

std::string text_of_lengths(const Lengths& lengths) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : lengths) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

Result<std::vector<OverRange>> parse_over(const std::vector<std::string>& texts) {
  std::vector<OverRange> over;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('='), dots = text.find("..", equals == std::string::npos ? 0 : equals);
    OverRange range;
    const bool good = equals != std::string::npos && equals > 0 && dots != std::string::npos &&
                      read_number(std::string_view(text).substr(equals + 1, dots - equals - 1), range.low) &&
                      read_number(std::string_view(text).substr(dots + 2), range.high) && range.low >= 0 &&
                      range.high <= kMostLength;
    if (!good) return fail("--over takes a length and its range, such as N=1..64, not '{}'", text);
    range.name = text.substr(0, equals);
    if (range.low > range.high) return fail("--over {}: the range ends before it begins", text);
    const auto is_same = [&](const OverRange& other) { return other.name == range.name; };
    if (std::ranges::any_of(over, is_same)) return fail("--over {} is given twice", range.name);
    over.push_back(std::move(range));
  }
  return over;
}

Status check_over(const std::vector<OverRange>& over, const Task& task) {
  for (const OverRange& range : over) {
    if (task.lengths.contains(range.name)) continue;
    std::vector<std::string> open;
    for (const auto& [name, value] : task.lengths) open.push_back(name);
    return fail("--over {}: {} leaves {} open", range.name, task.name,
                open.empty() ? "no length" : fmt::format("{}", fmt::join(open, ", ")));
  }
  return {};
}

std::vector<OverSize> sizes_over(const std::vector<OverRange>& over, std::uint64_t seed) {
  std::vector<OverSize> sizes;
  std::set<Lengths> taken;
  const auto add = [&](Lengths lengths, bool seen) {
    if (taken.insert(lengths).second) sizes.push_back({std::move(lengths), seen});
  };
  for (const double share : {0.0, 0.5, 1.0}) add(all_at(over, share), true);
  const std::size_t seen = sizes.size();
  Random random(seed);
  for (int tries = 0; tries < 20 * kUnseen && sizes.size() < seen + kUnseen; ++tries) {
    // One part of the range after the other, so that they do not crowd; some parts of a small range have nothing new.
    const double part = tries % kUnseen;
    Lengths lengths;
    for (std::size_t i = 0; i < over.size(); ++i) {
      const double share = i == 0 ? (part + random.unit()) / kUnseen : random.unit();
      lengths[over[i].name] = part_of_the_way(over[i], share);
    }
    add(std::move(lengths), false);
  }
  if (!over.empty()) {
    const std::string& first = over[0].name;
    std::ranges::stable_sort(sizes, {}, [&](const OverSize& size) { return size.lengths.at(first); });
  }
  return sizes;
}

Task task_at(const Task& task, const OverSize& size) {
  Task there = task;
  for (const auto& [name, value] : size.lengths) there.lengths[name] = value;
  return there;
}

std::vector<OverFigure> figures_over(const std::vector<TimedSize>& sizes) {
  std::vector<OverFigure> figures;
  std::vector<std::vector<double>> speeds;
  for (const TimedSize& one : sizes) {
    if (one.size.seen) continue;
    for (const Speedup& speedup : one.verdict.speedups) {
      auto found = std::ranges::find(figures, speedup.rival, &OverFigure::rival);
      if (found == figures.end()) {
        figures.push_back({.rival = speedup.rival, .worst = speedup.median, .worst_at = one.size.lengths});
        speeds.emplace_back();
        found = figures.end() - 1;
      }
      if (speedup.median < found->worst) {
        found->worst = speedup.median;
        found->worst_at = one.size.lengths;
      }
      ++found->sizes;
      speeds[static_cast<std::size_t>(found - figures.begin())].push_back(speedup.median);
    }
  }
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].median = median_of(std::move(speeds[i]));
  return figures;
}

std::string over_as_text(const std::vector<TimedSize>& sizes) {
  report::Table table{.title = "over the range",
                      .columns = {{"size", false}, {"", false}, {"time", true}, {"of the roof", true}},
                      .rows = {}};
  std::vector<std::string> rivals;
  for (const TimedSize& one : sizes) {
    for (const Speedup& speedup : one.verdict.speedups) {
      if (std::ranges::find(rivals, speedup.rival) == rivals.end()) rivals.push_back(speedup.rival);
    }
  }
  for (const std::string& rival : rivals) table.columns.push_back({"against " + rival, true});
  for (const TimedSize& one : sizes) {
    const Verdict& verdict = one.verdict;
    std::vector<std::string> row = {text_of_lengths(one.size.lengths), one.size.seen ? "seen" : "",
                                    verdict.time_ns ? time_text(*verdict.time_ns) : "",
                                    verdict.roof_fraction ? percent_text(*verdict.roof_fraction) : ""};
    for (const std::string& rival : rivals) {
      const auto speedup = std::ranges::find(verdict.speedups, rival, &Speedup::rival);
      row.push_back(speedup == verdict.speedups.end() ? "" : fmt::format("{:.2f}", speedup->median));
    }
    table.rows.push_back(std::move(row));
  }
  for (const OverFigure& figure : figures_over(sizes)) {
    table.notes.push_back(
        fmt::format("against {} on {} unseen sizes: {:.2f} times as fast in the median, {:.2f} at worst ({})",
                    figure.rival, figure.sizes, figure.median, figure.worst, text_of_lengths(figure.worst_at)));
  }
  return report::as_text(table);
}

Json over_as_json(const std::vector<OverRange>& over, const std::vector<TimedSize>& sizes) {
  Json json = {{"over", Json::object()}, {"sizes", Json::array()}, {"unseen", Json::object()}};
  for (const OverRange& range : over) json["over"][range.name] = {range.low, range.high};
  for (const TimedSize& one : sizes) {
    json["sizes"].push_back({{"lengths", one.size.lengths},
                             {"seen", one.size.seen},
                             {"verdict", Json::parse(judge::verdict_as_json(one.verdict))}});
  }
  for (const OverFigure& figure : figures_over(sizes)) {
    json["unseen"][figure.rival] = {
        {"sizes", figure.sizes}, {"median", figure.median}, {"worst", figure.worst}, {"worst_at", figure.worst_at}};
  }
  return json;
}

bool all_accepted(const std::vector<TimedSize>& sizes) {
  return std::ranges::all_of(sizes, [](const TimedSize& one) { return one.verdict.accepted(); });
}

std::string answer_over(const Task& task, const std::vector<OverRange>& over, const std::vector<TimedSize>& sizes,
                        bool as_json) {
  const bool all = all_accepted(sizes);
  if (as_json) {
    Json json = over_as_json(over, sizes);
    json["task"] = task.name;
    json["accepted"] = all;
    return json.dump() + "\n";
  }
  if (all) return fmt::format("{}  accepted at {} sizes\n\n{}", task.name, sizes.size(), over_as_text(sizes));
  std::ostringstream text;
  text << "at " << text_of_lengths(sizes.back().size.lengths) << ":\n";
  report::print_verdict(sizes.back().verdict, text);
  return text.str();
}

}  // namespace kw::runs
