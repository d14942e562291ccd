#include "agents/round_record.h"

#include <cmath>

#include "base/json.h"
#include "core/settings_json.h"
#include "judge/verdict_json.h"
#include "store/seal.h"

namespace kw::agents {
namespace {

// Values beyond these limits are damage: no clock and no compiler gives them, and logarithms and sums stay finite.
constexpr double kMostRatio = 1e12;
constexpr double kMostFact = 1e6;

std::map<std::string, std::string> words_in(const Json& json) {
  std::map<std::string, std::string> words;
  if (!json.is_object()) return words;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) words[name] = value.get<std::string>();
  }
  return words;
}

Result<Round> round_of(const store::Store& store, const store::Recorded& one, const Json& label) {
  const std::string role_name = label.at("role");
  const std::optional<RoundRole> role = role_named(role_name);
  if (!role) return fail("item {} of the run has the role '{}', which this kw does not know", one.position, role_name);
  Round round{.number = label.at("round"), .role = *role};
  if (label.contains("from") && label["from"].is_number()) round.parent = label["from"];
  round.edits = label.value("edits", 0);
  round.performance = label.value("performance", "");
  round.tuning = label.value("tuning", "");
  round.niche = label.value("niche", "");
  round.hot = hot_lines_of(label);
  round.left_out = label.value("left_out", "");
  if (label.contains("facts") && label["facts"].is_object()) {
    for (const auto& [name, value] : label["facts"].items()) {
      if (value.is_number() && std::abs(value.get<double>()) <= kMostFact) round.facts[name] = value.get<double>();
    }
  }
  round.beside = comparison_of(label.value("beside", Json()));
  round.beside_now = comparison_of(label.value("beside_now", Json()));
  if (label.contains("taped")) round.taped = stage_named(label["taped"].text());
  if (label.contains("mended") && label["mended"].is_array()) {
    for (const Json& problem : label["mended"]) round.mended.push_back(problem.text());
  }
  round.problem = one.problem;
  if (!one.problem.empty()) {
    round.plan = words_in(label.value("plan", Json::object()));
    return round;
  }
  KW_TRY(const store::Candidate candidate, store.candidate(one.candidate_hash));
  round.source = candidate.source;
  round.plan = words_in(Json::parse_quietly(candidate.notes));
  KW_TRY(round.settings, settings_from_json(candidate.settings));
  KW_TRY(round.verdict, judge::verdict_from_json(one.json));
  return round;
}

}  // namespace

Json json_of(const Comparison& one) {
  Json json = {{"with", one.with}, {"median", one.median}, {"low", one.low}, {"high", one.high}, {"sure", one.sure}};
  if (one.taped) json["taped"] = true;
  return json;
}

std::optional<Comparison> comparison_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const Comparison one{.with = json.at("with"),
                       .median = json.at("median"),
                       .low = json.at("low"),
                       .high = json.at("high"),
                       .sure = json.at("sure"),
                       .taped = json.value("taped", false)};
  for (const double ratio : {one.median, one.low, one.high}) {
    if (!(ratio > 0 && ratio <= kMostRatio)) throw JsonError("a comparison's ratios are out of their range");
  }
  return one;
}

Json json_of(const Lines& lines) {
  Json json = Json::array();
  json.push_back(lines.first);
  json.push_back(lines.last);
  return json;
}

Lines hot_lines_of(const Json& json) {
  const Json* hot = json.find("hot");
  if (hot == nullptr || !hot->is_array() || hot->size() != 2 || !(*hot)[0].is_number() || !(*hot)[1].is_number())
    return {};
  const Lines lines{.first = (*hot)[0].get<int>(), .last = (*hot)[1].get<int>()};
  return lines.first > 0 && lines.last >= lines.first ? lines : Lines();
}

std::string label_of(const Round& round) {
  Json label = {{"round", round.number},
                {"role", name_of(round.role)},
                {"from", round.parent >= 0 ? Json(round.parent) : Json()},
                {"edits", round.edits}};
  if (!round.performance.empty()) label["performance"] = round.performance;
  if (round.beside) label["beside"] = json_of(*round.beside);
  if (round.beside_now) label["beside_now"] = json_of(*round.beside_now);
  if (round.taped) label["taped"] = name_of(*round.taped);
  if (!round.tuning.empty()) label["tuning"] = round.tuning;
  if (!round.niche.empty()) label["niche"] = round.niche;
  if (round.hot.first > 0) label["hot"] = json_of(round.hot);
  if (!round.left_out.empty()) label["left_out"] = round.left_out;
  if (!round.facts.empty()) label["facts"] = round.facts;
  if (!round.mended.empty()) label["mended"] = round.mended;
  if (!round.problem.empty() && !round.plan.empty()) label["plan"] = round.plan;
  return label.dump();
}

std::string notes_of(const Round& round) {
  return round.plan.empty() ? std::string(name_of(round.role)) : Json(round.plan).dump();
}

void add_to(std::vector<Round>& rounds, Round round) {
  const auto learned = round.plan.find("reflection");
  if (learned != round.plan.end() && !rounds.empty()) rounds.back().reflection = learned->second;
  rounds.push_back(std::move(round));
}

store::Purpose purpose_of(const Round& round) {
  switch (round.role) {
    case RoundRole::start:
      return store::Purpose::start;
    case RoundRole::confirm:
      return store::Purpose::confirm;
    default:
      return store::Purpose::search;
  }
}

Result<std::map<std::string, RecordedRounds>> recorded_rounds(const store::Store& store, std::int64_t run) {
  struct Kept {
    Round round;
    std::string candidate;
  };
  std::map<std::string, std::map<int, Kept>> kept;
  KW_CHECK(store.each_recorded(run, [&](const store::Recorded& one) -> Status {
    if (one.purpose == store::Purpose::confirm || (!one.judged && one.problem.empty())) return {};
    const Json label = Json::parse_quietly(one.label);
    try {
      KW_TRY(Round round, round_of(store, one, label));
      KW_TRY(const bool is_own, store::is_own_verdict(store.database(), one.item));
      if (round.beside && !is_own) round.beside->taped = true;  // as a statement that was not measured here
      kept[one.task_hash][round.number] = {round, one.candidate_hash};
    } catch (const JsonError&) {
      return fail("item {} of the run is no round: its label is damaged", one.position);
    }
    return {};
  }));
  std::map<std::string, RecordedRounds> all;
  for (auto& [task, rounds] : kept) {
    RecordedRounds& mine = all[task];
    Work standings;
    for (auto& [number, one] : rounds) {
      if (number != static_cast<int>(standings.rounds.size())) break;
      if (one.round.parent >= number) one.round.parent = -1;
      // A comparison with a round that is not there is damage.
      if (one.round.beside && (one.round.beside->with < 0 || one.round.beside->with >= number))
        one.round.beside.reset();
      add_to(standings.rounds, std::move(one.round));
      take_standing(standings.rounds.back(), standings);
      mine.candidates.push_back(std::move(one.candidate));
    }
    mine.rounds = std::move(standings.rounds);
  }
  return all;
}

}  // namespace kw::agents
