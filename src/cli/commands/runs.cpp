// kw runs: what was recorded, and tidying it up.
#include <fmt/format.h>

#include <ostream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/store_folder.h"
#include "report/run_text.h"
#include "store/rescue.h"
#include "store/run_lock.h"

namespace kw::cli::commands {
namespace {

using namespace report;  // all that is said of a run

void print_json(const Json& json, std::ostream& out) { out << json.dump(2) << "\n"; }

Result<int> list(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const auto store, look_into_store(arguments, out));
  if (!store) return kNo;
  KW_TRY(const auto runs, store->runs());
  if (arguments.has("--json")) {
    Json list = Json::array();
    for (const store::RunSummary& run : runs) list.push_back(json_of(*store, run));
    print_json(list, out);
    return runs.empty() ? kNo : kYes;
  }
  if (runs.empty())
    out << "the record holds no run: `kw demo` or `kw optimize TASK` makes one\n";
  else
    print(out, "{:<6} {:<16} {:<34} {:<10} {:<10} {:<8} {}\n", "run", "began", "task", "author", "strategy", "state",
          "result");
  for (const store::RunSummary& run : runs) {
    print(out, "{:<6} {:<16} {:<34} {:<10} {:<10} {:<8} {}\n", run.name(), short_time(run.began_at),
          tasks_text(run, 34), cut_short(harmless(run.about.author), 10), cut_short(harmless(run.about.strategy), 10),
          state_of(*store, run).name, headline(run));
  }
  return runs.empty() ? kNo : kYes;
}

Result<int> show_as_json(const store::Store& store, const store::RunSummary& run, std::ostream& out) {
  Json json = json_of(store, run);
  json["rules"] = json_or_null(run.about.rules);
  KW_TRY(const auto events, store.events(run.id));
  for (const store::Event& event : events) {
    json["events"].push_back({{"at", event.at}, {"kind", name_of(event.kind)}, {"text", event.text}});
  }
  KW_TRY(const auto machines, machines_of(store, run.id));
  json["machine"] = Json::object();
  for (const auto& [id, machine] : machines) {
    json["machine"][std::to_string(id)] = {{"identity", machine.identity}, {"facts", json_or_null(machine.facts)}};
  }
  json["items"] = Json::array();
  KW_CHECK(store.each_recorded(run.id, [&](const store::Recorded& one) -> Status {
    json["items"].push_back(item_as_json(one));
    return {};
  }));
  print_json(json, out);
  return kYes;
}

// "": the newest.
Result<int> show(const Arguments& arguments, const std::string& named, std::ostream& out) {
  KW_TRY(const store::Store store, store::Store::open_existing(store_folder(arguments)));
  KW_TRY(const store::RunSummary run, named.empty() ? store.newest_run() : store.find_run(named));
  if (arguments.has("--json")) return show_as_json(store, run, out);
  const ShownState state = state_of(store, run);
  print(out, "{}  {}{}\n\n", run.name(), state.name, state.owner ? fmt::format(" (process {})", *state.owner) : "");
  print(out, "  command   {}\n  began     {}\n", harmless(run.about.command), run.began_at);
  for (const auto& [label, value] :
       {std::pair{"suite", run.about.suite}, {"author", run.about.author}, {"strategy", run.about.strategy}}) {
    if (!value.empty()) print(out, "  {:<9} {}\n", label, harmless(value));
  }
  print(out, "  task      {}\n", tasks_text(run, 80));
  if (run.about.strategy.empty()) print(out, "  done      {} of {}\n", run.done, run.planned);
  print(out, "  result    {}\n", headline(run));
  KW_TRY(const auto machines, machines_of(store, run.id));
  for (const auto& [id, machine] : machines)
    print(out, "  machine   {} ({})\n", harmless(machine.name), machine.identity.substr(0, 8));
  KW_TRY(const auto events, store.events(run.id));
  for (const store::Event& event : events) {
    print(out, "  {}  {}  {}\n", event.at, name_of(event.kind), cut_short(harmless(event.text), 80));
  }
  print(out, "\n");
  KW_CHECK(store.each_recorded(run.id, [&](const store::Recorded& one) -> Status {
    print(out, "{:>6}  {:<24} {:<20} {}\n", one.position, short_name(harmless(one.task), 24),
          short_name(harmless(one.file), 20), harmless(outcome_of(one)));
    return {};
  }));
  return kYes;
}

Result<int> remove_runs(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("RUN")) return fail("say which run: kw runs rm r1");
  KW_TRY(store::Store store, store::Store::open_existing(store_folder(arguments)));
  KW_TRY(const store::RunSummary run, store.find_run(arguments.text("RUN")));
  KW_TRY(const store::RunLock lock, store::RunLock::take(store.folder(), run.id));
  KW_CHECK(store.remove_run(run.id));
  print(out, "removed {}: {} verdicts, and the sources that no other run has\n", run.name(), run.done);
  return kYes;
}

Result<int> rescue(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("--out")) return fail("say where what is saved shall go: kw runs rescue --out DIR");
  KW_TRY(const store::Rescued rescued, store::rescue(store_folder(arguments), arguments.text("--out")));
  for (const store::Rescued::Table& table : rescued.tables) {
    print(out, "{:<10} {:>8} saved{}{}\n", table.name, table.saved, table.damaged ? "; others cannot be read" : "",
          table.dropped > 0 ? fmt::format("; {} rest on what is lost", table.dropped) : "");
  }
  print(out, "{} in {}: {} runs, {} verdicts; to look: kw runs --store {}\n",
        rescued.whole() ? "all of it is" : "what could be read is", arguments.text("--out"), rescued.runs,
        rescued.verdicts, arguments.text("--out"));
  return rescued.whole() ? kYes : kNo;
}

// "r3"
bool is_name_of_run(const std::string& word) {
  return word.size() > 1 && word[0] == 'r' && word.find_first_not_of("0123456789", 1) == std::string::npos;
}

Result<int> run_runs(const Arguments& arguments, std::ostream& out) {
  const std::string what = arguments.text("WHAT");
  if (what.empty()) return list(arguments, out);
  if (what == "show") return show(arguments, arguments.text("RUN"), out);
  if (what == "rm") return remove_runs(arguments, out);
  if (what == "rescue") return rescue(arguments, out);
  if (is_name_of_run(what) && !arguments.has("RUN")) return show(arguments, what, out);
  return fail("kw runs {}: say show, rm, rescue or nothing{}", what, nearest_hint(what, {"show", "rm", "rescue"}));
}

}  // namespace

Command runs() {
  return {
      .name = "runs",
      .topic = Topic::record,
      .summary = "lists the runs of the record; shows or removes one",
      .description =
          "kw runs lists them, the newest first: when each began, its tasks, author and strategy, its state, and what "
          "came of it: of a batch how many candidates were accepted, of a search for how many tasks it has a right "
          "kernel and how many candidates it tried; with the geometric mean of the accepted ones' speed-ups against "
          "the "
          "first rival. kw runs show RUN, or kw runs RUN, says all of one; of the newest where none is named. kw runs "
          "rm RUN removes it, with the sources that no other "
          "run has. kw runs rescue --out DIR saves what can be read of a damaged record into a new one.\n\n"
          "--json prints [{run, state (working, stopped, done), began_at, command, suite, author, strategy, done, "
          "total, accepted, task (the first), tasks, solved, timed, speedup, rival, machines, rival_changed}]; with "
          "show one such object, with "
          "rules, events, machine (by number) and items [{position, purpose, task, file, source, author, settings, "
          "build, id, problem, verdict, at, spent_s, terms, machine, rivals (versions by name)}].",
      .options = {{.name = "WHAT", .help = "show, rm or rescue; nothing lists"},
                  {.name = "RUN", .help = "which run, such as r3", .completes = Completes::run},
                  store_option(),
                  {.name = "--out",
                   .value = "DIR",
                   .help = "of rescue: the new record's folder",
                   .completes = Completes::file},
                  {.name = "--json", .help = "JSON instead of text"}},
      .examples = {"kw runs", "kw runs show r1"},
      .run = run_runs};
}

}  // namespace kw::cli::commands
