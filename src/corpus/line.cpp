#include "corpus/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/random.h"
#include "corpus/prompt.h"

namespace kw::corpus {
namespace {

constexpr std::uint64_t kMostLineBytes = std::uint64_t{4} << 20;

// The keys that follow prompt and answer in all forms.
void add_facts(const Line& line, Json& json) {
  json["id"] = line.id;
  json["task"] = line.task;
  json["task_text"] = line.task_text;
  json["target"] = line.target;
  json["operators"] = line.operators;
  json["structure"] = line.structure;
  json["split"] = line.split;
  json["unseen"] = line.unseen.empty() ? Json() : Json(line.unseen);
  json["technique"] = line.technique.empty() ? Json() : Json(line.technique);
  json["speedup"] = {{"against", line.against},
                     {"median", line.median},
                     {"low", line.low},
                     {"high", line.high},
                     {"pairs", line.pairs}};
  json["time_ns"] = line.time_ns;
  json["judged_on"] = line.judged_on;
  json["judged_at"] = line.judged_at;
  json["origin"] = line.origin;
  json["licence"] = line.licence;
  json["form"] = kPromptForm;
}

Result<std::string> text_in(const Json& json, const char* name) {
  const Json* value = json.find(name);
  if (value == nullptr) return fail("\"{}\" is missing", name);
  if (!value->is_string()) return fail("\"{}\" is no text", name);
  return value->text();
}

// Prompt and answer of a line in any form.
struct Texts {
  LineForm form = LineForm::sft;
  std::string prompt;
  std::string answer;
};

Result<Texts> texts_of(const Json& json) {
  Texts texts;
  if (const Json* messages = json.find("messages")) {
    texts.form = LineForm::chat;
    if (!messages->is_array() || messages->size() != 2)
      return fail("\"messages\" is a list of a question and an answer");
    KW_TRY(texts.prompt, text_in(messages->at(0), "content"));
    KW_TRY(texts.answer, text_in(messages->at(1), "content"));
    return texts;
  }
  KW_TRY(texts.prompt, text_in(json, "prompt"));
  KW_TRY(texts.answer, text_in(json, "answer"));
  if (!json.contains("prefix") && !json.contains("suffix")) return texts;
  texts.form = LineForm::infill;
  KW_TRY(const std::string prefix, text_in(json, "prefix"));
  KW_TRY(const std::string suffix, text_in(json, "suffix"));
  texts.prompt += prefix + suffix;
  return texts;
}

// A file may hold any number of names of any length: what is kept of them is bounded.
void count(std::map<std::string, std::int64_t>& counts, const std::string& name) {
  constexpr std::size_t kMostBytes = 100, kMostNames = 10'000;
  const std::string known = name.substr(0, kMostBytes);
  ++counts[counts.size() < kMostNames || counts.contains(known) ? known : "others"];
}

Status take_line(const std::string& text, FileFacts& facts) {
  const Json json = Json::parse_quietly(text);
  if (json.is_discarded()) return fail("it is no JSON, or was cut off: {} bytes", text.size());
  if (!json.is_object()) return fail("it is no object");
  KW_TRY(const Texts texts, texts_of(json));
  if (texts.prompt.empty() || texts.answer.empty()) return fail("its prompt or its answer is empty");
  KW_TRY(const std::string licence, text_in(json, "licence"));
  KW_TRY([[maybe_unused]] const std::string origin, text_in(json, "origin"));
  KW_TRY(const std::string split, text_in(json, "split"));
  if (facts.lines > 0 && texts.form != facts.form)
    return fail("it has the form {}, and the lines before it {}", name_of(texts.form), name_of(facts.form));
  facts.form = texts.form;
  ++facts.lines;
  facts.prompt_bytes += std::ssize(texts.prompt);
  facts.answer_bytes += std::ssize(texts.answer);
  facts.longest_bytes = std::max(facts.longest_bytes, std::ssize(texts.prompt) + std::ssize(texts.answer));
  count(facts.licences, licence);
  count(facts.splits, split);
  if (const Json* operators = json.find("operators"); operators != nullptr && operators->is_array()) {
    for (const Json& one : *operators) {
      if (one.is_string()) count(facts.operators, one.text());
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(LineForm form) {
  switch (form) {
    case LineForm::sft:
      return "sft";
    case LineForm::infill:
      return "infill";
    case LineForm::chat:
      return "chat";
  }
  return "";
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

Result<std::vector<LineForm>> forms_named(const std::string& names) {
  const std::vector<LineForm> all = {LineForm::sft, LineForm::infill, LineForm::chat};
  const std::vector<std::string> named = names_in(names);
  if (named.empty() || names == "all") return all;
  std::vector<LineForm> wanted;
  for (const std::string& name : named) {
    const auto found = std::ranges::find(all, name, [](LineForm form) { return std::string(name_of(form)); });
    if (found == all.end())
      return fail("'{}' is no form of lines: say sft, infill, chat or all{}", name,
                  nearest_hint(name, {"sft", "infill", "chat", "all"}));
    wanted.push_back(*found);
  }
  return wanted;
}

Json json_of(const Line& line, LineForm form) {
  Json json = Json::object();
  if (form == LineForm::chat) {
    json["messages"] = Json::array({Json{{"role", "user"}, {"content", line.prompt}},
                                    Json{{"role", "assistant"}, {"content", "```cpp\n" + line.answer + "```\n"}}});
  } else {
    json["prompt"] = line.prompt;
    json["answer"] = line.answer;
  }
  add_facts(line, json);
  return json;
}

Json json_of(const Line& line, const Hole& hole) {
  Json json = {{"prompt", line.prompt},
               {"prefix", hole.prefix(line.answer)},
               {"answer", hole.middle(line.answer)},
               {"suffix", hole.suffix(line.answer)},
               {"hole", {{"kind", name_of(hole.kind)}, {"name", hole.name}, {"line", hole.first_line}}}};
  add_facts(line, json);
  return json;
}

std::vector<Hole> holes_for(const Line& line, const HoleRules& rules) {
  std::vector<Hole> all = holes_of(line.answer);
  std::erase_if(all, [&](const Hole& hole) { return hole.end - hole.begin < rules.shortest; });
  Random random(hash_of(line.answer, rules.seed + 1));
  random.shuffle(std::span(all));
  std::vector<Hole> chosen;
  for (const HoleKind kind : {HoleKind::function, HoleKind::loop, HoleKind::plan}) {
    std::size_t taken = 0;
    for (const Hole& hole : all) {
      if (hole.kind == kind && taken++ < rules.most) chosen.push_back(hole);
    }
  }
  return chosen;
}

Result<FileFacts> check_file(const std::filesystem::path& file) {
  KW_TRY(LineReader reader, LineReader::open(file, kMostLineBytes));
  FileFacts facts;
  std::string text;
  for (std::int64_t number = 1;; ++number) {
    const auto more = reader.next(text);
    if (!more.ok()) return fail("{}:{}: {}", file.string(), number, more.error().message);
    if (!*more) break;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (const Status taken = take_line(text, facts); !taken.ok())
      return fail("{}:{}: {}", file.string(), number, taken.error().message);
  }
  if (facts.lines == 0) return fail("{}: there is no line in it", file.string());
  return facts;
}

Json json_of(const FileFacts& facts) {
  return {{"form", name_of(facts.form)},          {"lines", facts.lines},
          {"prompt_bytes", facts.prompt_bytes},   {"answer_bytes", facts.answer_bytes},
          {"longest_bytes", facts.longest_bytes}, {"splits", facts.splits},
          {"licences", facts.licences},           {"operators", facts.operators}};
}

std::string text_of(const FileFacts& facts) {
  return fmt::format(
      "{} lines of the form {}\n  bytes      {} of prompts, {} of answers; the longest line {}\n  splits     {}\n"
      "  licences   {}\n  operators  {}: {}\n",
      facts.lines, name_of(facts.form), facts.prompt_bytes, facts.answer_bytes, facts.longest_bytes,
      counts_text(facts.splits, 4), counts_text(facts.licences, 4), facts.operators.size(),
      counts_text(facts.operators, 12));
}

std::string counts_text(const std::map<std::string, std::int64_t>& counts, std::size_t most) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, std::int64_t>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second);
  if (sorted.size() > most) text += fmt::format(", and {} more", sorted.size() - most);
  return text;
}

}  // namespace kw::corpus
