// kw runs: what was recorded, and tidying it up.
#include <fmt/format.h>

#include <map>
#include <ostream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/store_folder.h"
#include "store/rescue.h"
#include "store/run_lock.h"

namespace kw::cli::commands {
namespace {

Json parsed(const std::string& text) {
  Json json = Json::parse_quietly(text);
  return json.is_discarded() ? Json(nullptr) : json;
}

// Names and reasons come from others: no letter of theirs steers the terminal, and a table's row stays one.
std::string harmless(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
  }
  return text;
}

std::string cut(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// "2026-01-31 12:00"
// "2026-01-31 12:00"; what is no time of the record's form is shown as it is, cut.
std::string short_time(const std::string& at) {
  if (at.size() < 16) return at;
  return at.substr(0, 10) + " " + at.substr(11, 5);
}

struct State {
  std::string name;  // "working", or what is recorded; a run that nobody works on and that is not done is stopped
  std::optional<int> owner;
};

State state_of(const store::Store& store, const store::RunSummary& run) {
  const auto owner = store::RunLock::owner(store.folder(), run.id);
  if (owner) return {"working", owner};
  return {run.is_done() ? "done" : "stopped", std::nullopt};
}

// A name that is too long loses its middle: names of one family differ at their ends.
std::string short_name(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  const std::size_t start = (most - 3) * 2 / 5;
  return name.substr(0, start) + "..." + name.substr(name.size() - (most - 3 - start));
}

// "Relu", or "Relu and 3 more": of a search that has judged nothing yet, what it set out for.
std::string tasks_text(const store::RunSummary& run, std::size_t most) {
  std::string first = run.first_task;
  std::int64_t count = run.tasks;
  if (count == 0) {
    const Json rules = parsed(run.about.rules);
    const Json tasks = rules.is_object() && rules.contains("tasks") ? rules["tasks"] : Json(nullptr);
    if (!tasks.is_array() || tasks.empty() || !tasks[0].is_object()) return "-";
    first = tasks[0].value("name", "");
    count = static_cast<std::int64_t>(tasks.size());
  }
  const std::string more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
  return short_name(harmless(first), most - more.size()) + more;
}

// A search tries many and judges the best of each task: what it did not judge is no failure.
std::string outcome_text(const store::RunSummary& run) {
  if (run.about.strategy.empty()) return fmt::format("{} of {} accepted", run.accepted, run.planned);
  const std::string tried = fmt::format("{} tried", run.done - run.accepted);
  if (run.tasks <= 1) return (run.solved > 0 ? "a right kernel, " : "no right kernel yet, ") + tried;
  return fmt::format("right kernels for {} of {} tasks, {}", run.solved, run.tasks, tried);
}

// What does not compare is never put into one number without saying so.
std::string headline(const store::RunSummary& run) {
  std::string text = outcome_text(run);
  if (!run.speedup) return text;
  text += fmt::format(", {:.2f} x {}", *run.speedup, run.rival);
  if (run.machines > 1) text += fmt::format(" (over {} machines: not one measure)", run.machines);
  if (run.rival_changed) text += " (over several versions of it: not one measure)";
  return text;
}

Json json_of(const store::Store& store, const store::RunSummary& run) {
  return {{"run", run.name()},
          {"state", state_of(store, run).name},
          {"began_at", run.began_at},
          {"command", run.about.command},
          {"suite", run.about.suite},
          {"author", run.about.author},
          {"strategy", run.about.strategy},
          {"done", run.done},
          {"total", run.planned},
          {"accepted", run.accepted},
          {"task", run.first_task.empty() ? Json(nullptr) : Json(run.first_task)},
          {"tasks", run.tasks},
          {"solved", run.solved},
          {"timed", run.timed},
          {"speedup", run.speedup ? Json(*run.speedup) : Json(nullptr)},
          {"rival", run.rival.empty() ? Json(nullptr) : Json(run.rival)},
          {"machines", run.machines},
          {"rival_changed", run.rival_changed}};
}

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
          tasks_text(run, 34), cut(harmless(run.about.author), 10), cut(harmless(run.about.strategy), 10),
          state_of(*store, run).name, headline(run));
  }
  return runs.empty() ? kNo : kYes;
}

// The machines that a run's verdicts come from, by id.
Result<std::map<std::int64_t, store::Machine>> machines_of(const store::Store& store, std::int64_t run) {
  std::map<std::int64_t, store::Machine> machines;
  const auto add = [&](const store::Recorded& one) -> Status {
    if (!one.judged || machines.contains(one.machine)) return {};
    KW_TRY(machines[one.machine], store.machine(one.machine));
    return {};
  };
  KW_CHECK(store.each_recorded(run, add));
  return machines;
}

Json item_as_json(const store::Recorded& one) {
  Json json = {{"position", one.position},
               {"purpose", store::name_of(one.purpose)},
               {"task", one.task},
               {"file", one.file},
               {"source", one.source_hash},
               {"author", one.author},
               {"settings", parsed(one.settings)},
               {"build", parsed(one.build)},
               {"id", parsed(one.label)},
               {"problem", one.problem.empty() ? Json(nullptr) : Json(one.problem)},
               {"verdict", nullptr}};
  if (!one.judged) return json;
  json["verdict"] = parsed(one.json);
  json["at"] = one.at;
  json["spent_s"] = one.spent_s;
  json["terms"] = one.terms;
  json["machine"] = one.machine;
  json["rivals"] = Json::object();
  for (const store::Recorded::Against& each : one.speedups) json["rivals"][each.rival] = each.version;
  return json;
}

Result<int> show_as_json(const store::Store& store, const store::RunSummary& run, std::ostream& out) {
  Json json = json_of(store, run);
  json["rules"] = parsed(run.about.rules);
  KW_TRY(const auto events, store.events(run.id));
  for (const store::Event& event : events) {
    json["events"].push_back({{"at", event.at}, {"kind", name_of(event.kind)}, {"text", event.text}});
  }
  KW_TRY(const auto machines, machines_of(store, run.id));
  json["machine"] = Json::object();
  for (const auto& [id, machine] : machines) {
    json["machine"][std::to_string(id)] = {{"identity", machine.identity}, {"facts", parsed(machine.facts)}};
  }
  json["items"] = Json::array();
  KW_CHECK(store.each_recorded(run.id, [&](const store::Recorded& one) -> Status {
    json["items"].push_back(item_as_json(one));
    return {};
  }));
  print_json(json, out);
  return kYes;
}

std::string outcome_of(const store::Recorded& one) {
  if (!one.problem.empty()) return cut("not judged: " + one.problem, 60);
  if (!one.judged) return "open";
  if (stage_named(one.stage) == VerdictStage::quick_check) return "passed the quick check";
  if (!one.accepted) {
    const Json verdict = parsed(one.json);
    const Json reason = verdict.is_object() ? verdict.value("reason", Json(nullptr)) : Json(nullptr);
    return fmt::format("{}: {}", one.stage, cut(reason.is_string() ? reason.get<std::string>() : "", 60));
  }
  std::string text = "accepted";
  if (one.time_ns) text += "  " + time_text(*one.time_ns);
  for (const store::Recorded::Against& each : one.speedups) {
    text += fmt::format("  {:.3f} x {} [{:.3f}, {:.3f}]", each.median, each.rival, each.low, each.high);
  }
  return text;
}

// "": the newest.
Result<int> show(const Arguments& arguments, const std::string& named, std::ostream& out) {
  KW_TRY(const store::Store store, store::Store::open_existing(store_folder(arguments)));
  KW_TRY(const store::RunSummary run, named.empty() ? store.newest_run() : store.find_run(named));
  if (arguments.has("--json")) return show_as_json(store, run, out);
  const State state = state_of(store, run);
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
    print(out, "  {}  {}  {}\n", event.at, name_of(event.kind), cut(harmless(event.text), 80));
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
