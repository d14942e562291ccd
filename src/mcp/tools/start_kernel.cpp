// start_kernel: a right kernel to begin with, plain or made of techniques.
#include <algorithm>

#include "base/json.h"
#include "base/nearest.h"
#include "mcp/desk.h"
#include "mcp/tool.h"
#include "ops/graph.h"
#include "runs/drafts.h"
#include "targets/target.h"

namespace kw::mcp::tools {
namespace {

using compose::Draft;

// The one that is meant: by its technique's name, else the plain one, or of the others the most promising.
Result<const Draft*> chosen(const std::vector<Draft>& drafts, const Json& arguments) {
  std::vector<std::string> names;
  for (const Draft& draft : drafts) names.push_back(draft.technique);
  if (arguments.contains("technique")) {
    const std::string wanted = arguments["technique"];
    const auto found = std::ranges::find(drafts, wanted, &Draft::technique);
    if (found == drafts.end()) return fail("this task has no kernel by '{}'{}", wanted, nearest_hint(wanted, names));
    return &*found;
  }
  if (arguments.value("from", "plain") == "plain") return &drafts.back();
  if (drafts.size() < 2) return fail("no template serves this task yet: start from the plain kernel");
  return &drafts.front();
}

Json tunables_as_json(const Tunables& tunables) {
  Json list = Json::array();
  for (const Tunable& one : tunables.list) {
    list.push_back({{"name", one.name}, {"default", one.fallback}, {"values", one.values}});
  }
  return list;
}

Result<std::string> run_start_kernel(const ToolCall& call, Json& answer) {
  KW_TRY(const Task* const task, call.desk.find_task(call.arguments["task"]));
  KW_TRY(const ops::Graph graph, ops::resolve(*task));
  KW_TRY(const std::vector<compose::Technique> techniques, runs::techniques_for(call.desk.device()));
  KW_TRY(const std::vector<Draft> drafts, runs::drafts_for(call.desk.device(), graph, techniques));
  KW_TRY(const Draft* const draft, chosen(drafts, call.arguments));
  Json offered = Json::array();
  for (const Draft& one : drafts) offered.push_back(one.technique);
  answer = {{"task", task->name},
            {"file", targets::source_name(call.desk.device(), "kernel")},
            {"technique", draft->technique},
            {"techniques", std::move(offered)},
            {"tunables", tunables_as_json(draft->tunables)},
            {"source", draft->source}};
  return draft->source;
}

}  // namespace

Tool start_kernel() {
  return {.name = "start_kernel",
          .title = "Start from a kernel",
          .description =
              "Gives the source of a kernel that is right for the task, for every shape that it allows: from plain, "
              "straightforward loops; from template, what the best known technique makes of it, with tunables. Make it "
              "faster and submit it. The contract, kw://contract, explains what it includes.",
          .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["task"],
            "properties": {
              "task": {"type": "string", "maxLength": 200, "description": "its name, or SUITE/NAME"},
              "from": {"type": "string", "enum": ["plain", "template"], "default": "plain"},
              "technique": {"type": "string", "maxLength": 200, "description": "one of the techniques that an earlier answer offered"}
            }
          })",
          .output = R"({
            "type": "object",
            "required": ["task", "file", "source"],
            "properties": {
              "task": {"type": "string"}, "file": {"type": "string"}, "source": {"type": "string"},
              "technique": {"type": "string"},
              "techniques": {"type": "array", "items": {"type": "string"}, "description": "all that this task can start from"},
              "tunables": {"type": "array", "items": {"type": "object"}}
            }
          })",
          .run = run_start_kernel};
}

}  // namespace kw::mcp::tools
