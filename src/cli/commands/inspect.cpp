// kw inspect: what agents are shown, for a person's own eyes.
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/files.h"
#include "cli/commands.h"
#include "inspect/errors.h"
#include "inspect/performance.h"
#include "inspect/tree.h"
#include "judge/workshop.h"
#include "ops/graph.h"
#include "suites/catalog.h"
#include "targets/cpu/kept_roofs.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Result<int> budget_of(const Arguments& arguments, int usual) {
  if (!arguments.has("--tokens")) return usual;
  const std::string text = arguments.text("--tokens");
  char* end = nullptr;
  const long tokens = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || tokens < 20 || tokens > 1'000'000) {
    return fail("--tokens takes a number from 20 to 1000000, not '{}'", text);
  }
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
  KW_TRY(judge::Workshop workshop, judge::Workshop::open());
  KW_TRY(const judge::Built built, workshop.build(source, choice));
  if (!built.library) return fail("{}", built.reason);
  KW_TRY(const std::string content, sandbox::content_of(built.library, 64 << 20));
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
        scopes.push_back({{"name", scope.name},
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

Result<int> run(const Arguments& arguments, std::ostream& out) {
  const std::string what = arguments.text("WHAT");
  if (what == "errors") return errors(arguments, out);
  if (what == "code") return code(arguments, out);
  if (what == "tree") return tree(arguments, out);
  return fail("kw inspect takes errors, code or tree, not '{}'", what);
}

}  // namespace

Command inspect() {
  return {.name = "inspect",
          .summary = "what agents are shown: errors cut short, a kernel's loops, a folder's functions",
          .description =
              "kw inspect errors LOG --source FILE: what a compiler, linker or loader said, as errors with their line "
              "and function.\n"
              "kw inspect code KERNEL: the innermost loops of the built kernel: vectorised or not, spills, calls, "
              "cycles (llvm-mca).\n"
              "kw inspect tree FOLDER: C, C++ and CUDA files with their functions and types, those about a WORD first.",
          .options = {{.name = "WHAT", .help = "errors, code or tree", .required = true},
                      {.name = "SUBJECT", .help = "a file or folder", .required = true, .completes = Completes::file},
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
                      {.name = "--tokens", .value = "N", .help = "how long the text may be, in tokens"},
                      {.name = "--json", .help = "one JSON object: errors, loops or files"}},
          .examples = {"kw inspect code relu.cpp --task Relu", "kw inspect tree . --json"},
          .run = run};
}

}  // namespace kw::cli::commands
