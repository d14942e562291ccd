// submit_kernel: hands a kernel to the judge, and returns at once.

#include "base/json.h"
#include "mcp/desk.h"
#include "mcp/told.h"
#include "mcp/tool.h"
#include "targets/target.h"

namespace kw::mcp::tools {
namespace {

Result<std::string> run_submit_kernel(const ToolCall& call, Json& answer) {
  const Json& arguments = call.arguments;
  Submission submission;
  KW_TRY(submission.task, call.desk.find_task(arguments["task"]));
  const bool is_c = arguments.value("language", "c++") == "c";
  submission.source = {is_c ? "kernel.c" : targets::source_name(call.desk.device(), "kernel"), arguments["source"]};
  if (const auto settings = arguments.find("settings"); settings != nullptr) {
    for (const auto& [name, value] : settings->items()) {
      submission.settings[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  submission.timed = arguments.value("timed", true);
  submission.budget_s = arguments.value("budget_s", submission.budget_s);
  submission.notes = arguments.value("notes", "");
  submission.look_into = true;
  KW_TRY(const JobStatus progress, call.desk.submit(call.client, std::move(submission)));
  answer = told(progress);
  return fmt::format("{} is its id; {}. wait_for_verdict returns what the judge finds.", progress.id,
                     progress.ahead == 0 ? "it is next" : fmt::format("{} are judged before it", progress.ahead));
}

}  // namespace

Tool submit_kernel() {
  return {
      .name = "submit_kernel",
      .title = "Submit a kernel",
      .description =
          "Hands a kernel's source to the judge and returns its id at once; wait_for_verdict returns the outcome. The "
          "source is one C++ (or C) file that includes kernelwright.h, in the form that start_kernel shows and the "
          "resource kw://contract explains. It is built and run in a sandbox, tried on the task's own shape and on "
          "others, on easy and on hard values, then timed side by side with the task's plain kernel and installed "
          "frameworks. Everything submitted is recorded.",
      .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["task", "source"],
            "properties": {
              "task": {"type": "string", "maxLength": 200, "description": "its name, or SUITE/NAME"},
              "source": {"type": "string", "minLength": 1, "maxLength": 1000000, "description": "the whole file"},
              "language": {"type": "string", "enum": ["c++", "c"], "default": "c++"},
              "settings": {"type": "object", "description": "values of tunables (KW_TUNE), compiler or flags",
                           "additionalProperties": {"type": ["string", "integer"], "maxLength": 1000}},
              "timed": {"type": "boolean", "default": true, "description": "false: stop when it is known to be right"},
              "budget_s": {"type": "number", "minimum": 0.05, "maximum": 20, "default": 1, "description": "seconds of timing"},
              "notes": {"type": "string", "maxLength": 4000, "description": "your own words, for the record"}
            }
          })",
      .output = kProgressSchema,
      .only_reads = false,
      .run = run_submit_kernel};
}

}  // namespace kw::mcp::tools
