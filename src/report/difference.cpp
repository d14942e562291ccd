#include "report/difference.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::report {
namespace {

constexpr std::size_t kMostLineBytes = 1000;

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Step {
  char kind;  // '+', '-' or ' '
  std::string_view line;
};

// Myers' algorithm ("An O(ND) difference algorithm and its variations", 1986): after d edits, how far can each diagonal
// be followed? Where the end is reached, the way back is the shortest. Empty: more than `most_edits` would be needed.
std::vector<Step> shortest(const Lines& before, const Lines& after, int most_edits) {
  const int n = static_cast<int>(before.size()), m = static_cast<int>(after.size());
  const auto same = [&](int x, int y) {
    return before[static_cast<std::size_t>(x)] == after[static_cast<std::size_t>(y)];
  };
  std::vector<std::vector<int>> reached;  // after d edits, of the diagonals -d .. d
  const auto at = [&](int d, int k) -> int {
    return reached[static_cast<std::size_t>(d)][static_cast<std::size_t>(k + d)];
  };
  // Whether diagonal k is entered by adding a line: from k + 1.
  const auto adds = [&](int d, int k) { return k == -d || (k != d && at(d - 1, k - 1) < at(d - 1, k + 1)); };
  int edits = 0;
  for (bool found = false; !found; ++edits) {
    if (edits > most_edits) return {};
    reached.emplace_back(static_cast<std::size_t>(2 * edits + 1), 0);
    for (int k = -edits; k <= edits && !found; k += 2) {
      int x = edits == 0 ? 0 : adds(edits, k) ? at(edits - 1, k + 1) : at(edits - 1, k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 && same(x, x - k)) ++x;
      reached.back()[static_cast<std::size_t>(k + edits)] = x;
      found = x >= n && x - k >= m;
    }
  }
  std::vector<Step> steps;
  int x = n, y = m;
  for (int d = edits - 1; d >= 0; --d) {
    const int k = x - y;
    const bool added = d > 0 && adds(d, k);
    const int from = d == 0 ? 0 : added ? at(d - 1, k + 1) : at(d - 1, k - 1) + 1;
    while (x > from) {
      --x, --y;
      steps.push_back({' ', before[static_cast<std::size_t>(x)]});
    }
    if (d == 0) break;
    if (added) {
      steps.push_back({'+', after[static_cast<std::size_t>(--y)]});
    } else {
      steps.push_back({'-', before[static_cast<std::size_t>(--x)]});
    }
  }
  std::ranges::reverse(steps);
  return steps;
}

std::vector<Step> rewritten(const Lines& before, const Lines& after) {
  std::vector<Step> steps;
  for (const std::string_view line : before) steps.push_back({'-', line});
  for (const std::string_view line : after) steps.push_back({'+', line});
  return steps;
}

std::string counted(std::size_t lines) { return fmt::format("@ {} line{}", lines, lines == 1 ? "" : "s"); }

}  // namespace

Difference difference_of(std::string_view before_text, std::string_view after_text, int context, int most_lines,
                         int most_edits) {
  Lines before = lines_of(before_text), after = lines_of(after_text);
  std::vector<Step> steps;
  // What both begin and end with needs no search.
  const auto [first_before, first_after] = std::ranges::mismatch(before, after);
  for (auto line = before.begin(); line != first_before; ++line) steps.push_back({' ', *line});
  const auto begin = first_before - before.begin();
  Lines tail;
  while (std::ssize(before) > begin && std::ssize(after) > begin && before.back() == after.back()) {
    tail.push_back(before.back());
    before.pop_back();
    after.pop_back();
  }
  const Lines middle_before(before.begin() + begin, before.end()), middle_after(after.begin() + begin, after.end());
  if (!middle_before.empty() || !middle_after.empty()) {
    std::vector<Step> middle = shortest(middle_before, middle_after, most_edits);
    if (middle.empty()) middle = rewritten(middle_before, middle_after);
    steps.insert(steps.end(), middle.begin(), middle.end());
  }
  for (auto line = tail.rbegin(); line != tail.rend(); ++line) steps.push_back({' ', *line});

  Difference difference;
  std::vector<bool> shown(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind == ' ') continue;
    ++(steps[i].kind == '+' ? difference.added : difference.removed);
    const std::size_t reach = static_cast<std::size_t>(context);
    for (std::size_t k = i - std::min(i, reach); k <= std::min(steps.size() - 1, i + reach); ++k) shown[k] = true;
  }
  if (difference.added + difference.removed == 0) return difference;
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!shown[i] || std::ssize(difference.lines) >= most_lines) {
      ++hidden;
      continue;
    }
    if (hidden > 0) difference.lines.push_back(counted(hidden));
    hidden = 0;
    difference.lines.push_back(steps[i].kind + std::string(steps[i].line.substr(0, kMostLineBytes)));
  }
  if (hidden > 0) difference.lines.push_back(counted(hidden));
  return difference;
}

}  // namespace kw::report
