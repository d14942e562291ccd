// kw show: one task, explained to a person.
#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/target_flag.h"
#include "ops/draw.h"
#include "runs/drafts.h"
#include "suites/catalog.h"
#include "suites/onnx_file.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

Status write_model(const ops::Graph& graph, const std::string& file) {
  constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;  // of a file in ONNX's format
  std::int64_t bytes = 0;
  for (const ops::GraphInput& input : graph.inputs) bytes += input.type.bytes();
  if (bytes > kMostBytes)
    return fail("its tensors have {} bytes; a model of at most {} can be written", bytes, kMostBytes);
  KW_TRY(const std::string model, suites::write_onnx(graph, ops::draw_inputs(graph, ops::InputClass::typical, 1)));
  return write_file(file, model);
}

Result<int> run_show(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  if (const std::string file = arguments.text("--onnx"); !file.empty()) {
    KW_CHECK(write_model(graph, file));
    if (!arguments.has("--json")) out << "wrote " << file << "\n";
    if (!arguments.has("--json")) return kYes;
  }
  KW_TRY(const std::string text,
         arguments.has("--json") ? runs::task_as_json(task, device) : runs::task_as_text(task, device));
  out << text;
  if (!arguments.has("--json")) {
    KW_TRY(const std::string kernels, runs::kernels_as_text(device, graph));
    out << kernels;
  }
  return kYes;
}

}  // namespace

Command show() {
  return {.name = "show",
          .topic = Topic::kernels,
          .summary = "explains one task: meaning, shapes, tolerance, cost, a worked example",
          .description =
              "TASK is a task's name, suite.toml:NAME, or model.onnx:NODE (its name, output or number); NAME@tf32, "
              "@float16, @bfloat16: other precisions. --json: an object, keys of `kw tasks --json`, nodes, meaning, "
              "lengths, opset, tolerance, precision, least_time_ns, note, degenerate, example (null where large).",
          .options = {{.name = "TASK", .help = "which task", .required = true, .completes = Completes::task},
                      dim_option(),
                      target_option(),
                      {.name = "--onnx",
                       .value = "FILE",
                       .help = "writes the task as an ONNX model",
                       .completes = Completes::file},
                      {.name = "--json", .help = "one JSON object instead of text"}},
          .examples = {"kw show Softmax", "kw show MatMul --dim N=3 --json"},
          .run = run_show};
}

}  // namespace kw::cli::commands
