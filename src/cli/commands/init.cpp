// kw init: a kernel to start from.
#include <fmt/ranges.h>

#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/target_flag.h"
#include "judge/plain_source.h"
#include "ops/graph.h"
#include "runs/drafts.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

// The kernel that a technique makes; "first" is what a search would begin with.
Result<std::string> fast_kernel(const std::string& device, const ops::Graph& graph, const std::string& technique) {
  KW_TRY(const auto techniques, runs::techniques_for(device));
  KW_TRY(std::vector<compose::Draft> drafts, runs::drafts_for(device, graph, techniques));
  if (technique == "first") return std::move(drafts.front().source);
  std::vector<std::string> names;
  for (compose::Draft& draft : drafts) {
    if (draft.technique == technique) return std::move(draft.source);
    names.push_back(draft.technique);
  }
  return fail("{}: no technique for {}; there are: first, {}", technique, graph.task->name, fmt::join(names, ", "));
}

Result<int> run_init(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments, arguments.texts("--out")));
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  std::string source;
  if (arguments.has("--technique")) {
    KW_TRY(source, fast_kernel(device, graph, arguments.text("--technique")));
  } else {
    KW_TRY(const judge::Source plain, judge::plain_source(device, graph));
    source = plain.text;
  }
  if (!arguments.has("--out")) {
    std::ostream(exact_buffer(out)) << source;
    return kYes;
  }
  const std::filesystem::path file = arguments.text("--out");
  if (std::filesystem::exists(file) && !arguments.has("--force")) {
    return fail("{}: is there already; --force writes over it", file.string());
  }
  KW_CHECK(write_file(file, source));
  out << "wrote " << file.string() << "; to judge it: kw eval " << shell_word(arguments.text("TASK")) << " "
      << shell_word(file.string());
  for (const auto& [name, value] : dims) out << " --dim " << shell_word(fmt::format("{}={}", name, value));
  out << "\n";
  return kYes;
}

}  // namespace

Command init() {
  return {
      .name = "init",
      .topic = Topic::kernels,
      .summary = "writes a correct, plain kernel to start from",
      .description =
          "The kernel computes the task with straightforward loops, for every shape that the task allows. It "
          "is in the contract of kernelwright.h, which the file includes and which explains itself.",
      .options = {{.name = "TASK", .help = "which task", .required = true, .completes = Completes::task},
                  {.name = "--out",
                   .value = "FILE",
                   .help = "where to write it; else it is printed",
                   .completes = Completes::file},
                  target_option(),
                  {.name = "--technique",
                   .value = "NAME",
                   .help = "a fast kernel in place of the plain one; `first` is what a search begins with, `kw show` "
                           "lists those that serve the task"},
                  {.name = "--force", .help = "write over a file that is there"},
                  dim_option()},
      .examples = {"kw init Relu", "kw init Relu --technique first"},
      .run = run_init};
}

}  // namespace kw::cli::commands
