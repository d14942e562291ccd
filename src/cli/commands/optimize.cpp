// kw optimize: searches a fast kernel for one task and writes it to take away.

#include <filesystem>
#include <ostream>

#include "cli/author_flags.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/search_flags.h"
#include "cli/settings.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "judge/large.h"
#include "runs/kernel_file.h"
#include "runs/over_run.h"
#include "runs/takeaway.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

Result<runs::Order> order_of(const Arguments& arguments) {
  runs::Order order{.kind = store::RunKind::search};
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  const std::string what = arguments.text("TASK");
  std::string task_name = what;
  if (targets::is_source(what)) {
    if (!arguments.has("--task")) return fail("{}: a kernel of your own needs --task TASK: for what is it?", what);
    task_name = arguments.text("--task");
    KW_TRY(judge::Source kernel, runs::read_kernel(what));
    KW_TRY(order.rules.device, device_of(arguments, {what}));
    KW_TRY(const Tunables tunables, read_tunables(kernel.text));
    if (tunables.list.empty() && tunables.compilers.empty() && tunables.flags.empty()) {
      fmt::print(stderr, "kw: {} has no tunables (KW_TUNE): only compilers and flags are searched\n", what);
    }
    order.kernel = std::move(kernel);
    order.search.author = "file";
  } else if (arguments.has("--task")) {
    return fail("--task {}: {} is no source file (.cpp, .c) that it could belong to", arguments.text("--task"), what);
  } else {
    KW_TRY(order.rules.device, device_of(arguments));
  }
  KW_TRY(Task task, suites::find_task(task_name, dims));
  KW_CHECK(judge::check_affordable_on(order.rules.device, task, judge::means_of_this_machine()));
  order.suite = task.suite;
  order.tasks.push_back(std::move(task));
  KW_CHECK(check_author(arguments));
  order.search.budget = arguments.has("--budget") ? arguments.text("--budget") : "20s";
  order.rules.budget_s = 2;
  if (const std::string threads = setting(arguments, "threads"); !threads.empty()) {
    const char* name = arguments.has("--threads") ? "--threads" : "threads";
    KW_TRY(const std::int64_t given, whole_number_in(name, threads, 1, 64));
    order.rules.threads = static_cast<int>(given);
  }
  if (arguments.has("--strategy")) order.search.strategy = arguments.text("--strategy");
  KW_CHECK(check_search(order.search));
  KW_TRY(order.search.seed, seed_of(arguments));
  const fs::path folder = arguments.has("--out") ? fs::path(arguments.text("--out")) : runs::takeaway_folder(task_name);
  KW_TRY(const fs::path made, runs::new_folder(folder, arguments.has("--force")));
  order.out = made.string();
  return order;
}

// A search at each size that may be seen; of what it finds the kernel that is best over all of them.
Result<int> optimize_over(const Arguments& arguments, const Terminal& terminal, const runs::Order& order,
                          const runs::Rivals& rivals) {
  KW_TRY(const std::vector<runs::OverRange> over, runs::parse_over(arguments.texts("--over")));
  KW_CHECK(runs::check_over(over, order.tasks[0]));
  KW_TRY(const runs::Order searches, runs::searches_over(order, over));
  KW_TRY(const std::int64_t run, terminal.store.begin_run(runs::run_of(searches, command_line()), {}));
  KW_TRY(const std::vector<runs::SearchedTask> found, searched(terminal, run, rivals));
  KW_TRY(const runs::OverSearch done, runs::finish_over(found, order, over, rivals, terminal.store, command_line()));
  terminal.out << runs::answer_over(done, over, run, terminal.json);
  return done.accepted() ? kYes : kNo;
}

Result<int> run_optimize(const Arguments& arguments, std::ostream& out) {
  KW_TRY(runs::Order order, order_of(arguments));
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, order.rules.device));
  if (!arguments.has("--over")) return begin_search(arguments, std::move(order), rivals, out);
  if (wants_model(arguments)) return fail("--over searches with techniques, or with a file: leave --author out");
  order.rivals = rivals.names();
  KW_TRY(const auto progress, open_progress(arguments));
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  const Terminal terminal{.store = store, .progress = *progress, .out = out, .json = arguments.has("--json")};
  return optimize_over(arguments, terminal, order, rivals);
}

}  // namespace

Command optimize() {
  Command command = {
      .name = "optimize",
      .topic = Topic::kernels,
      .summary = "searches a fast kernel for a task, and writes it to take away",
      .description =
          "Tries the techniques that serve the task, with their tunables, compilers and flags; judges the best in "
          "full, "
          "beside the frameworks, and writes it with its tunables fixed, what was tested in its opening comment, and a "
          "program that checks and times it. With a kernel of your own, `kw optimize FILE.cpp --task TASK` searches "
          "the "
          "values of the tunables in it (KW_TUNE); with an author that asks a model, it is the kernel to start from. A "
          "budget is a time or a number of candidates. --json prints the "
          "verdict as `kw eval --json` does, with run, technique, settings, tried, advice and files. Exit code 0 where "
          "a right "
          "kernel was found.\n\n"
          "--over N=1..64 searches at the ends and the middle of a range, and tells how fast the best kernel is at six "
          "sizes that no search has seen; with --json: range (as kw eval --over), losses (where another one is faster)."
          "\n\n" +
          progress_description(),
      .options = with_progress_options(
          {{.name = "TASK", .help = "which task, or a source file", .required = true, .completes = Completes::task},
           {.name = "--task", .value = "TASK", .help = "what the source file is for", .completes = Completes::task},
           {.name = "--budget",
            .value = "TIME|N",
            .help = "what the search may spend, a time or a number of candidates: 60s, 5m, 200 (default: 20s)"},
           {.name = "--threads",
            .value = "N",
            .help = "how many threads the kernel and each framework get (default: 1)"},
           target_option(),
           author_option(),
           {.name = "--strategy",
            .value = "NAME",
            .help = "how the budget is spent: auto, random, local, evolve, tree, surrogate"},
           rival_option(),
           {.name = "--out", .value = "DIR", .help = "folder for the kernel (default: TASK-kernel)"},
           {.name = "--force", .help = "write into a folder in which there is something"},
           {.name = "--seed", .value = "N", .help = "seed of the search strategy (default: 1)"},
           dim_option(),
           over_option(),
           store_option(),
           {.name = "--json", .help = "one object"}}),
      .examples = {"kw optimize Relu --budget 4 --rival none --out relu-kernel --quiet",
                   "kw optimize ReduceL1 --budget 3s --strategy local --rival none --out l1 --json"},
      .run = run_optimize};
  for (Option& option : agent_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace kw::cli::commands
