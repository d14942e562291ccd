// read_notes: why a kernel was rejected and where to look; or what its time means and what bounds it.

#include "base/json.h"
#include "mcp/desk.h"
#include "mcp/told.h"
#include "mcp/tool.h"
#include "runs/performance.h"
#include "runs/task_text.h"
#include "targets/target.h"

namespace kw::mcp::tools {
namespace {

// What a stage asks of a kernel, for those who were stopped there.
const char* meaning_of(VerdictStage stage) {
  switch (stage) {
    case VerdictStage::build:
      return "The source must compile; the contract's header is on the include path.";
    case VerdictStage::load:
      return "The library may import only what kernels may use, and its constructors must return.";
    case VerdictStage::verify:
      return "It is wrong, or fails, on the task's own shape.";
    case VerdictStage::quick_check:
      return "A search looked at it and went no further: it proves nothing. Submit it to have it judged.";
    case VerdictStage::hidden:
      return "It is right on the task's own shape and wrong, or fails, on another: lengths of one, primes, odd ones, "
             "empty ones are tried. Look for what relies on a multiple, on a least length, or on the task's numbers.";
    case VerdictStage::guard:
      return "It touches memory that is not its own, or relies on an alignment that was not promised.";
    case VerdictStage::precision:
      return "Its errors look like arithmetic of less precision than the task's type.";
    case VerdictStage::behaviour:
      return "It does what a kernel must not: other bits for the same inputs, threads or files left, forbidden calls.";
    case VerdictStage::time:
      return "It was right before and not in the timed calls, or its times do not add up.";
    case VerdictStage::accepted:
      break;
  }
  return "";
}

// What bounds the task on this machine, and how far from that bound the kernel is.
void add_bounds(const std::string& device, const Task& task, const Verdict& verdict, Json& answer, std::string& text) {
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return;
  const Cost cost = ops::cost_of(*graph);
  const double intensity = cost.bytes() > 0 ? cost.flops / cost.bytes() : 0;
  answer["flops"] = cost.flops;
  answer["bytes"] = cost.bytes();
  answer["flops_per_byte"] = intensity;
  text += fmt::format("work: {}, {} moved at least, {:.2g} flop a byte\n", with_unit(cost.flops, "flop"),
                      with_unit(cost.bytes(), "B"), intensity);
  if (verdict.time_ns) {
    answer["gflops"] = cost.flops / *verdict.time_ns;
    answer["gbps"] = cost.bytes() / *verdict.time_ns;
    text += fmt::format("reached: {:.3g} Gflop/s, {:.3g} GB/s\n", cost.flops / *verdict.time_ns,
                        cost.bytes() / *verdict.time_ns);
  }
  const auto least = targets::least_time(device, cost);
  if (!least.ok()) {
    text += "the least time is not known: " + least.error().message + "\n";
    return;
  }
  answer["least_time_ns"] = least->ns();
  answer["bound_by"] = least->by_moving() ? "memory" : "arithmetic";
  if (least->by_moving()) {
    text += fmt::format("least time: {}, bound by moving bytes\n", time_text(least->ns()));
    return;
  }
  const std::string form = runs::counted_form(*graph);
  answer["least_time_of"] = form;
  answer["least_moving_ns"] = least->moving_ns;
  text += fmt::format(
      "least time: {} for the arithmetic of the {}; another algorithm may take less, but no kernel less "
      "than {}, for moving the bytes\n",
      time_text(least->ns()), form, time_text(least->moving_ns));
}

Result<std::string> run_read_notes(const ToolCall& call, Json& answer) {
  KW_TRY(const JobStatus progress, call.desk.look(call.arguments["id"]));
  if (!progress.verdict) return fail("{}", told_as_text(progress));
  const Verdict& verdict = *progress.verdict;
  std::string text = told_as_text(progress);
  answer = {{"id", progress.id}, {"verdict", told(verdict)}};
  if (!verdict.accepted()) {
    answer["meaning"] = meaning_of(verdict.stage);
    text += std::string("\n") + meaning_of(verdict.stage) + "\n";
    return text;
  }
  if (const auto task = call.desk.find_task(progress.task); task.ok()) {
    add_bounds(call.desk.device(), **task, verdict, answer, text);
  }
  if (!progress.code.empty()) {
    answer["code"] = progress.code;
    text += progress.code + "\n";
  }
  return text;
}

}  // namespace

Tool read_notes() {
  return {
      .name = "read_notes",
      .title = "Read errors and performance notes",
      .description =
          "Of a judged kernel: if it was rejected, the errors with the lines around them and what the stage that "
          "stopped it asks for; if it was accepted, its time, what it reached in flops and bytes a second, what bounds "
          "the task on this machine, and, where submit_kernel brought it during this session, the innermost loops of "
          "its machine code with their share of a call.",
      .input = R"({
            "type": "object",
            "additionalProperties": false,
            "required": ["id"],
            "properties": {"id": {"type": "string", "maxLength": 40}}
          })",
      .output = R"({
            "type": "object",
            "required": ["id", "verdict"],
            "properties": {
              "id": {"type": "string"}, "verdict": {"type": "object"}, "meaning": {"type": "string"},
              "flops": {"type": "number"}, "bytes": {"type": "number"}, "flops_per_byte": {"type": "number"},
              "gflops": {"type": "number"}, "gbps": {"type": "number"}, "least_time_ns": {"type": "number"},
              "bound_by": {"type": "string", "enum": ["arithmetic", "memory"]},
              "least_time_of": {"type": "string"}, "least_moving_ns": {"type": "number"},
              "code": {"type": "string"}
            }
          })",
      .run = run_read_notes};
}

}  // namespace kw::mcp::tools
