#include "report/run_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "core/verdict.h"
#include "store/run_lock.h"

namespace kw::report {
namespace {

// A search tries many and judges the best of each task: what it did not judge is no failure.
std::string accepted_text(const store::RunSummary& run) {
  if (run.about.strategy.empty()) return fmt::format("{} of {} accepted", run.accepted, run.planned);
  const std::string tried = fmt::format("{} tried", run.done - run.accepted);
  if (run.tasks <= 1) return (run.solved > 0 ? "a right kernel, " : "no right kernel yet, ") + tried;
  return fmt::format("right kernels for {} of {} tasks, {}", run.solved, run.tasks, tried);
}

}  // namespace

Json json_or_null(const std::string& text) {
  Json json = Json::parse_quietly(text);
  return json.is_discarded() ? Json(nullptr) : json;
}

std::string cut_short(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string short_time(const std::string& at) {
  if (at.size() < 16) return at;
  return at.substr(0, 10) + " " + at.substr(11, 5);
}

ShownState state_of(const store::Store& store, const store::RunSummary& run) {
  const auto owner = store::RunLock::owner(store.folder(), run.id);
  if (owner) return {"working", owner};
  return {run.is_done() ? "done" : "stopped", std::nullopt};
}

std::string short_name(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  const std::size_t start = (most - 3) * 2 / 5;
  return name.substr(0, start) + "..." + name.substr(name.size() - (most - 3 - start));
}

std::string tasks_text(const store::RunSummary& run, std::size_t most) {
  std::string first = run.first_task;
  std::int64_t count = run.tasks;
  if (count == 0) {
    const Json rules = json_or_null(run.about.rules);
    const Json tasks = rules.is_object() && rules.contains("tasks") ? rules["tasks"] : Json(nullptr);
    if (!tasks.is_array() || tasks.empty() || !tasks[0].is_object()) return "-";
    first = tasks[0].value("name", "");
    count = static_cast<std::int64_t>(tasks.size());
  }
  const std::string more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
  return short_name(harmless(first), most - more.size()) + more;
}

std::string headline(const store::RunSummary& run) {
  std::string text = accepted_text(run);
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
               {"settings", json_or_null(one.settings)},
               {"build", json_or_null(one.build)},
               {"id", json_or_null(one.label)},
               {"problem", one.problem.empty() ? Json(nullptr) : Json(one.problem)},
               {"verdict", nullptr}};
  if (!one.judged) return json;
  json["verdict"] = json_or_null(one.json);
  json["at"] = one.at;
  json["spent_s"] = one.spent_s;
  json["terms"] = one.terms;
  json["machine"] = one.machine;
  json["rivals"] = Json::object();
  for (const store::Recorded::Against& each : one.speedups) json["rivals"][each.rival] = each.version;
  return json;
}

std::string outcome_of(const store::Recorded& one) {
  if (!one.problem.empty()) return cut_short("not judged: " + one.problem, 60);
  if (!one.judged) return "open";
  if (stage_named(one.stage) == VerdictStage::quick_check) return "passed the quick check";
  if (!one.accepted) {
    const Json verdict = json_or_null(one.json);
    const Json reason = verdict.is_object() ? verdict.value("reason", Json(nullptr)) : Json(nullptr);
    return fmt::format("{}: {}", one.stage, cut_short(reason.is_string() ? reason.get<std::string>() : "", 60));
  }
  std::string text = "accepted";
  if (one.time_ns) text += "  " + time_text(*one.time_ns);
  for (const store::Recorded::Against& each : one.speedups) {
    text += fmt::format("  {:.3f} x {} [{:.3f}, {:.3f}]", each.median, each.rival, each.low, each.high);
  }
  return text;
}

}  // namespace kw::report
