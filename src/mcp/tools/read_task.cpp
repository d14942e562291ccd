// read_task: what a kernel has to compute.

#include "base/json.h"
#include "mcp/desk.h"
#include "mcp/tool.h"
#include "runs/task_text.h"

namespace kw::mcp::tools {
namespace {

Result<std::string> run_read_task(const ToolCall& call, Json& answer) {
  KW_TRY(const Task* const task, call.desk.find_task(call.arguments["task"]));
  KW_TRY(const std::string json, runs::task_as_json(*task, call.desk.device()));
  answer = Json::parse(json);
  return runs::task_as_text(*task, call.desk.device());
}

}  // namespace

Tool read_task() {
  return {
      .name = "read_task",
      .title = "Read a task",
      .description =
          "Explains one task: the operators' meaning, tensors with types and shapes, the tolerance, the least time "
          "on this machine, and a worked example on a tiny shape. The lengths that are named are open: a kernel must "
          "be right for others too, and is judged on some that stay hidden.",
      .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["task"],
            "properties": {"task": {"type": "string", "maxLength": 200, "description": "its name, or SUITE/NAME"}}
          })",
      .output = R"({
            "type": "object",
            "required": ["name", "inputs", "outputs", "nodes", "lengths"],
            "properties": {
              "name": {"type": "string"}, "category": {"type": "string"}, "operator": {"type": "string"},
              "inputs": {"type": "array"}, "outputs": {"type": "array"}, "nodes": {"type": "array"},
              "lengths": {"type": "object"}, "flops": {"type": "number"}, "bytes": {"type": "number"}
            }
          })",
      .run = run_read_task};
}

}  // namespace kw::mcp::tools
