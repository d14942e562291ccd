// kw inspect: what agents are shown, for a person's own eyes.
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/numbers.h"
#include "inspect/errors.h"
#include "inspect/model.h"
#include "inspect/tree.h"
#include "judge/judge.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "runs/performance.h"
#include "suites/catalog.h"
#include "targets/cpu/kept_roofs.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

std::string dumped(const Json& json) { return json.dump(1) + "\n"; }

Result<int> budget_of(const Arguments& arguments, int usual) {
  KW_TRY(const std::int64_t tokens, whole_number(arguments, "--tokens", usual, 20, 1'000'000));
  return static_cast<int>(tokens);
}

Json as_json(const inspect::CodeError& error) {
  static const char* const tools[] = {"compiler", "linker", "loader"};
  return {{"tool", tools[static_cast<int>(error.tool)]},
          {"file", error.file},
          {"line", error.line},
          {"column", error.column},
          {"local", error.local},
          {"within", error.within},
          {"message", error.message},
          {"elsewhere", error.elsewhere},
          {"notes", error.notes},
          {"repeated_at", error.repeated_at},
          {"around", error.around}};
}

// errors LOG --source FILE
Result<int> errors(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string said, read_file(arguments.text("SUBJECT"), 64 << 20));
  std::vector<inspect::SourceText> sources;
  for (const std::string& file : arguments.texts("--source")) {
    KW_TRY(std::string text, read_file(file, 16 << 20));
    sources.push_back({file, std::move(text)});
  }
  const auto found = inspect::errors_in(said, sources);
  if (arguments.has("--json")) {
    Json all = Json::array();
    for (const inspect::CodeError& error : found) all.push_back(as_json(error));
    out << dumped({{"errors", std::move(all)}});
  } else {
    KW_TRY(const int tokens, budget_of(arguments, inspect::fair_budget(said)));
    out << (found.empty() ? "no errors\n" : inspect::as_text(found, tokens));
  }
  return found.empty() ? kNo : kYes;
}

// A built kernel as a file that objdump can read.
Result<inspect::MachineCode> machine_code(const judge::Source& source, const Settings& settings) {
  KW_TRY(const Tunables tunables, read_tunables(source.text));
  KW_TRY(const Choice choice, choose(tunables, settings));
  KW_TRY(const auto device, targets::open_device(judge::kUsualDevice));
  KW_TRY(const auto built, device->build(source, choice));
  if (!built->ok()) return fail("{}", text_of(built->reason));
  KW_TRY(const std::string content, built->code());
  const fs::path file = fs::temp_directory_path() / fmt::format("kw_inspect_{}.so", ::getpid());
  KW_CHECK(write_file(file, content));
  auto code = inspect::machine_code_of(file);
  std::error_code error;
  fs::remove(file, error);
  return code;
}

Json as_json(const inspect::Loop& loop) {
  return {{"function", loop.function},
          {"depth", loop.depth},
          {"instructions", loop.instructions},
          {"vectorised", loop.vectorised()},
          {"vector_bits", loop.vector_bits},
          {"vector_arithmetic", loop.vector_arithmetic},
          {"scalar_arithmetic", loop.scalar_arithmetic},
          {"fused", loop.fused},
          {"divisions", loop.divisions},
          {"loads", loop.loads},
          {"stores", loop.stores},
          {"spills", loop.spills},
          {"gathers", loop.gathers},
          {"calls", loop.calls},
          {"cycles", loop.cycles ? Json(*loop.cycles) : Json()},
          {"busiest", loop.busiest},
          {"code", loop.code}};
}

// code KERNEL [--task TASK]
Result<int> code(const Arguments& arguments, std::ostream& out) {
  const fs::path file = arguments.text("SUBJECT");
  KW_TRY(std::string text, read_file(file, 16 << 20));
  KW_TRY(const Settings settings, parse_settings(arguments.texts("--set")));
  KW_TRY(const inspect::MachineCode found, machine_code({file.filename().string(), std::move(text)}, settings));
  std::string work;
  if (arguments.has("--task")) {
    KW_TRY(const Task task, suites::find_task(arguments.text("--task"), {}));
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    const auto roofs = targets::known_roofs();
    work = inspect::performance_text(graph, {}, roofs.ok() ? &*roofs : nullptr, nullptr);
  }
  if (arguments.has("--json")) {
    Json loops = Json::array();
    for (const inspect::Loop& loop : found.loops) loops.push_back(as_json(loop));
    out << dumped({{"loops", std::move(loops)}, {"missing", found.missing}});
  } else {
    out << work << inspect::as_text(found);
  }
  return kYes;
}

// tree FOLDER [--about WORD]
Result<int> tree(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const auto files, inspect::tree_of(arguments.text("SUBJECT"), arguments.texts("--about")));
  if (arguments.has("--json")) {
    Json all = Json::array();
    for (const inspect::TreeFile& file : files) {
      Json scopes = Json::array();
      for (const inspect::Scope& scope : file.scopes) {
        constexpr const char* kKinds[] = {"function", "type", "namespace"};
        scopes.push_back({{"kind", kKinds[static_cast<std::size_t>(scope.kind)]},
                          {"declared", scope.declared},
                          {"name", scope.name},
                          {"signature", scope.signature},
                          {"first_line", scope.first_line},
                          {"last_line", scope.last_line},
                          {"depth", scope.depth}});
      }
      all.push_back({{"path", file.path}, {"likeness", file.likeness}, {"scopes", std::move(scopes)}});
    }
    out << dumped({{"files", std::move(all)}});
  } else {
    KW_TRY(const int tokens, budget_of(arguments, 1500));
    out << inspect::as_text(files, tokens);
  }
  return files.empty() ? kNo : kYes;
}

Json as_json(const inspect::KernelTensor& one) {
  return {{"call", one.call},
          {"name", one.name},
          {"dtype", name_of(one.type.dtype)},
          {"shape", one.type.shape.lengths()},
          {"strides", one.type.shape.strides()},
          {"when", one.when},
          {"content", one.content}};
}

Json as_json(const ops::Graph& graph, std::size_t i) {
  const auto names = [&](const std::vector<int>& slots) {
    Json all = Json::array();
    for (const int slot : slots) {
      if (slot < 0) {
        all.push_back(nullptr);
        continue;
      }
      const auto at = static_cast<std::size_t>(slot);
      all.push_back({{"name", graph.names[at]},
                     {"dtype", name_of(graph.types[at].dtype)},
                     {"shape", graph.types[at].shape.lengths()}});
    }
    return all;
  };
  Json attributes = Json::array();
  for (const inspect::NodeFact& fact : inspect::attributes_of(graph, i)) {
    attributes.push_back({{"name", fact.name}, {"value", fact.value}, {"call", fact.call}, {"default", !fact.said}});
  }
  return {{"operator", graph.nodes[i].call.op->name},
          {"inputs", names(graph.nodes[i].inputs)},
          {"outputs", names(graph.nodes[i].outputs)},
          {"attributes", std::move(attributes)}};
}

// task TASK [--verdict FILE]
Result<int> task(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const Task wanted, suites::find_task(arguments.text("SUBJECT"), {}));
  KW_TRY(const ops::Graph graph, ops::resolve(wanted));
  std::optional<Verdict> verdict;
  if (arguments.has("--verdict")) {
    const std::string file = arguments.text("--verdict");
    KW_TRY(const std::string text, read_file(file, 64 << 20));
    auto read = judge::verdict_from_json(text);
    if (!read.ok()) return fail("{}: {}; `kw eval --json` prints a verdict", file, read.error().message);
    if (read->task != wanted.name) return fail("{} is a verdict on {}, not on {}", file, read->task, wanted.name);
    verdict = *std::move(read);
  }
  if (!arguments.has("--json")) {
    out << wanted.name << "\n\n" << inspect::model_as_text(graph);
    if (verdict) out << "\n" << inspect::findings_as_text(*verdict);
    return kYes;
  }
  Json json = {{"task", wanted.name}, {"opset", wanted.opset}, {"lengths", wanted.lengths}};
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) json["nodes"].push_back(as_json(graph, i));
  json["inputs"] = Json::array();
  for (const auto& one : inspect::inputs_of_kernel(graph)) json["inputs"].push_back(as_json(one));
  json["outputs"] = Json::array();
  for (const auto& one : inspect::outputs_of_kernel(graph)) json["outputs"].push_back(as_json(one));
  json["wrong"] = verdict ? Json(inspect::findings_as_text(*verdict)) : Json();
  out << dumped(json);
  return kYes;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  const std::string what = arguments.text("WHAT");
  const bool is_known = what == "errors" || what == "code" || what == "tree" || what == "task";
  if (is_known && !arguments.has("SUBJECT")) {
    return fail("kw inspect {}: say of which {}", what,
                what == "errors" ? "log"
                : what == "code" ? "kernel"
                : what == "tree" ? "folder"
                                 : "task");
  }
  if (what == "errors") return errors(arguments, out);
  if (what == "code") return code(arguments, out);
  if (what == "tree") return tree(arguments, out);
  if (what == "task") return task(arguments, out);
  return fail("kw inspect takes errors, code, tree or task, not '{}'{}", what,
              nearest_hint(what, {"errors", "code", "tree", "task"}));
}

}  // namespace

Command inspect() {
  return {
      .name = "inspect",
      .summary = "what agents are shown: errors cut short, a kernel's loops, a folder's functions, a task's parts",
      .description =
          "kw inspect errors LOG --source FILE: what a compiler, linker or loader said, as errors with their line "
          "and function.\n"
          "kw inspect code KERNEL: the innermost loops of the built kernel: vectorised or not, spills, calls, "
          "cycles (llvm-mca).\n"
          "kw inspect tree FOLDER: C, C++ and CUDA files with their functions and types, those about a WORD first.\n"
          "kw inspect task TASK --verdict FILE: the task as ONNX says it and as the kernel sees it: nodes, "
          "attributes, shapes, layouts, constants; with a verdict (`kw eval --json`) what was found wrong where. "
          "--json prints {task, opset, lengths, nodes, inputs, outputs, wrong}.",
      .options = {{.name = "WHAT", .help = "errors, code, tree or task", .required = true},
                  {.name = "SUBJECT", .help = "a file, a folder or a task", .completes = Completes::file},
                  {.name = "--source",
                   .value = "FILE",
                   .help = "errors: the source that was compiled",
                   .repeated = true,
                   .completes = Completes::file},
                  {.name = "--task",
                   .value = "TASK",
                   .help = "code: the task's work and roof too",
                   .completes = Completes::task},
                  {.name = "--set",
                   .value = "NAME=VALUE",
                   .help = "code: a tunable's value, the compiler or flags",
                   .repeated = true},
                  {.name = "--about", .value = "WORD", .help = "tree: what it is to be about", .repeated = true},
                  {.name = "--verdict",
                   .value = "FILE",
                   .help = "task: a verdict, as `kw eval --json` prints it",
                   .completes = Completes::file},
                  {.name = "--tokens", .value = "N", .help = "how long the text may be, in tokens"},
                  {.name = "--json", .help = "one JSON object: errors, loops, files, or the task's parts"}},
      .examples = {"kw inspect code relu.cpp --task Relu", "kw inspect task Relu --json"},
      .run = run};
}

}  // namespace kw::cli::commands
