// kw tasks: what there is to do.
#include <algorithm>
#include <ostream>
#include <set>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

constexpr const char* kSuiteToList = "mobilekernelbench";

Result<std::vector<suites::Suite>> wanted_suites(const Arguments& arguments) {
  if (arguments.has("--all")) return suites::installed_suites();
  std::vector<std::string> names = arguments.texts("SUITE");
  if (names.empty()) names = {kSuiteToList};
  std::vector<suites::Suite> suites;
  for (const std::string& name : names) {
    KW_TRY(suites::Suite suite, suites::find_suite(name));
    suites.push_back(std::move(suite));
  }
  return suites;
}

void print_table(const std::vector<Json>& rows, std::ostream& out) {
  std::size_t name_width = 4, operator_width = 8, category_width = 8;
  for (const auto& row : rows) {
    name_width = std::max(name_width, row["name"].text().size());
    category_width = std::max(category_width, row["category"].text().size());
    operator_width = std::max(operator_width, row["operator"].text().size());
  }
  operator_width = std::min<std::size_t>(operator_width, 32);
  const auto line = [&](const std::string& name, const std::string& category, std::string operators,
                        const std::string& flops, const std::string& bytes) {
    if (operators.size() > operator_width) operators = operators.substr(0, operator_width - 3) + "...";
    out << fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>11}  {:>8}\n", name, name_width, category, category_width, operators,
                       operator_width, flops, bytes);
  };
  line("NAME", "CATEGORY", "OPERATOR", "WORK", "MOVES");
  for (const auto& row : rows) {
    line(row["name"], row["category"], row["operator"], with_unit(row["flops"], "flop"), with_unit(row["bytes"], "B"));
  }
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
  print_table(rows, out);
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
  return {.name = "tasks",
          .summary = "lists the tasks of a suite",
          .description =
              "Without a suite: mobilekernelbench. With --json: a list of objects with name, category, operator,\n"
              "suite, inputs and outputs (name, dtype, shape; inputs also role), flops and bytes.",
          .options = {{.name = "SUITE",
                       .help = "an installed suite's name, or the path of a suite file",
                       .repeated = true,
                       .completes = Completes::suite},
                      {.name = "--all", .help = "every installed suite"},
                      {.name = "--category",
                       .value = "C",
                       .help = "only this category; its beginning will do: conv",
                       .completes = Completes::category},
                      {.name = "--json", .help = "one JSON list instead of a table"}},
          .examples = {"kw tasks --category Matrix", "kw tasks mobilekernelbench --json"},
          .run = run_tasks};
}

}  // namespace kw::cli::commands
