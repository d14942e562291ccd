// kw bench: the whole benchmark.

#include <ostream>

#include "base/nearest.h"
#include "cli/author_flags.h"
#include "cli/commands.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/search_flags.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "judge/large.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

constexpr char kDefaultSuite[] = "mobilekernelbench";
// Unless something else is said, the whole takes no longer: the first command of a new user ends before the coffee is
// cold.
constexpr char kUsualTime[] = "18m";
constexpr double kConfirm_s = 0.5;  // of timing the winner

// Those that this machine can judge; what it cannot is said, a line each, or made smaller.
Result<std::vector<Task>> affordable_ones(std::vector<Task> tasks, const std::string& device, bool shrinks) {
  const judge::Means means = judge::means_of_this_machine();
  std::vector<Task> affordable;
  for (Task& task : tasks) {
    if (shrinks) task = judge::made_affordable(std::move(task), means);
    const Status fine = judge::check_affordable_on(device, task, means);
    if (fine.ok()) {
      affordable.push_back(std::move(task));
    } else {
      fmt::print(stderr, "kw: left out: {}\n", fine.error().message);
    }
  }
  if (affordable.empty() && !tasks.empty()) {
    return fail("none of the {} tasks is small enough to be judged here; --shrink makes them smaller", tasks.size());
  }
  return affordable;
}

Result<int> run_bench(const Arguments& arguments, std::ostream& out) {
  runs::Order order{.kind = store::RunKind::search};
  const std::string name = arguments.has("SUITE") ? arguments.text("SUITE") : kDefaultSuite;
  KW_TRY(suites::Suite suite, suites::find_suite(name));
  order.suite = suite.name;
  KW_TRY(const auto level, whole_number(arguments, "--level", 1, 99));
  if (level) {
    KW_TRY(suite.tasks, suites::tasks_of_level(std::move(suite.tasks), static_cast<int>(*level)));
  }
  KW_TRY(std::vector<Task> tasks, suites::tasks_named(std::move(suite.tasks), arguments.text("--tasks")));
  KW_TRY(order.rules.device, device_of(arguments));
  KW_TRY(order.tasks, affordable_ones(std::move(tasks), order.rules.device, arguments.has("--shrink")));
  KW_CHECK(check_author(arguments));
  if (arguments.has("--budget")) {
    order.search.budget = arguments.text("--budget");
  } else if (arguments.has("--within")) {
    order.search.budget = arguments.text("--within");  // its share of it, that is
  }
  if (arguments.has("--within") || !arguments.has("--budget")) {
    KW_TRY(order.search.within_s,
           time_in("--within", arguments.has("--within") ? arguments.text("--within") : kUsualTime));
  }
  if (arguments.has("--strategy")) order.search.strategy = arguments.text("--strategy");
  KW_CHECK(check_search(order.search));
  KW_TRY(order.search.seed, seed_of(arguments));
  order.rules.budget_s = kConfirm_s;
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, order.rules.device));
  if (!arguments.has("--tasks") && !wants_model(arguments)) know_roofs(order.rules.device);
  return begin_search(arguments, std::move(order), rivals, out);
}

}  // namespace

Command bench() {
  Command command = {
      .name = "bench",
      .topic = Topic::kernels,
      .summary = "the whole benchmark: kernels for every task of a suite, beside the frameworks' own operators",
      .description =
          "For each task: tries the techniques that serve it within the budget, judges the best in full, and measures "
          "it "
          "side by side with the frameworks. Ends with the field's table: CSR, FCR and fast_p per category and "
          "overall (docs/figures.md has the formulas). It can be stopped and resumed (`kw resume`). The budget is what "
          "the search may spend on each task, as a time or a number of candidates; judging and measuring the best "
          "takes "
          "a few seconds more. --within is about the whole: tasks share the time that is left. With neither, each task "
          "gets up to 3 seconds and all of them 18 minutes. More finds more: --within 2h. Tasks that are too large for "
          "this "
          "machine to compute a reference of are left out, a line each; --shrink makes them smaller, and their names "
          "then end in _small. Before a whole suite the "
          "machine's roofs are measured where they are not known (`kw doctor`). --json ends with one object: "
          "run, tasks, csr, "
          "fcr, fast (per rival: p to share, and the same under sure), geomean, categories and more."
          "\n\n" +
          progress_description(),
      .options = with_progress_options(
          {{.name = "SUITE", .help = "the suite (default: mobilekernelbench)", .completes = Completes::suite},
           {.name = "--tasks",
            .value = "NAMES",
            .help = "only these: names or categories with commas; Conv* means all that begin so, conv a category"},
           {.name = "--level", .value = "N", .help = "only tasks of this level, of a suite that has levels"},
           {.name = "--shrink",
            .help = "tasks too large for this machine with their longest lengths halved until they fit"},
           {.name = "--budget",
            .value = "TIME|N",
            .help = "what the search may spend on each task, a time or a number of candidates: 30s, 20 (default: 3s)"},
           {.name = "--within",
            .value = "TIME",
            .help = "time for the whole, shared among the tasks: 20m (default: 18m; with --budget no limit)"},
           target_option(),
           author_option(),
           {.name = "--strategy",
            .value = "NAME",
            .help = "how the budget is spent: auto, random, local, evolve, tree, surrogate"},
           rival_option(),
           {.name = "--seed", .value = "N", .help = "seed of the search strategies (default: 1)"},
           store_option(),
           {.name = "--json", .help = "one object at the end"}}),
      .examples = {"kw bench --tasks Relu,ReduceL1 --budget 2 --rival none --quiet",
                   "kw bench mobilekernelbench --tasks ReduceL2_keepdims --budget 1s --rival none --json"},
      .run = run_bench};
  for (Option& option : agent_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace kw::cli::commands
