// kw init: a kernel to start from.
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "ops/graph.h"
#include "plain/plain.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

Result<int> run(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const std::string source, plain::plain_kernel(graph));
  if (!arguments.has("--out")) {
    out << source;
    return kYes;
  }
  const std::filesystem::path file = arguments.text("--out");
  if (std::filesystem::exists(file) && !arguments.has("--force")) {
    return fail("{}: is there already; --force writes over it", file.string());
  }
  KW_CHECK(write_file(file, source));
  out << "wrote " << file.string() << "; to judge it: kw eval " << arguments.text("TASK") << " " << file.string()
      << "\n";
  return kYes;
}

}  // namespace

Command init() {
  return {
      .name = "init",
      .summary = "writes a correct, plain kernel to start from",
      .description =
          "The kernel computes the task with straightforward loops, for every shape that the task allows. It "
          "is in the contract of kernelwright.h, which the file includes and which explains itself.",
      .options = {{.name = "TASK", .help = "which task", .required = true, .completes = Completes::task},
                  {.name = "--out",
                   .value = "FILE",
                   .help = "where to write it; else it is printed",
                   .completes = Completes::file},
                  {.name = "--force", .help = "write over a file that is there"},
                  {.name = "--dim", .value = "NAME=VALUE", .help = "gives an open length a value", .repeated = true}},
      .examples = {"kw init Relu", "kw init Softmax --out softmax.cpp"},
      .run = run};
}

}  // namespace kw::cli::commands
