#include "report/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/terminal.h"
#include "report/letters.h"

namespace kw::report {
namespace {

constexpr int kLongestBar = 40;
constexpr int kShortestBar = 5;

// Cut to this number of letters, without control characters.
std::string cut(const std::string& text, int most) {
  std::string kept;
  int letters = 0;
  for (const char c : fit_for_a_line(text)) {
    if (!continues_a_letter(c) && ++letters > most) break;
    kept += c;
  }
  return kept;
}

std::string rate_text(double a_second) {
  if (a_second >= 1) return fmt::format("{:.1f}/s", a_second);
  if (a_second * 60 >= 1) return fmt::format("{:.1f}/min", a_second * 60);
  return fmt::format("{:.1f}/h", a_second * 3600);
}

// 0 to 1; none where neither an end nor a budget is known.
std::optional<double> share_of(const Tally& tally) {
  if (tally.plan.total > 0) {
    return std::clamp(static_cast<double>(tally.done) / static_cast<double>(tally.plan.total), 0.0, 1.0);
  }
  if (tally.plan.budget_s) return std::clamp(tally.elapsed_s / *tally.plan.budget_s, 0.0, 1.0);
  return std::nullopt;
}

std::string bar(double share, int width) {
  const int full = static_cast<int>(share * width);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '-') + "]";
}

std::string count_text(const Tally& tally) {
  if (tally.plan.total > 0) return fmt::format("{}/{} {}", tally.done, tally.plan.total, tally.plan.unit);
  const std::string& units = tally.plan.unit;
  return fmt::format("{} {}", tally.done,
                     tally.done == 1 && units.ends_with("s") ? units.substr(0, units.size() - 1) : units);
}

// "build 3, verify 1"
std::string errors_text(const Tally& tally) {
  std::string text;
  for (const auto& [kind, count] : tally.errors) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, count);
  return text;
}

std::string quick_checked_text(const Tally& tally) {
  return tally.quick_checked > 0 ? fmt::format(", {} passed the quick check", tally.quick_checked) : "";
}

// What a search did so far, which its bar does not count.
std::string tried_text(const Tally& tally) {
  if (tally.quick_checked == 0) return "";
  return fmt::format("{} {}, {} passed the quick check", tally.judged - tally.accepted,
                     tally.judged - tally.accepted == 1 ? "candidate" : "candidates", tally.quick_checked);
}

// The geometric mean of the best accepted ones of each task; empty where only one task has one.
std::string mean_text(const Tally& tally) {
  double sum_of_logs = 0;
  int tasks = 0;
  for (const auto& [task, best] : tally.best) {
    if (best.is_passing) continue;
    sum_of_logs += std::log(best.speedup);
    ++tasks;
  }
  return tasks < 2 ? "" : fmt::format("{:.2f} x in the mean of {} tasks", std::exp(sum_of_logs / tasks), tasks);
}

std::string newest_text(const Tally& tally) {
  const auto newest = tally.best.find(tally.newest_best);
  if (newest == tally.best.end()) return "";
  return fmt::format("{} {:.2f} x {}", newest->first, newest->second.speedup, newest->second.rival);
}

std::string best_text(const Tally& tally) {
  const std::string mean = mean_text(tally);
  return mean.empty() ? newest_text(tally) : newest_text(tally) + "; " + mean;
}

std::string best_at_the_end(const Tally& tally) {
  if (tally.best.empty()) return "";
  const std::string mean = mean_text(tally);
  return "; best " + (mean.empty() ? newest_text(tally) : mean);
}

std::string running_text(const Tally& tally) {
  if (tally.running.empty()) return "";
  const Tally::Running& oldest = tally.running.front();
  std::string text = oldest.what;
  if (oldest.for_s >= 1) text += fmt::format(", {:.0f} s", oldest.for_s);
  if (tally.running.size() > 1) text += fmt::format("; and {} more", tally.running.size() - 1);
  return text;
}

std::string first_line(const Tally& tally, int width) {
  const std::string title = tally.plan.title.empty() ? "" : tally.plan.title + "  ";
  std::string rest = count_text(tally);
  if (const auto rate = tally.rate()) rest += "  " + rate_text(*rate);
  if (const auto left_s = tally.left_s(); left_s && *left_s >= 0.5) rest += "  " + duration_text(*left_s) + " left";
  const auto share = share_of(tally);
  const int room = width - letters_of(title) - letters_of(rest) - 4;  // its brackets and the space behind it
  if (!share || room < kShortestBar) return title + rest;
  return title + bar(*share, std::min(room, kLongestBar)) + "  " + rest;
}

}  // namespace

bool Tally::count(const std::string& task, const Verdict& verdict) {
  ++judged;
  if (verdict.stage == VerdictStage::quick_check) {
    ++quick_checked;
    return false;
  }
  if (!verdict.accepted()) {
    ++errors[std::string(name_of(verdict.stage))];
    return false;
  }
  ++accepted;
  if (verdict.speedups.empty()) return false;
  const Speedup& hardest = *std::ranges::min_element(verdict.speedups, {}, &Speedup::median);
  Best& so_far = best[task];
  if (hardest.median <= so_far.speedup && !so_far.is_passing) return false;
  so_far = {hardest.median, hardest.rival};
  newest_best = task;
  return true;
}

bool Tally::count_passing(const std::string& task, double speedup, const std::string& rival) {
  Best& so_far = best[task];
  if (speedup <= so_far.speedup) return false;
  so_far = {speedup, rival, true};
  newest_best = task;
  return true;
}

std::optional<double> Tally::rate() const {
  const std::int64_t now = done - plan.done;
  if (now <= 0 || elapsed_s <= 0) return std::nullopt;
  return static_cast<double>(now) / elapsed_s;
}

std::optional<double> Tally::left_s() const {
  std::optional<double> left;
  if (plan.budget_s) left = std::max(0.0, *plan.budget_s - elapsed_s);
  if (const auto each = rate(); each && plan.total > 0) {
    const double by_count = static_cast<double>(std::max<std::int64_t>(0, plan.total - done)) / *each;
    left = left ? std::min(*left, by_count) : by_count;
  }
  return left;
}

std::vector<std::string> live_block(const Tally& tally, int width, int height) {
  // The last column stays free: a letter there makes some terminals begin a new line.
  const int most = std::max(1, width - 1);
  std::vector<std::string> lines = {first_line(tally, most)};
  for (const auto& [label, text] : {std::pair{"best", best_text(tally)},
                                    {"now", running_text(tally)},
                                    {"tried", tried_text(tally)},
                                    {"errors", errors_text(tally)}}) {
    if (!text.empty()) lines.push_back(fmt::format("  {:<7} {}", label, text));
  }
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(std::max(1, height))));
  for (std::string& line : lines) line = cut(line, most);
  return lines;
}

std::string plain_line(const Tally& tally) {
  std::string text = fmt::format("{} of {} {}", tally.done, tally.plan.total, tally.plan.unit);
  if (tally.plan.total == 0) text = count_text(tally);
  if (const auto rate = tally.rate()) text += ", " + rate_text(*rate);
  if (const auto left_s = tally.left_s(); left_s && *left_s >= 0.5) text += ", " + duration_text(*left_s) + " left";
  text += fmt::format("; {} accepted", tally.accepted) + quick_checked_text(tally);
  if (!tally.errors.empty()) text += ", " + errors_text(tally);
  return cut(text + best_at_the_end(tally), 1000);
}

std::string summary(const Tally& tally, const std::string& state) {
  std::string text = tally.plan.title.empty() ? "" : tally.plan.title + " ";
  text += state + ": ";
  text += tally.plan.total > 0 ? fmt::format("{} of {} {}", tally.done, tally.plan.total, tally.plan.unit)
                               : count_text(tally);
  text += fmt::format(" in {}", duration_text(tally.elapsed_s));
  if (tally.plan.done > 0) text += fmt::format(" ({} of them before)", tally.plan.done);
  if (tally.judged > 0) {
    text += fmt::format("; {} of {} accepted", tally.accepted, tally.judged - tally.quick_checked) +
            quick_checked_text(tally);
  }
  if (!tally.errors.empty()) text += ", " + errors_text(tally);
  return cut(text + best_at_the_end(tally), 1000);
}

std::string duration_text(double s) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::clamp(s, 0.0, 1e9)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace kw::report
