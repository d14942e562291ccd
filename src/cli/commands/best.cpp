// kw best: the best kernel for a task that was ever measured on this machine.
#include <fmt/format.h>

#include <ostream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "runs/machine.h"
#include "runs/ranking.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {
using runs::Ranking;
using store::AcceptedKernel;

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

void print(const std::string& name, const Ranking& ranking, const store::Store::Elsewhere& elsewhere,
           std::ostream& out) {
  const AcceptedKernel& best = ranking.best;
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
}

Result<int> run_best(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const auto store, look_into_store(arguments, out, "null"));
  if (!store) return kNo;
  const auto task = suites::find_task(arguments.text("TASK"));
  const std::string name = task.ok() ? task->name : arguments.text("TASK");
  KW_TRY(const std::string snapshot, runs::snapshot_meant(*store, name, task.ok() ? &*task : nullptr));
  if (snapshot.empty()) {
    KW_TRY(const std::vector<std::string> names, runs::recorded_tasks(*store));
    return fail("no kernel for '{}' was recorded in {}{}{}", name, store->folder().string(), nearest_hint(name, names),
                task.ok() ? fmt::format("; `kw optimize {}` searches one", name) : "");
  }
  KW_TRY(const std::string device, device_of(arguments));
  const std::string machine = runs::machine_identity(device);
  KW_TRY(auto accepted_kernels, store->accepted_kernels(snapshot, machine));
  KW_TRY(const auto elsewhere, store->elsewhere(name, snapshot, machine));
  if (accepted_kernels.empty()) {
    if (arguments.has("--source")) return fail("no kernel for {} was accepted and timed on this machine", name);
    if (arguments.has("--json")) {
      out << "null\n";
    } else {
      kw::print(out,
                "no kernel for {} was accepted and timed on this machine ({} on other machines, {} when the task was "
                "another one, {} never timed, {} imported or not judged by you)\n",
                name, elsewhere.other_machines, elsewhere.other_snapshots, elsewhere.untimed, elsewhere.foreign);
    }
    return kNo;
  }
  const Ranking ranking = runs::ranking_of(std::move(accepted_kernels));
  const AcceptedKernel& best = ranking.best;
  if (arguments.has("--source")) {
    KW_TRY(const std::string source, store->source(best.source_hash));
    std::ostream(exact_buffer(out)) << source;
    return kYes;
  }
  if (arguments.has("--json")) {
    Json json = json_of(best);
    json["task"] = name;
    json["compared"] = ranking.compared;
    json["ties"] = ranking.ties;
    json["by_time_alone"] = ranking.by_time_alone;
    json["not_compared"] = {{"other_terms", ranking.other_terms},
                            {"other_machines", elsewhere.other_machines},
                            {"other_snapshots", elsewhere.other_snapshots},
                            {"untimed", elsewhere.untimed},
                            {"foreign", elsewhere.foreign}};
    out << json.dump(2) << "\n";
  } else {
    print(name, ranking, elsewhere, out);
  }
  return kYes;
}

}  // namespace

Command best() {
  return {
      .name = "best",
      .summary = "shows the best kernel for a task that was measured on this machine",
      .description =
          "The accepted kernel of the record with the largest speed-up against the rival that it alternated with, "
          "among those that met the same version of that rival: times of different hours do not compare well. "
          "Winners over different rivals or versions are compared by time alone, and how many there are is said. "
          "Only kernels of this machine, of the task as it is now (or, if it was never judged so, as it was judged "
          "last) and under the terms of the newest measurement count; how many others there are is said too. Ties "
          "are kernels whose interval reaches into the best one's.\n\n"
          "--json prints one object: run, at, file, author, settings, source (its hash), time_ns, terms, "
          "roof_fraction, rival (null, or {name, version, median, low, high}), task, compared, ties, by_time_alone, "
          "not_compared {other_terms, other_machines, other_snapshots, untimed}; null where there is none.",
      .options = {{.name = "TASK", .help = "which task", .required = true, .completes = Completes::task},
                  target_option(),
                  {.name = "--source", .help = "print the kernel's source and nothing else"},
                  store_option(),
                  {.name = "--json", .help = "one JSON object instead of text"}},
      .examples = {"kw best Relu", "kw best Relu --json"},
      .run = run_best};
}

}  // namespace kw::cli::commands
