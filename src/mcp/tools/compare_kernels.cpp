// compare_kernels: two kernels side by side, so that the machine's mood is the same for both.

#include "base/json.h"
#include "core/settings_json.h"
#include "judge/plain_source.h"
#include "mcp/best.h"
#include "mcp/desk.h"
#include "mcp/told.h"
#include "mcp/tool.h"
#include "ops/graph.h"

namespace kw::mcp::tools {
namespace {

struct Side {
  const Task* task = nullptr;
  judge::Source source;
  Settings settings;
};

// By what a client says: an id, "best" or "plain".
Result<Side> side_of(const ToolCall& call, const std::string& said, const Task* task) {
  if (said != "best" && said != "plain") {
    KW_TRY(Submitted submitted, call.desk.find(said));
    KW_TRY(const Task* const its_task, call.desk.find_task(submitted.progress.task));
    return Side{its_task, std::move(submitted.source), std::move(submitted.settings)};
  }
  if (!task) return fail("say the task: '{}' is one of each task", said);
  if (said == "plain") {
    KW_TRY(const ops::Graph graph, ops::resolve(*task));
    KW_TRY(judge::Source plain, judge::plain_source(call.desk.device(), graph));
    return Side{task, std::move(plain), {}};
  }
  KW_TRY(Best best, best_of(call.desk, *task));
  KW_TRY(Settings settings, settings_from_json(best.ranking.best.settings));
  return Side{task, {best.ranking.best.file, std::move(best.source)}, std::move(settings)};
}

Result<std::string> run_compare_kernels(const ToolCall& call, Json& answer) {
  const std::string first = call.arguments["a"], second = call.arguments["b"];
  const Task* task = nullptr;
  if (call.arguments.contains("task")) {
    KW_TRY(task, call.desk.find_task(call.arguments["task"]));
  }
  // An id says the task for the other one too.
  KW_TRY(Side a, side_of(call, first, task));
  KW_TRY(Side b, side_of(call, second, a.task));
  if (a.task != b.task) return fail("{} is of the task {}, {} of {}", first, a.task->name, second, b.task->name);
  if (!b.settings.empty()) {
    if (!a.settings.empty()) return fail("both have settings; make the values of one the defaults of its source");
    return fail("{} has settings: name it as a, and the other one as b", second);
  }
  // Under a name that no framework and no plain kernel has.
  b.source.name = "b_" + b.source.name;
  Submission submission{.task = a.task, .source = std::move(a.source), .settings = std::move(a.settings)};
  const std::string rival = b.source.name;
  submission.against.push_back(std::move(b.source));
  submission.budget_s = call.arguments.value("budget_s", submission.budget_s);
  submission.notes = fmt::format("{} compared with {}", first, second);
  KW_TRY(const JobStatus progress, call.desk.submit(call.client, std::move(submission)));
  answer = told(progress);
  answer["rival"] = rival;
  return fmt::format(
      "{} is the comparison's id. wait_for_verdict returns its outcome: there, \"{}\" is b, and above 1 means "
      "that a is the faster one.",
      progress.id, rival);
}

}  // namespace

Tool compare_kernels() {
  return {.name = "compare_kernels",
          .title = "Compare two kernels",
          .description =
              "Times two kernels of one task side by side, in random order on the same core: the only fair way to tell "
              "which is faster. Returns an id at once; wait_for_verdict returns the ratio with its interval, and "
              "whether it "
              "is more than noise. Both must be right.",
          .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["a", "b"],
            "properties": {
              "a": {"type": "string", "maxLength": 40, "description": "an id, or best, or plain"},
              "b": {"type": "string", "maxLength": 40, "description": "an id, or best, or plain"},
              "task": {"type": "string", "maxLength": 200, "description": "needed where a is no id"},
              "budget_s": {"type": "number", "minimum": 0.05, "maximum": 20, "default": 1, "description": "seconds of timing"}
            }
          })",
          .output = kProgressSchema,
          .only_reads = false,
          .run = run_compare_kernels};
}

}  // namespace kw::mcp::tools
