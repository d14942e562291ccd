// kw bench: the whole benchmark.

#include <ostream>

#include "cli/agent_run.h"
#include "cli/commands.h"
#include "cli/guests.h"
#include "cli/roofs.h"
#include "cli/search_options.h"
#include "cli/search_report.h"
#include "cli/search_run.h"
#include "cli/store_folder.h"
#include "search/engine.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

constexpr char kDefaultSuite[] = "mobilekernelbench";
// Unless something else is said, the whole takes no longer: the first command of a new user ends before the coffee is
// cold.
constexpr char kUsualTime[] = "18m";

// "18m", in seconds.
Result<double> time_of(const std::string& text) {
  const auto budget = search::parse_budget(text);
  if (!budget.ok() || budget->seconds <= 0) return fail("--within {}: say a time, such as 20m or 2h", text);
  return budget->seconds;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  SearchOrder order;
  const std::string name = arguments.has("SUITE") ? arguments.text("SUITE") : kDefaultSuite;
  KW_TRY(suites::Suite suite, suites::find_suite(name));
  order.suite = suite.name;
  KW_TRY(order.tasks, suites::tasks_named(std::move(suite.tasks), arguments.text("--tasks")));
  KW_CHECK(check_author(arguments));
  if (wants_model(arguments)) {
    KW_TRY(store::Store record, store::Store::open(store_folder(arguments)));
    KW_TRY(const AgentRun done, run_agents(arguments, order.tasks, order.suite, record));
    return report_figures(record, done.run, arguments.has("--json"), out);
  }
  if (arguments.has("--within")) order.budget = arguments.text("--within");  // its share of it, that is
  KW_CHECK(read_search_options(arguments, order));
  if (arguments.has("--within") || !arguments.has("--budget")) {
    KW_TRY(order.within_s, time_of(arguments.has("--within") ? arguments.text("--within") : kUsualTime));
  }
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  order.rivals = guests.names();
  // A whole suite is also told against what the machine can do at most.
  if (!arguments.has("--tasks")) know_roofs();
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  KW_TRY(const std::int64_t run, begin_search(store, order));
  KW_TRY(const auto progress, Progress::open(arguments));
  return search_and_report(store, run, arguments.has("--json"), *progress, out);
}

}  // namespace

Command bench() {
  Command command = {
      .name = "bench",
      .summary = "the whole benchmark: kernels for every task of a suite, beside the frameworks' own operators",
      .description =
          "For each task: tries the techniques that serve it within the budget, judges the best in full, and measures "
          "it "
          "side by side with the frameworks. Ends with the field's table: CSR, FCR and fast_p per category and "
          "overall (docs/figures.md has the formulas). It can be stopped and resumed (`kw resume`). The budget is what "
          "the search may spend on each task, as a time or a number of candidates; judging and measuring the best "
          "takes "
          "a few seconds more. --within is about the whole: tasks share the time that is left. With neither, each task "
          "gets up to 3 seconds and all of them 18 minutes. More finds more: --within 2h. Before a whole suite the "
          "machine's roofs are measured where they are not known (`kw doctor`). --json ends with one object: "
          "run, tasks, csr, "
          "fcr, fast (per rival: p to share, and the same under sure), geomean, categories and more."
          "\n\n" +
          Progress::description(),
      .options = with_progress_options(
          {{.name = "SUITE", .help = "which suite; mobilekernelbench unless said", .completes = Completes::suite},
           {.name = "--tasks",
            .value = "NAMES",
            .help = "only these: names or categories with commas; Conv* means all that begin so, conv a category"},
           {.name = "--budget", .value = "TIME|N", .help = "of the search for each task: 30s, 20; unless said 3s"},
           {.name = "--within",
            .value = "TIME",
            .help = "of the whole, shared among the tasks: 20m; unless said 18m, or no limit with --budget"},
           author_option(),
           {.name = "--strategy",
            .value = "NAME",
            .help = "how the budget is spent: auto, random, local, evolve, tree, surrogate"},
           Guests::option(),
           {.name = "--seed", .value = "N", .help = "of the strategies; 1 unless said"},
           store_option(),
           {.name = "--json", .help = "one object at the end"}}),
      .examples = {"kw bench --tasks Relu,ReduceL1 --budget 2 --rival none --quiet",
                   "kw bench mobilekernelbench --tasks ReduceL2_keepdims --budget 1s --rival none --json"},
      .run = run};
  for (Option& option : agent_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace kw::cli::commands
