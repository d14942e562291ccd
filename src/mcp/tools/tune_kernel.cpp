// tune_kernel: the best values of a kernel's tunables, found by a search.

#include "base/json.h"
#include "mcp/desk.h"
#include "mcp/told.h"
#include "mcp/tool.h"

namespace kw::mcp::tools {
namespace {

Result<std::string> run_tune_kernel(const ToolCall& call, Json& answer) {
  const Json& arguments = call.arguments;
  KW_TRY(Submitted submitted, call.desk.find(arguments["id"]));
  Submission submission;
  KW_TRY(submission.task, call.desk.find_task(submitted.progress.task));
  submission.source = std::move(submitted.source);
  Tuning tuning;
  tuning.candidates = arguments.value("candidates", tuning.candidates);
  tuning.seconds = arguments.value("seconds", tuning.seconds);
  submission.tuning = tuning;
  submission.notes = "tuning of " + submitted.progress.id;
  KW_TRY(const JobStatus progress, call.desk.submit(call.client, std::move(submission)));
  answer = told(progress);
  return fmt::format(
      "{} is the tuning's id. wait_for_verdict returns its outcome: the verdict on the defaults, and under "
      "\"tuned\" the values that won and theirs.",
      progress.id);
}

}  // namespace

Tool tune_kernel() {
  return {
      .name = "tune_kernel",
      .title = "Tune a kernel",
      .description =
          "Searches the values of a submitted kernel's tunables (KW_TUNE), compilers and flags for the fastest that is "
          "right. Returns an id at once; wait_for_verdict returns the values that won, judged in full. Nothing else is "
          "judged meanwhile.",
      .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["id"],
            "properties": {
              "id": {"type": "string", "maxLength": 40, "description": "of a kernel that was submitted"},
              "candidates": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 40, "description": "how many are tried at most"},
              "seconds": {"type": "number", "minimum": 1, "maximum": 300, "default": 20, "description": "how long at most"}
            }
          })",
      .output = kProgressSchema,
      .only_reads = false,
      .run = run_tune_kernel};
}

}  // namespace kw::mcp::tools
