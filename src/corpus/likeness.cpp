#include "corpus/likeness.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>

#include "base/hash.h"

namespace kw::corpus {
namespace {

constexpr std::size_t kRun = 5;
constexpr std::size_t kBands = 32;
constexpr std::size_t kRows = 4;

std::uint64_t mixed(std::uint64_t value, std::uint64_t salt) {
  value += 0x9E3779B97F4A7C15ull * (salt + 1);
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

std::vector<std::uint64_t> tokens_of(std::string_view text) {
  std::vector<std::uint64_t> tokens;
  const auto is_word_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (std::isspace(static_cast<unsigned char>(c))) {
      at = end;
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      while (end < text.size() && (is_word_part(text[end]) || text[end] == '.')) ++end;
      tokens.push_back(0);
    } else {
      if (is_word_part(c)) {
        while (end < text.size() && is_word_part(text[end])) ++end;
      }
      tokens.push_back(hash_of(text.substr(at, end - at)));
    }
    at = end;
  }
  return tokens;
}

}  // namespace

Runs runs_of(std::string_view text) {
  const std::vector<std::uint64_t> tokens = tokens_of(text);
  Runs runs;
  for (std::size_t i = 0; i < tokens.size() && (i == 0 || i + kRun <= tokens.size()); ++i) {
    std::uint64_t hash = 0;
    for (std::size_t k = i; k < std::min(i + kRun, tokens.size()); ++k) hash = mixed(hash ^ tokens[k], k - i);
    runs.push_back(hash);
  }
  std::ranges::sort(runs);
  runs.erase(std::ranges::unique(runs).begin(), runs.end());
  return runs;
}

double likeness(const Runs& a, const Runs& b) {
  if (a.empty() && b.empty()) return 1;
  std::size_t common = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i] == b[k]) ++common;
    const bool left = a[i] <= b[k], right = b[k] <= a[i];
    i += left;
    k += right;
  }
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

Likenesses::Answer Likenesses::add(Runs runs) {
  bands_.resize(kBands);
  std::array<std::uint64_t, kBands> hashes{};
  for (std::size_t band = 0; band < kBands; ++band) {
    for (std::size_t row = 0; row < kRows; ++row) {
      std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
      for (const std::uint64_t run : runs) least = std::min(least, mixed(run, 1 + band * kRows + row));
      hashes[band] = mixed(hashes[band] ^ least, row);
    }
  }
  std::vector<std::size_t> candidates;
  for (std::size_t band = 0; band < kBands; ++band) {
    const auto [first, last] =
        std::ranges::equal_range(bands_[band], hashes[band], {}, &std::pair<std::uint64_t, std::size_t>::first);
    for (const auto& one : std::ranges::subrange(first, last)) candidates.push_back(one.second);
  }
  std::ranges::sort(candidates);
  candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
  for (const std::size_t number : candidates) {
    if (likeness(kept_[number], runs) >= least_) return {.number = number, .is_new = false};
  }
  const std::size_t number = kept_.size();
  for (std::size_t band = 0; band < kBands; ++band) {
    auto& sorted = bands_[band];
    const std::pair<std::uint64_t, std::size_t> entry = {hashes[band], number};
    sorted.insert(std::ranges::upper_bound(sorted, entry), entry);
  }
  kept_.push_back(std::move(runs));
  return {.number = number, .is_new = true};
}

}  // namespace kw::corpus
