#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace kw {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Smaller is nearer. A name that contains what was typed is near however long it is.
std::size_t distance(const std::string& wanted, const std::string& name) {
  if (!wanted.empty() && name.find(wanted) != std::string::npos) return 1;
  return edit_distance(wanted, name);
}

// Two letters in the wrong order are two mistakes. The dashes of a flag do not count as mistyped letters.
std::size_t most_mistakes(std::string_view typed) {
  const std::size_t letters = typed.size() - std::min(typed.size(), typed.find_first_not_of('-'));
  return letters <= 3 ? 1 : std::max<std::size_t>(2, letters / 3);
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       std::size_t most) {
  const std::string typed = lower(wanted);
  const std::size_t limit = most_mistakes(typed);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : names) {
    const std::size_t far = distance(typed, lower(name));
    if (far <= limit) ranked.emplace_back(far, name);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<std::string> result;
  for (const auto& [far, name] : ranked) {
    if (result.size() == most) break;
    result.push_back(name);
  }
  return result;
}

std::string nearest_hint(std::string_view wanted, const std::vector<std::string>& names) {
  std::string hint;
  for (const std::string& name : nearest_names(wanted, names)) hint += (hint.empty() ? "; nearest: " : ", ") + name;
  return hint;
}

}  // namespace kw
