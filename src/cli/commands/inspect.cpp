// kw inspect: what agents are shown, for a person's own eyes.
#include <optional>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "inspect/errors.h"
#include "inspect/json.h"
#include "inspect/model.h"
#include "inspect/tree.h"
#include "judge/judge.h"
#include "judge/sample.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "runs/kernel_file.h"
#include "runs/performance.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

std::string dumped(const Json& json) { return json.dump(1) + "\n"; }

Result<int> budget_of(const Arguments& arguments, int usual) {
  KW_TRY(const std::int64_t tokens, whole_number(arguments, "--tokens", usual, 20, 1'000'000));
  return static_cast<int>(tokens);
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
    out << dumped({{"errors", inspect::as_json(found)}});
  } else {
    KW_TRY(const int tokens, budget_of(arguments, inspect::fair_budget(said)));
    out << (found.empty() ? "no errors\n" : inspect::as_text(found, tokens));
  }
  return found.empty() ? kNo : kYes;
}

// What the target says of a built kernel.
Result<targets::CodeNotes> notes_on(const std::string& device_name, const judge::Source& source,
                                    const Settings& settings, const Task* task, const std::string& core) {
  KW_TRY(const Tunables tunables, read_tunables(source.text));
  KW_TRY(const Choice choice, choose(tunables, settings, targets::build_options(device_name)));
  KW_TRY(const auto device, targets::open_device(device_name));
  KW_TRY(const auto built, device->build(source, choice));
  if (!built->ok()) return fail("{}", text_of(built->reason));
  // Where its time goes is known of a task's own shape.
  std::vector<std::uint64_t> samples;
  if (task != nullptr) {
    KW_TRY(samples, judge::sample_calls(*task, *device, *built, 1));
  }
  return device->look_into(*built, {.samples = samples, .core = core});
}

// code KERNEL [--task TASK]
Result<int> code(const Arguments& arguments, std::ostream& out) {
  const std::string file = arguments.text("SUBJECT");
  KW_TRY(const judge::Source source, runs::read_kernel(file));
  KW_TRY(std::string device, device_of(arguments, {file}));
  // A core by name, of no device that was named: kernels for it are built here, and no device is needed to look at
  // them.
  if (arguments.has("--core") && !arguments.has("--target")) device = "emulated:aarch64";
  KW_TRY(const Settings settings, parse_settings(arguments.texts("--set")));
  std::string work;
  std::optional<Task> task;
  if (arguments.has("--task")) {
    KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
    KW_TRY(task, suites::find_task(arguments.text("--task"), dims));
  }
  KW_TRY(const targets::CodeNotes notes,
         notes_on(device, source, settings, task ? &*task : nullptr, arguments.text("--core")));
  if (task) {
    KW_TRY(const ops::Graph graph, ops::resolve(*task));
    const auto least = targets::least_time(device, ops::cost_of(graph));
    work = runs::performance_text(graph, {}, least.ok() ? &*least : nullptr, "");
  }
  out << (arguments.has("--json") ? dumped(Json::parse(notes.json))
          : notes.missing.empty() ? work + notes.text
                                  : work + notes.text + notes.missing + "\n");
  return kYes;
}

// tree FOLDER [--about WORD]
Result<int> tree(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const auto files, inspect::tree_of(arguments.text("SUBJECT"), arguments.texts("--about")));
  if (arguments.has("--json")) {
    out << dumped({{"files", inspect::as_json(files)}});
  } else {
    KW_TRY(const int tokens, budget_of(arguments, 1500));
    out << inspect::as_text(files, tokens);
  }
  return files.empty() ? kNo : kYes;
}

// task TASK [--verdict FILE]
Result<int> task(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task wanted, suites::find_task(arguments.text("SUBJECT"), dims));
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
  Json json = inspect::model_as_json(graph);
  json["wrong"] = verdict ? Json(inspect::findings_as_text(*verdict)) : Json();
  out << dumped(json);
  return kYes;
}

Result<int> run_inspect(const Arguments& arguments, std::ostream& out) {
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
      .topic = Topic::kernels,
      .summary = "what agents are shown: errors cut short, a kernel's loops, a folder's functions, a task's parts",
      .description =
          "kw inspect errors LOG --source FILE: what a compiler, linker or loader said, as errors with their line "
          "and function.\n"
          "kw inspect code KERNEL: the innermost loops of the built kernel: vectorised or not, spills, calls, "
          "cycles; with --task each loop's share of the time.\n"
          "kw inspect tree FOLDER: C, C++ and CUDA files with their functions and types, those about a WORD first.\n"
          "kw inspect task TASK --verdict FILE: the task as ONNX says it and as the kernel sees it: nodes, "
          "attributes, shapes, layouts, constants; with a verdict (`kw eval --json`) what was found wrong where. "
          "--json prints {task, opset, lengths, nodes, inputs, outputs, wrong}.",
      .options =
          {{.name = "WHAT", .help = "errors, code, tree or task", .required = true},
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
           dim_option(),
           target_option(),
           {.name = "--set",
            .value = "NAME=VALUE",
            .help = "code: a tunable's value, the compiler or flags",
            .repeated = true},
           {.name = "--core",
            .value = "NAME",
            .help = "code: cycles of that core, by a model of it: cortex-a76, a55, x1; built for ARM unless --on says"},
           {.name = "--about", .value = "WORD", .help = "tree: what it is to be about", .repeated = true},
           {.name = "--verdict",
            .value = "FILE",
            .help = "task: a verdict, as `kw eval --json` prints it",
            .completes = Completes::file},
           {.name = "--tokens", .value = "N", .help = "how long the text may be, in tokens"},
           {.name = "--json", .help = "one JSON object: errors, loops, files, or the task's parts"}},
      .examples = {"kw inspect code relu.cpp --task Relu", "kw inspect code relu.cpp --core cortex-a55",
                   "kw inspect task Relu --json"},
      .run = run_inspect};
}

}  // namespace kw::cli::commands
