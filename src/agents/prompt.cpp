#include "agents/prompt.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/nearest.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"contract", "oneshot", "refine", "debugger", "accelerator", "coder", "repair"};
constexpr std::uint64_t kMostPromptBytes = 64 << 10;

// Calls `each` with the text before a place and the place's name; at the end with the rest and "".
template <class F>
void walk(const std::string& text, F&& each) {
  std::size_t at = 0;
  for (std::size_t open; (open = text.find("{{", at)) != std::string::npos;) {
    const std::size_t close = text.find("}}", open);
    if (close == std::string::npos) break;
    each(text.substr(at, open - at), text.substr(open + 2, close - open - 2));
    at = close + 2;
  }
  each(text.substr(at), std::string());
}

int budget_of(const std::string& name) {
  for (const PromptSlot& place : all_slots()) {
    if (place.name == name) return place.most_tokens;
  }
  return 0;
}

}  // namespace

const std::vector<PromptSlot>& all_slots() {
  static const std::vector<PromptSlot> places = {
      {"contract", 1000},   {"task", 1000},    {"start", 40},    {"kernel", 8000}, {"verdict", 900}, {"plan", 1000},
      {"performance", 700}, {"history", 1200}, {"lessons", 400}, {"sources", 500}, {"problem", 300}};
  return places;
}

std::string cut_to(const std::string& text, int most_tokens) {
  const std::size_t most = static_cast<std::size_t>(most_tokens) * 4;
  if (text.size() <= most) return text;
  const std::string mark = "\n[... left out ...]\n";
  const std::size_t half = (most - mark.size()) / 2;
  return text.substr(0, half) + mark + text.substr(text.size() - half);
}

Result<Prompts> Prompts::open(const fs::path& own) {
  fs::path first = own;
  if (first.empty()) {
    if (const char* usual = std::getenv("KW_PROMPTS")) first = usual;
  }
  std::error_code error;
  if (!first.empty() && !fs::is_directory(first, error)) return fail("{}: is no folder of prompts", first.string());
  KW_TRY(const fs::path data, data_folder());
  Prompts prompts;
  std::vector<std::string> known;
  for (const PromptSlot& place : all_slots()) known.push_back(place.name);
  for (const std::string name : kNames) {
    const fs::path file =
        (!first.empty() && fs::exists(first / (name + ".md"), error) ? first : data / "prompts") / (name + ".md");
    KW_TRY(prompts.texts_[name], read_file(file, kMostPromptBytes));
    std::string unknown;
    walk(prompts.texts_[name], [&](const std::string&, const std::string& place) {
      if (!place.empty() && std::ranges::find(known, place) == known.end() && unknown.empty()) unknown = place;
    });
    if (!unknown.empty())
      return fail("{}: there is no fact '{}'{}", file.string(), unknown, nearest_hint(unknown, known));
  }
  return prompts;
}

std::string Prompts::text(const std::string& name, const Facts& facts) const {
  std::string filled;
  walk(texts_.at(name), [&](const std::string& before, const std::string& place) {
    filled += before;
    if (place.empty()) return;
    if (place == "contract") {
      filled += cut_to(texts_.at("contract"), budget_of(place));
      return;
    }
    const auto fact = facts.find(place);
    std::string value =
        fact == facts.end() || fact->second.empty() ? "(nothing)" : cut_to(fact->second, budget_of(place));
    while (value.ends_with('\n')) value.pop_back();
    filled += value;
  });
  return filled;
}

std::vector<std::string> Prompts::names() const { return {std::begin(kNames), std::end(kNames)}; }

std::vector<std::string> Prompts::places_of(const std::string& name) const {
  std::vector<std::string> places;
  walk(texts_.at(name), [&](const std::string&, const std::string& place) {
    if (!place.empty()) places.push_back(place);
  });
  return places;
}

}  // namespace kw::agents
