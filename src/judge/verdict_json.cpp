#include "judge/verdict_json.h"

#include "base/json.h"
#include "core/emulation.h"

namespace kw::judge {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// Records that are older than the codes have the sentence alone.
Reason reason_from(const Json& json) {
  if (!json.at("reason").is_string()) return {};
  const auto code = reason_code_named(json.value("reason_code", ""));
  if (!code) return {ReasonCode::other, {{"text", json.at("reason").text()}}};
  return {*code, json.value("reason_params", Json()), json.value("on_hidden_case", false)};
}

Json conditions_data(const Conditions& conditions) {
  Json slowed_by = Json::array();
  for (const std::string& why : conditions.slowed_by) slowed_by.push_back(why);
  return {{"slowest", conditions.slowest},
          {"mhz_least", or_null(conditions.mhz_least)},
          {"mhz_most", or_null(conditions.mhz_most)},
          {"celsius_first", or_null(conditions.celsius_first)},
          {"celsius_most", or_null(conditions.celsius_most)},
          {"pauses", conditions.pauses},
          {"paused_s", conditions.paused_s},
          {"slowed_by", std::move(slowed_by)}};
}

Conditions conditions_from(const Json& json) {
  return {.slowest = json.at("slowest"),
          .mhz_least = number_at(json, "mhz_least"),
          .mhz_most = number_at(json, "mhz_most"),
          .celsius_first = number_at(json, "celsius_first"),
          .celsius_most = number_at(json, "celsius_most"),
          .pauses = json.at("pauses"),
          .paused_s = json.at("paused_s"),
          .slowed_by = json.value("slowed_by", std::vector<std::string>())};
}

Json coverage_data(const Coverage& coverage) {
  Json json;
  json["shapes"] = coverage.shapes;
  json["cases"] = coverage.cases;
  json["lengths"] = Json::object();
  for (const auto& [name, range] : coverage.lengths) {
    json["lengths"][name] = {{"low", range.low}, {"high", range.high}, {"count", range.count}};
  }
  json["input_classes"] = Json::object();
  for (const auto& [name, count] : coverage.input_classes) json["input_classes"][name] = count;
  json["own_classes"] = Json::array();
  for (const std::string& name : coverage.own_classes) json["own_classes"].push_back(name);
  json["threads"] = Json::array();
  for (const int threads : coverage.threads) json["threads"].push_back(threads);
  json["placements"] = Json::array();
  for (const std::string& place : coverage.placements) json["placements"].push_back(place);
  json["instances"] = coverage.instances;
  json["calls_in_a_row"] = coverage.calls_in_a_row;
  json["neighbours"] = coverage.neighbours;
  json["timed_calls_verified"] = coverage.timed_calls_verified;
  return json;
}

Coverage coverage_from(const Json& json) {
  Coverage coverage;
  coverage.shapes = json.at("shapes");
  coverage.cases = json.at("cases");
  for (const auto& [name, range] : json.at("lengths").items()) {
    coverage.lengths[name] = {range.at("low"), range.at("high"), range.at("count")};
  }
  for (const auto& [name, count] : json.at("input_classes").items()) coverage.input_classes[name] = count;
  for (const Json& name : json.at("own_classes")) coverage.own_classes.push_back(name);
  for (const Json& threads : json.at("threads")) coverage.threads.insert(threads.get<int>());
  for (const Json& place : json.at("placements")) coverage.placements.push_back(place);
  coverage.instances = json.at("instances");
  coverage.calls_in_a_row = json.at("calls_in_a_row");
  coverage.neighbours = json.at("neighbours");
  coverage.timed_calls_verified = json.at("timed_calls_verified");
  return coverage;
}

}  // namespace

std::string verdict_as_json(const Verdict& verdict) {
  Json json;
  json["task"] = verdict.task;
  json["target"] = verdict.target;
  json["accepted"] = verdict.accepted();
  json["stage"] = name_of(verdict.stage);
  json["reason"] = verdict.reason.empty() ? Json(nullptr) : Json(text_of(verdict.reason));
  if (!verdict.reason.empty()) {
    json["reason_code"] = std::string(name_of(verdict.reason.code));
    json["reason_params"] = verdict.reason.params;
    json["on_hidden_case"] = verdict.reason.on_hidden_case;
  }
  json["errors"] = Json::array();
  for (const SourceError& error : verdict.errors) {
    json["errors"].push_back(
        {{"file", error.file}, {"line", error.line}, {"message", error.message}, {"around", error.around}});
  }
  json["max_error"] = verdict.max_error;
  json["time_ns"] = or_null(verdict.time_ns);
  json["caches"] = verdict.caches;
  if (verdict.warm_time_ns) json["warm_time_ns"] = *verdict.warm_time_ns;
  if (is_emulated(verdict.target)) json["speed_claimed"] = false;  // times say nothing of a real device
  json["speedup"] = Json::object();
  for (const Speedup& one : verdict.speedups) {
    json["speedup"][one.rival] = {
        {"median", one.median}, {"low", one.low}, {"high", one.high}, {"pairs", one.pairs}, {"claimed", one.claimed}};
    if (one.warm) {
      json["speedup"][one.rival]["warm"] = {
          {"median", one.warm->median}, {"low", one.warm->low}, {"high", one.warm->high}};
    }
    if (!one.called) continue;
    json["speedup"][one.rival]["called"] = {
        {"version", one.called->version}, {"median", one.called->median},
        {"low", one.called->low},         {"high", one.called->high},
        {"time_ns", one.called->time_ns}, {"overhead_ns", one.called->overhead_ns},
        {"apart", one.called->apart},     {"overhead_decides", one.called->overhead_decides()}};
  }
  json["left_out"] = Json::object();
  for (const LeftOut& one : verdict.left_out) {
    json["left_out"][one.rival] = {{"version", one.version}, {"why", one.why}};
    if (one.by_accident) json["left_out"][one.rival]["by_accident"] = true;
  }
  json["roof_fraction"] = or_null(verdict.roof_fraction);
  json["noise"] = or_null(verdict.noise);
  if (verdict.conditions) json["conditions"] = conditions_data(*verdict.conditions);
  json["isolation"] = verdict.isolation;
  json["varies"] = verdict.varies;
  if (!verdict.coverage.empty()) json["coverage"] = coverage_data(verdict.coverage);
  json["kept"] = verdict.kept;
  if (verdict.only_quick_check) json["only_quick_check"] = true;
  // What a compiler quotes of a source may be no UTF-8.
  return json.dump();
}

Result<Verdict> verdict_from_json(const std::string& text) {
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) return fail("not a verdict");
  try {
    Verdict verdict;
    verdict.task = json.at("task");
    verdict.target = json.at("target");
    verdict.stage = stage_named(json.at("stage").get<std::string>()).value_or(verdict.stage);
    verdict.reason = reason_from(json);
    for (const Json& error : json.at("errors")) {
      verdict.errors.push_back({error.at("file"), error.at("line"), error.at("message"), error.at("around")});
    }
    verdict.max_error = json.at("max_error");
    verdict.time_ns = number_at(json, "time_ns");
    verdict.caches = json.at("caches");
    verdict.warm_time_ns = number_at(json, "warm_time_ns");
    for (const auto& [rival, one] : json.at("speedup").items()) {
      Speedup& speedup = verdict.speedups.emplace_back();
      speedup.rival = rival;
      speedup.median = one.at("median");
      speedup.low = one.at("low");
      speedup.high = one.at("high");
      speedup.pairs = one.at("pairs");
      speedup.claimed = one.at("claimed");
      if (one.contains("warm")) {
        const Json& warm = one["warm"];
        speedup.warm = Ratio{.median = warm.at("median"), .low = warm.at("low"), .high = warm.at("high")};
      }
      if (!one.contains("called")) continue;
      const Json& called = one["called"];
      speedup.called = Called{called.at("version"),        called.at("median"),  called.at("low"),
                              called.at("high"),           called.at("time_ns"), called.at("overhead_ns"),
                              called.value("apart", false)};
    }
    for (const auto& [rival, one] : json.at("left_out").items()) {
      const std::string why = one.at("why");
      // Older records say it in words alone.
      verdict.left_out.push_back(
          {rival, one.at("version"), why, one.value("by_accident", why.starts_with("this time "))});
    }
    verdict.roof_fraction = number_at(json, "roof_fraction");
    verdict.noise = number_at(json, "noise");
    verdict.isolation = json.value("isolation", json.value("tier", std::string()));  // "tier" until November 2026
    if (json.contains("conditions")) verdict.conditions = conditions_from(json.at("conditions"));
    verdict.varies = json.at("varies");
    verdict.kept = json.at("kept");
    // Older records have none.
    if (json.contains("coverage")) verdict.coverage = coverage_from(json.at("coverage"));
    verdict.only_quick_check = json.value("only_quick_check", json.value("glanced", false));
    return verdict;
  } catch (const JsonError& error) {
    return fail("not a verdict: {}", error.what());
  }
}

}  // namespace kw::judge
