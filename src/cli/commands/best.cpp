// kw best: the best kernel for a task that was ever measured on this machine.
#include <fmt/format.h>

#include <ostream>

#include "base/nearest.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "core/settings_json.h"
#include "runs/case_record.h"
#include "runs/machine.h"
#include "runs/ranking.h"
#include "runs/ranking_text.h"
#include "runs/takeaway.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {
using runs::Ranking;
using store::AcceptedKernel;

// As much of the verdict as the ranking has.
Verdict verdict_on(const AcceptedKernel& best, const std::string& task) {
  Verdict verdict{.task = task, .stage = VerdictStage::accepted, .time_ns = best.time_ns};
  verdict.caches = runs::are_cold(best.terms) ? "cold" : "warm";
  verdict.roof_fraction = best.roof_fraction;
  if (!best.rival.empty()) {
    Speedup speedup{.rival = best.rival, .median = best.median, .low = best.low, .high = best.high};
    if (!best.version.empty()) speedup.called = Called{.version = best.version};
    speedup.claimed = best.low > 1 || best.high < 1;
    verdict.speedups.push_back(std::move(speedup));
  }
  return verdict;
}

Result<int> run_best(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const auto store, look_into_store(arguments, out, "null"));
  if (!store) return kNo;
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  const auto task = suites::find_task(arguments.text("TASK"), dims);
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
  if (arguments.has("--out")) {
    if (!task.ok()) return fail("--out needs the task itself: {}", task.error().message);
    KW_TRY(const auto folder, runs::new_folder(arguments.text("--out"), arguments.has("--force")));
    KW_TRY(const std::string source, store->source(best.source_hash));
    KW_TRY(const Settings settings, settings_from_json(best.settings));
    KW_TRY(const auto files, runs::take_away(folder, *task, {best.file, source}, settings, verdict_on(best, name),
                                             device, targets::facts_of(device).name));
    for (const auto& file : files) kw::print(out, "wrote          {}\n", file.string());
    return kYes;
  }
  if (arguments.has("--json")) {
    out << runs::ranking_as_json(name, ranking, elsewhere);
  } else {
    out << runs::ranking_as_text(name, ranking, elsewhere);
  }
  return kYes;
}

}  // namespace

Command best() {
  return {
      .name = "best",
      .topic = Topic::kernels,
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
                  dim_option(),
                  target_option(),
                  {.name = "--source", .help = "print the kernel's source and nothing else"},
                  {.name = "--out", .value = "DIR", .help = "write the kernel to take away into a new or empty folder"},
                  {.name = "--force", .help = "write into a folder in which there is something"},
                  store_option(),
                  {.name = "--json", .help = "one JSON object instead of text"}},
      .examples = {"kw best Relu", "kw best Relu --json"},
      .run = run_best};
}

}  // namespace kw::cli::commands
