#include "runs/ranking_text.h"

#include <sstream>

#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "base/units.h"

namespace kw::runs {

using store::AcceptedKernel;

namespace {

Json json_of(const AcceptedKernel& one) {
  Json json = {{"run", fmt::format("r{}", one.run)},
               {"at", one.at},
               {"file", one.file},
               {"author", one.author},
               {"settings", Json::parse_quietly(one.settings)},
               {"source", one.source_hash},
               {"time_ns", one.time_ns},
               {"terms", one.terms},
               {"roof_fraction", one.roof_fraction ? Json(*one.roof_fraction) : Json(nullptr)},
               {"rival", nullptr}};
  if (!one.rival.empty()) {
    json["rival"] = {
        {"name", one.rival}, {"version", one.version}, {"median", one.median}, {"low", one.low}, {"high", one.high}};
  }
  return json;
}

}  // namespace

std::string ranking_as_text(const std::string& name, const Ranking& ranking, const store::Store::Elsewhere& elsewhere) {
  const AcceptedKernel& best = ranking.best;
  std::ostringstream out;
  kw::print(out, "{}  {}  of r{}, {}\n\n", name, best.file, best.run, best.at);
  kw::print(out, "  time      {} a call, {}{}\n", time_text(best.time_ns), best.terms,
            best.roof_fraction ? fmt::format(", {:.1f} % of the roof's speed", 100 * *best.roof_fraction) : "");
  if (!best.rival.empty()) {
    kw::print(out, "  speed     {:.3f} times as fast as {}  [{:.3f}, {:.3f}]\n  {:<9} {}\n", best.median, best.rival,
              best.low, best.high, best.rival, best.version);
  }
  if (best.settings != "{}") kw::print(out, "  settings  {}\n", best.settings);
  if (!best.author.empty()) kw::print(out, "  author    {}\n", best.author);
  kw::print(out, "  source    {}  (kw best {} --source prints it)\n\n", best.source_hash.substr(0, 16),
            shell_word(name));
  kw::print(out, "  the best of {} timed against {}\n", ranking.compared,
            best.rival.empty() ? "no rival, so not side by side" : "this version of " + best.rival);
  if (ranking.ties > 0) kw::print(out, "  {} of them cannot be told apart from it\n", ranking.ties);
  if (ranking.by_time_alone > 0) {
    kw::print(out, "  {} more met another rival or version: compared by time alone, not side by side\n",
              ranking.by_time_alone);
  }
  if (ranking.other_terms > 0) kw::print(out, "  {} not compared: timed under other terms\n", ranking.other_terms);
  if (elsewhere.other_machines > 0) kw::print(out, "  {} not compared: other machines\n", elsewhere.other_machines);
  if (elsewhere.other_snapshots > 0) {
    kw::print(out, "  {} not compared: the task was another one then\n", elsewhere.other_snapshots);
  }
  if (elsewhere.untimed > 0) kw::print(out, "  {} were never timed\n", elsewhere.untimed);
  if (elsewhere.foreign > 0) kw::print(out, "  {} not compared: imported, or not judged by you\n", elsewhere.foreign);
  return out.str();
}

std::string ranking_as_json(const std::string& name, const Ranking& ranking, const store::Store::Elsewhere& elsewhere) {
  Json json = json_of(ranking.best);
  json["task"] = name;
  json["compared"] = ranking.compared;
  json["ties"] = ranking.ties;
  json["by_time_alone"] = ranking.by_time_alone;
  json["not_compared"] = {{"other_terms", ranking.other_terms},
                          {"other_machines", elsewhere.other_machines},
                          {"other_snapshots", elsewhere.other_snapshots},
                          {"untimed", elsewhere.untimed},
                          {"foreign", elsewhere.foreign}};
  return json.dump(2) + "\n";
}

}  // namespace kw::runs
