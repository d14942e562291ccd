// take_best: the best kernel that was ever measured for a task on this machine, with its source.

#include "base/json.h"
#include "mcp/best.h"
#include "mcp/desk.h"
#include "mcp/tool.h"
#include "runs/task_text.h"

namespace kw::mcp::tools {
namespace {

Result<std::string> run_take_best(const ToolCall& call, Json& answer) {
  KW_TRY(const Task* const task, call.desk.find_task(call.arguments["task"]));
  KW_TRY(const Best found, best_of(call.desk, *task));
  const store::AcceptedKernel& best = found.ranking.best;
  answer = {{"task", task->name},
            {"run", fmt::format("r{}", best.run)},
            {"file", best.file},
            {"author", best.author},
            {"settings", Json::parse_quietly(best.settings)},
            {"time_ns", best.time_ns},
            {"terms", best.terms},
            {"roof_fraction", best.roof_fraction ? Json(*best.roof_fraction) : Json(nullptr)},
            {"rival", nullptr},
            {"compared", found.ranking.compared},
            {"ties", found.ranking.ties},
            {"source", found.source}};
  std::string text = fmt::format("// {}: {} a call, {}", task->name, time_text(best.time_ns), best.terms);
  if (!best.rival.empty()) {
    answer["rival"] = {{"name", best.rival}, {"median", best.median}, {"low", best.low}, {"high", best.high}};
    text += fmt::format("; {:.3f} times as fast as {} [{:.3f}, {:.3f}]", best.median, best.rival, best.low, best.high);
  }
  text +=
      fmt::format("; the best of {}, by {}", found.ranking.compared, best.author.empty() ? "somebody" : best.author);
  if (best.settings != "{}") text += "; settings " + best.settings;
  return text + "\n" + found.source;
}

}  // namespace

Tool take_best() {
  return {.name = "take_best",
          .title = "Take the best kernel",
          .description =
              "Gives the source and figures of the best kernel for a task that was recorded on this machine, whoever "
              "wrote it: a place to go on from.",
          .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["task"],
            "properties": {"task": {"type": "string", "maxLength": 200, "description": "its name, or SUITE/NAME"}}
          })",
          .output = R"({
            "type": "object",
            "required": ["task", "source", "time_ns"],
            "properties": {
              "task": {"type": "string"}, "run": {"type": "string"}, "file": {"type": "string"},
              "author": {"type": "string"}, "settings": {"type": "object"}, "time_ns": {"type": "number"},
              "terms": {"type": "string"}, "roof_fraction": {"type": ["number", "null"]},
              "rival": {"type": ["object", "null"]}, "compared": {"type": "integer"}, "ties": {"type": "integer"},
              "source": {"type": "string"}
            }
          })",
          .run = run_take_best};
}

}  // namespace kw::mcp::tools
