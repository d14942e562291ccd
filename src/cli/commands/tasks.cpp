// kw tasks: what there is to do.
#include <algorithm>
#include <ostream>
#include <set>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "command_line/numbers.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

constexpr const char* kSuiteToList = "mobilekernelbench";

Result<std::vector<suites::Suite>> wanted_suites(const Arguments& arguments) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const auto level, whole_number(arguments, "--level", 1, 99));
  if (arguments.has("--all") && level) return fail("--level is of one suite, and --all of every one");
  if (arguments.has("--all")) return suites::installed_suites();
  std::vector<std::string> names = arguments.texts("SUITE");
  if (names.empty()) names = {kSuiteToList};
  std::vector<suites::Suite> suites;
  for (const std::string& name : names) {
    KW_TRY(suites::Suite suite, suites::find_suite(name, dims));
    if (level) {
      KW_TRY(suite.tasks, suites::tasks_of_level(std::move(suite.tasks), static_cast<int>(*level)));
    }
    suites.push_back(std::move(suite));
  }
  return suites;
}

Result<int> run_tasks(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::vector<suites::Suite> suites, wanted_suites(arguments));
  std::vector<std::string> wanted;
  if (arguments.has("--category")) {
    KW_TRY(wanted, suites::categories_named(suites, arguments.text("--category")));
  }
  std::vector<Json> rows;
  std::set<std::string> operators;
  std::set<std::string> categories;
  for (const suites::Suite& suite : suites) {
    for (const Task& task : suite.tasks) {
      if (!wanted.empty() && std::ranges::find(wanted, task.category) == wanted.end()) continue;
      const auto graph = ops::resolve(task);
      if (!graph.ok()) return at("task '" + task.name + "'", graph.error());
      rows.push_back(summary_of(task, *graph));
      categories.insert(task.category);
      for (const Node& node : task.nodes) operators.insert(node.op);
    }
  }
  if (arguments.has("--json")) {
    out << Json(rows).dump(1) << "\n";
    return kYes;
  }
  out << runs::summaries_as_text(rows);
  const auto counted = [](std::size_t count, const std::string& one, const std::string& many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
  };
  out << fmt::format("\n{}, {}, {}. `kw show NAME` explains one.\n", counted(rows.size(), "task", "tasks"),
                     counted(operators.size(), "operator", "operators"),
                     counted(categories.size(), "category", "categories"));
  return kYes;
}

}  // namespace

Command tasks() {
  return {
      .name = "tasks",
      .topic = Topic::kernels,
      .summary = "lists the tasks of a suite",
      .description =
          "Without a suite: mobilekernelbench. Of an ONNX model: the nodes that compute and can be expressed, each a "
          "task. With --json: a list of objects with name, category, operator, "
          "suite, inputs and outputs (name, dtype, shape; inputs also role), flops and bytes.",
      .options = {{.name = "SUITE",
                   .help = "an installed suite's name, or the path of a suite file or an ONNX model",
                   .repeated = true,
                   .completes = Completes::suite},
                  {.name = "--all", .help = "every installed suite"},
                  dim_option(),
                  {.name = "--category",
                   .value = "C",
                   .help = "only this category; its beginning will do: conv",
                   .completes = Completes::category},
                  {.name = "--level", .value = "N", .help = "only tasks of this level, of a suite that has levels"},
                  {.name = "--json", .help = "one JSON list instead of a table"}},
      .examples = {"kw tasks --category Matrix", "kw tasks kernelbench --level 1", "kw tasks mobilekernelbench --json"},
      .run = run_tasks};
}

}  // namespace kw::cli::commands
