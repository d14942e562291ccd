// list_tasks: what there is to write kernels for.

#include "base/json.h"
#include "mcp/desk.h"
#include "mcp/tool.h"
#include "runs/task_text.h"

namespace kw::mcp::tools {
namespace {

constexpr std::size_t kUsual = 50;

bool is_wanted(const Task& task, const suites::Suite& suite, const Json& arguments) {
  const auto differs = [&](const char* key, const std::string& value) {
    return arguments.contains(key) && arguments[key] != value;
  };
  if (differs("suite", suite.name) || differs("category", task.category)) return false;
  const std::string text = arguments.value("text", "");
  return (task.name + " " + task.operators()).find(text) != std::string::npos;
}

Result<std::string> run_list_tasks(const ToolCall& call, Json& answer) {
  const auto offset = call.arguments.value("offset", std::size_t{0});
  const auto limit = call.arguments.value("limit", kUsual);
  std::size_t total = 0;
  std::string text;
  Json tasks = Json::array();
  for (const suites::Suite& suite : call.desk.suites()) {
    for (const Task& task : suite.tasks) {
      if (!is_wanted(task, suite, call.arguments)) continue;
      if (++total <= offset || tasks.size() >= limit) continue;
      KW_TRY(const ops::Graph graph, ops::resolve(task));
      const Cost cost = ops::cost_of(graph);
      tasks.push_back({{"name", task.name},
                       {"suite", suite.name},
                       {"category", task.category},
                       {"operators", task.operators()},
                       {"flops", cost.flops},
                       {"bytes", cost.bytes()}});
      text += fmt::format("{}  ({}, {})  {}  {}, {} moved\n", task.name, task.category, suite.name, task.operators(),
                          with_unit(cost.flops, "flop"), with_unit(cost.bytes(), "B"));
    }
  }
  const std::size_t next = offset + tasks.size();
  text += fmt::format("{} of {} tasks", tasks.size(), total);
  if (next < total && !tasks.empty()) text += fmt::format("; the next ones: offset {}", next);
  answer = {{"tasks", std::move(tasks)}, {"total", total}, {"next_offset", next < total ? Json(next) : Json(nullptr)}};
  return text;
}

}  // namespace

Tool list_tasks() {
  return {.name = "list_tasks",
          .title = "List tasks",
          .description =
              "Lists the tasks that kernels can be written for: an operator, or a short chain of them, with shapes and "
              "types. The suite mobilekernelbench has 190 of them.",
          .input = R"({
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "suite": {"type": "string", "maxLength": 200, "description": "only of this suite"},
              "category": {"type": "string", "maxLength": 200, "description": "only of this category, such as Matrix"},
              "text": {"type": "string", "maxLength": 200, "description": "only with this in the name or operators"},
              "offset": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0},
              "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}
            }
          })",
          .output = R"({
            "type": "object",
            "required": ["tasks", "total"],
            "properties": {
              "tasks": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "suite": {"type": "string"}, "category": {"type": "string"},
                "operators": {"type": "string"}, "flops": {"type": "number"}, "bytes": {"type": "number"}}}},
              "total": {"type": "integer"},
              "next_offset": {"type": ["integer", "null"]}
            }
          })",
          .run = run_list_tasks};
}

}  // namespace kw::mcp::tools
