#include "agents/prompt.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "base/nearest.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"contract",    "contract_cuda", "oneshot", "refine",     "debugger",
                                  "accelerator", "coder",         "repair",  "code_again", "mend",
                                  "shown",       "look",          "vary",    "sample",     "infill"};
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

// Without the sections of facts that are not there, and without the marks of those that are.
std::string with_sections(std::string text, const Facts& facts) {
  for (std::size_t open; (open = text.find("{{#")) != std::string::npos;) {
    const std::size_t close = text.find("}}", open);
    if (close == std::string::npos) break;
    const std::string name = text.substr(open + 3, close - open - 3);
    const std::string end_mark = "{{/" + name + "}}";
    const std::size_t end = text.find(end_mark, close);
    // A line that holds nothing but a mark goes with it.
    const auto after = [&](std::size_t at) { return at < text.size() && text[at] == '\n' ? at + 1 : at; };
    if (end == std::string::npos) {
      text.erase(open, after(close + 2) - open);
      continue;
    }
    const auto fact = facts.find(name);
    if (fact == facts.end() || fact->second.empty()) {
      text.erase(open, after(end + end_mark.size()) - open);
    } else {
      text.erase(end, after(end + end_mark.size()) - end);
      text.erase(open, after(close + 2) - open);
    }
  }
  return text;
}

// The texts of the program's own files that facts are made of.
Result<std::string> fillings_in(const fs::path& data) {
  std::vector<fs::path> files = {data / "prompts" / "hints.md", data / "prompts" / "hints_cuda.md",
                                 data / "prompts" / "parts.md"};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data / "kernels" / "exemplars", error))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::string all;
  for (const fs::path& file : files) {
    KW_TRY(const std::string text, read_file(file, kMostPromptBytes));
    all += text + '\0';
  }
  return all;
}

// "#task" and "/task" are the marks of a section.
std::string fact_of(const std::string& place) {
  return place.starts_with('#') || place.starts_with('/') ? place.substr(1) : place;
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
      {"contract", 1250}, {"machine", 350}, {"task", 1000},       {"start", 40},         {"kernel", 8000},
      {"verdict", 1200},  {"plan", 1000},   {"performance", 900}, {"history", 1500},     {"lessons", 1200},
      {"parts", 900},     {"hints", 300},   {"exemplar", 900},    {"exemplar_task", 30}, {"rivals", 150},
      {"sources", 1500},  {"problem", 500}, {"shown", 1600},      {"left", 10},          {"look", 150},
      {"other", 4000},    {"wish", 300},    {"prompt", 1500},     {"prefix", 4000},      {"suffix", 4000},
      {"hole", 2000},     {"cited", 620},   {"other_stands", 60}, {"base", 40},          {"parts_named", 350}};
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
    walk(prompts.texts_[name], [&](const std::string&, const std::string& mark) {
      const std::string place = fact_of(mark);
      if (!place.empty() && std::ranges::find(known, place) == known.end() && unknown.empty()) unknown = place;
    });
    if (!unknown.empty())
      return fail("{}: there is no fact '{}'{}", file.string(), unknown, nearest_hint(unknown, known));
  }
  KW_TRY(prompts.fillings_, fillings_in(data));
  return prompts;
}

std::string Prompts::text(const std::string& name, const Facts& facts) const {
  std::string filled;
  walk(with_sections(texts_.at(name), facts), [&](const std::string& before, const std::string& place) {
    filled += before;
    if (place.empty()) return;
    // Texts that several prompts have in common.
    if (place == "contract" || place == "look") {
      const auto form = facts.find("form");
      const auto own = form == facts.end() ? texts_.end() : texts_.find(place + "_" + form->second);
      std::string shared = cut_to(own != texts_.end() ? own->second : texts_.at(place), budget_of(place));
      while (shared.ends_with('\n')) shared.pop_back();
      filled += shared;
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

std::string Prompts::version() const {
  std::string all;
  for (const auto& [name, text] : texts_) all += name + '\0' + text + '\0';
  all += fillings_;
  return fmt::format("{:016x}", hash_of(all));
}

std::vector<std::string> Prompts::names() const { return {std::begin(kNames), std::end(kNames)}; }

std::vector<std::string> Prompts::places_of(const std::string& name) const {
  std::vector<std::string> places;
  walk(texts_.at(name), [&](const std::string&, const std::string& place) {
    if (!place.empty() && !place.starts_with('#') && !place.starts_with('/')) places.push_back(place);
  });
  return places;
}

}  // namespace kw::agents
