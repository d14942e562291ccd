// wait_for_verdict: returns with the verdict, or within 25 seconds with how far it is. Clients give up on calls that
// take longer than half a minute.

#include "base/json.h"
#include "mcp/desk.h"
#include "mcp/told.h"
#include "mcp/tool.h"

namespace kw::mcp::tools {
namespace {

constexpr double kLongest_s = 25;

Result<std::string> run_wait_for_verdict(const ToolCall& call, Json& answer) {
  const std::chrono::duration<double> longest(call.arguments.value("seconds", kLongest_s));
  const auto until = Desk::Clock::now() + std::chrono::duration_cast<Desk::Clock::duration>(longest);
  const auto tell = [&](const JobStatus& progress) { call.progress(told_as_text(progress)); };
  KW_TRY(const JobStatus progress, call.desk.wait(call.arguments["id"], until, call.stop, tell));
  answer = told(progress);
  return told_as_text(progress) + (progress.over() ? "" : "; call wait_for_verdict again");
}

}  // namespace

Tool wait_for_verdict() {
  return {
      .name = "wait_for_verdict",
      .title = "Wait for a verdict",
      .description =
          "Waits until a submitted kernel is judged, and returns the verdict; after 25 seconds at most it returns with "
          "how far the judge is, and can be called again. A rejected kernel gets the stage that stopped it and a hint.",
      .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["id"],
            "properties": {
              "id": {"type": "string", "maxLength": 40, "description": "what submit_kernel or compare_kernels gave"},
              "seconds": {"type": "number", "minimum": 0, "maximum": 25, "default": 25}
            }
          })",
      .output = kProgressSchema,
      .run = run_wait_for_verdict};
}

}  // namespace kw::mcp::tools
