#include "mcp/told.h"

#include <fmt/core.h>

#include "base/json.h"
#include "mcp/desk.h"
#include "runs/performance.h"
#include "runs/task_text.h"

namespace kw::mcp {
namespace {

// Why it was rejected, as its author may know it.
std::string hint_of(const Verdict& verdict) { return text_of(verdict.reason, Audience::author); }

Json told(const Speedup& one) {
  Json json = {
      {"median", one.median}, {"low", one.low}, {"high", one.high}, {"pairs", one.pairs}, {"claimed", one.claimed}};
  if (one.called) {
    json["as_called"] = {{"version", one.called->version},
                         {"median", one.called->median},
                         {"time_ns", one.called->time_ns},
                         {"overhead_ns", one.called->overhead_ns}};
  }
  return json;
}

std::string tuned_as_text(const JobStatus& progress) {
  if (!progress.problem.empty()) return "it could not be tuned: " + progress.problem + "\n";
  if (!progress.tuned) return "";
  std::string settings;
  for (const auto& [key, value] : progress.tuned->settings) settings += fmt::format(" {}={}", key, value);
  return fmt::format("tuned, {} tried: {} with{}: {}", progress.tuned->tried, progress.tuned->id,
                     settings.empty() ? " its defaults" : settings, told_as_text(progress.tuned->verdict));
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

const char kProgressSchema[] = R"({
  "type": "object",
  "required": ["id", "task", "state"],
  "properties": {
    "id": {"type": "string"},
    "task": {"type": "string"},
    "file": {"type": "string"},
    "state": {"type": "string", "enum": ["waiting", "examining", "timing", "tuning", "judged", "failed", "stopped"]},
    "ahead": {"type": "integer", "description": "how many are judged before it"},
    "problem": {"type": ["string", "null"], "description": "why it could not be judged: no fault of the kernel's"},
    "tuned": {"type": ["object", "null"], "description": "what tune_kernel found: id, settings, verdict, tried"},
    "verdict": {
      "type": ["object", "null"],
      "properties": {
        "accepted": {"type": "boolean"},
        "stage": {"type": "string", "enum": ["build", "load", "verify", "quick_check", "hidden", "guard", "precision", "behaviour", "time", "accepted"]},
        "hint": {"type": ["string", "null"], "description": "why it was rejected"},
        "errors": {"type": "array", "items": {"type": "object"}},
        "max_error": {"type": ["number", "null"], "description": "of an accepted kernel: the largest error in parts of what is allowed, rounded up to 0, 0.1, 0.2, 0.5 or 1"},
        "time_ns": {"type": ["number", "null"], "description": "of one call"},
        "caches": {"type": "string"},
        "speedup": {"type": "object", "description": "by rival: median of paired ratios, above 1 the kernel is faster; low and high, its 95 % interval; claimed, whether that is more than noise"},
        "left_out": {"type": "array", "items": {"type": "string"}},
        "roof_fraction": {"type": ["number", "null"], "description": "of the speed that this machine allows at most"},
        "noise": {"type": ["number", "null"]},
        "varies": {"type": "boolean"}
      }
    }
  }
})";

Json told(const Verdict& verdict) {
  Json errors = Json::array();
  for (const SourceError& error : verdict.errors) {
    errors.push_back(
        {{"file", error.file}, {"line", error.line}, {"message", error.message}, {"around", error.around}});
  }
  Json speedup = Json::object();
  for (const Speedup& one : verdict.speedups) speedup[one.rival] = told(one);
  Json left_out = Json::array();
  for (const LeftOut& one : verdict.left_out) left_out.push_back(one.rival + " " + one.version);
  const std::string hint = hint_of(verdict);
  return {{"accepted", verdict.accepted()},
          {"stage", name_of(verdict.stage)},
          {"hint", hint.empty() ? Json(nullptr) : Json(hint)},
          {"errors", std::move(errors)},
          {"max_error", or_null(runs::error_for_author(verdict))},
          {"time_ns", or_null(verdict.time_ns)},
          {"caches", verdict.caches},
          {"speedup", std::move(speedup)},
          {"left_out", std::move(left_out)},
          {"roof_fraction", or_null(verdict.roof_fraction)},
          {"noise", or_null(verdict.noise)},
          {"varies", verdict.varies}};
}

Json told(const JobStatus& progress) {
  Json tuned = nullptr;
  if (progress.tuned) {
    tuned = {{"id", progress.tuned->id},
             {"settings", progress.tuned->settings},
             {"tried", progress.tuned->tried},
             {"verdict", told(progress.tuned->verdict)}};
  }
  return {{"id", progress.id},
          {"task", progress.task},
          {"file", progress.file},
          {"state", name_of(progress.state)},
          {"ahead", progress.ahead},
          {"problem", progress.problem.empty() ? Json(nullptr) : Json(progress.problem)},
          {"verdict", progress.verdict ? told(*progress.verdict) : Json(nullptr)},
          {"tuned", std::move(tuned)}};
}

std::string told_as_text(const Verdict& verdict) {
  if (!verdict.accepted()) {
    std::string text = fmt::format("rejected at {}: {}\n", name_of(verdict.stage), hint_of(verdict));
    for (const SourceError& error : verdict.errors) {
      text += fmt::format("\n{}:{}: {}\n{}", error.file, error.line, error.message, error.around);
    }
    return text;
  }
  const double error = *runs::error_for_author(verdict);
  std::string text = error > 0 ? fmt::format("accepted; largest error at most {} of what is allowed\n", error)
                               : "accepted; no error\n";
  if (verdict.time_ns) {
    text += fmt::format(
        "time {} a call, {} caches{}\n", time_text(*verdict.time_ns), verdict.caches,
        verdict.roof_fraction ? fmt::format(", {:.1f} % of the roof's speed", 100 * *verdict.roof_fraction) : "");
  }
  for (const Speedup& one : verdict.speedups) {
    text += fmt::format("against {}: {:.3f} times as fast [{:.3f}, {:.3f}], {} pairs{}\n", one.rival, one.median,
                        one.low, one.high, one.pairs, one.claimed ? "" : ", no difference is claimed");
  }
  for (const LeftOut& one : verdict.left_out) {
    text += fmt::format("{} {} does not count here: it fails on this task or is wrong\n", one.rival, one.version);
  }
  if (verdict.noise) {
    text += fmt::format("noise: two copies of one kernel differ by up to {:.1f} % here\n", 100 * *verdict.noise);
  }
  return text;
}

std::string told_as_text(const JobStatus& progress) {
  const std::string name = fmt::format("{} ({}): ", progress.id, progress.task);
  switch (progress.state) {
    case JobState::judged:
      return name + told_as_text(*progress.verdict) + tuned_as_text(progress);
    case JobState::failed:
      return name + "could not be judged: " + progress.problem;
    case JobState::stopped:
      return name + "has no verdict, and nobody works on it; `kw resume` does";
    case JobState::waiting:
      return name + fmt::format("waits, {} before it", progress.ahead);
    default:
      return name + fmt::format("is being judged: {}", name_of(progress.state));
  }
}

}  // namespace kw::mcp
