#include "report/kernel_words.h"

#include <algorithm>

#include "base/json.h"
#include "report/difference.h"
#include "report/json_parts.h"

namespace kw::report {
namespace {

constexpr int kMostGenerations = 1000;

Json object_of(const std::string& text) {
  Json json = Json::parse_quietly(text);
  return json.is_object() ? json : Json::object();
}

// A member that is an object, or an empty one.
// "TILE = 8, compiler = clang++": the settings that `after` has and `before` has not, or not so.
std::string new_settings(const Json& before, const Json& after) {
  std::string words;
  for (const auto& [name, value] : after.items()) {
    if (before.contains(name) && before[name] == value) continue;
    words += fmt::format("{}{} = {}", words.empty() ? "" : ", ", name,
                         value.is_string() ? value.get<std::string>() : value.dump());
  }
  return words;
}

std::string name_of_generation(int generation) {
  if (generation == 0) return "this kernel";
  return generation == 1 ? "its parent" : fmt::format("{} generations back", generation);
}

Json ratio_of(const Against& against, const Outcome& one, const store::Recorded& item, const Json& verdict) {
  const Json called = object_at(object_at(object_at(verdict, "speedup"), against.rival), "called");
  const auto measured = std::ranges::find(item.speedups, against.rival, &store::Recorded::Against::rival);
  return {{"rival", against.rival},
          {"version", against.version},
          {"median", against.median},
          {"low", against.low},
          {"high", against.high},
          {"pairs", measured == item.speedups.end() ? 0 : measured->pairs},
          {"claimed", against.claimed},
          {"time_ns", one.time_ns ? Json(*one.time_ns * against.median) : Json(nullptr)},
          {"called", called.empty() ? Json(nullptr) : called}};
}

}  // namespace

Result<Json> KernelWords::words_of(const Outcome& one, const store::Recorded& item,
                                   const std::map<std::string, std::string>& judged) {
  const Json verdict = object_of(item.json);
  KW_TRY(const store::Candidate candidate, store_.candidate(one.candidate_hash));
  Json best = {{"position", item.position},
               {"again", one.confirmed},
               {"file", one.file},
               {"author", one.author},
               {"notes", candidate.notes.substr(0, limits_.notes_bytes)},
               {"settings", object_of(one.settings)},
               {"build", object_of(item.build)},
               {"time_ns", or_null(one.time_ns)},
               {"terms", one.terms},
               {"noise", or_null(one.noise)},
               {"roof_fraction", or_null(one.roof_fraction)},
               {"max_error", verdict.value("max_error", Json(nullptr))}};
  best["rivals"] = Json::array();
  for (const Against& each : one.against) best["rivals"].push_back(ratio_of(each, one, item, verdict));
  const auto fastest = one.beside(kBest);
  best["fastest"] = fastest ? ratio_of(*fastest, one, item, verdict) : Json(nullptr);
  best["left_out"] = Json::array();
  for (const LeftOut& each : one.left_out) {
    best["left_out"].push_back({{"rival", each.rival}, {"version", each.version}, {"why", each.why}});
  }
  add_source(best, candidate);
  KW_CHECK(add_ancestors(best, candidate, one.candidate_hash, judged));
  return best;
}

void KernelWords::add_source(Json& best, const store::Candidate& candidate) {
  best["source"] = nullptr;
  best["source_left_out"] = "";
  if (candidate.source.size() > limits_.source_bytes) {
    best["source_left_out"] = fmt::format("it has {} bytes", candidate.source.size());
  } else if (!sources_.spend(candidate.source.size())) {
    best["source_left_out"] = "to keep this file small";
  } else {
    best["source"] = candidate.source;
  }
}

// From the kernel back along its first parents, each with its difference from the next.
Status KernelWords::add_ancestors(Json& best, store::Candidate child, std::string hash,
                                  const std::map<std::string, std::string>& judged) {
  best["ancestors"] = Json::array();
  best["more_ancestors"] = 0;
  if (child.parents.empty()) return {};
  for (int generation = 0; generation < limits_.ancestors; ++generation) {
    const auto known = judged.find(hash);
    Json entry = {{"what", name_of_generation(generation)},
                  {"judged", known == judged.end() ? "" : known->second},
                  {"author", child.author},
                  {"file", child.file},
                  {"notes", child.notes.substr(0, limits_.notes_bytes)},
                  {"settings", ""},
                  {"difference", nullptr},
                  {"difference_words", ""}};
    if (child.parents.empty()) {
      best["ancestors"].push_back(std::move(entry));
      return {};
    }
    if (child.parents.size() > 1) {
      entry["what"] = fmt::format("{}, of {} parents", name_of_generation(generation), child.parents.size());
    }
    hash = child.parents.front();
    KW_TRY(store::Candidate parent, store_.candidate(hash));
    entry["settings"] = new_settings(object_of(parent.settings), object_of(child.settings));
    add_difference(entry, parent.source, child.source);
    best["ancestors"].push_back(std::move(entry));
    child = std::move(parent);
  }
  KW_TRY(best["more_ancestors"], generations_from(std::move(child)));
  return {};
}

void KernelWords::add_difference(Json& entry, const std::string& before, const std::string& after) {
  const Difference difference = difference_of(before, after);
  std::string words = difference.lines.empty() ? "the same source as its parent"
                                               : fmt::format("against its parent: {} added, {} removed",
                                                             difference.added, difference.removed);
  std::size_t bytes = 0;
  for (const std::string& line : difference.lines) bytes += line.size() + 4;
  const bool fits = differences_.spend(bytes);
  entry["difference"] = fits ? Json(difference.lines) : Json::array();
  entry["difference_words"] = fits ? words : words + " (left out to keep this file small)";
}

Result<int> KernelWords::generations_from(store::Candidate one) const {
  int count = 1;
  while (!one.parents.empty() && count < kMostGenerations) {
    KW_TRY(one, store_.candidate(one.parents.front()));
    ++count;
  }
  return count;
}

}  // namespace kw::report
