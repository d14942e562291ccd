// kw optimize: searches a fast kernel for one task and writes it to take away.

#include <filesystem>
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "cli/agent_run.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/guests.h"
#include "cli/kernel_file.h"
#include "cli/search_options.h"
#include "cli/search_run.h"
#include "cli/store_folder.h"
#include "cli/takeaway.h"
#include "cli/verdict_text.h"
#include "judge/verdict_json.h"
#include "suites/catalog.h"
#include "targets/cpu/facts.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

Result<SearchOrder> order_of(const Arguments& arguments) {
  SearchOrder order;
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  const std::string what = arguments.text("TASK");
  std::string task_name = what;
  if (is_source(what)) {
    if (!arguments.has("--task")) return fail("{}: a kernel of your own needs --task TASK: for what is it?", what);
    task_name = arguments.text("--task");
    KW_TRY(judge::Source kernel, read_kernel(what));
    KW_TRY(const Tunables tunables, read_tunables(kernel.text));
    if (tunables.list.empty() && tunables.compilers.empty() && tunables.flags.empty()) {
      fmt::print(stderr, "kw: {} has no tunables (KW_TUNE): only compilers and flags are searched\n", what);
    }
    order.kernel = std::move(kernel);
    order.author = "file";
  } else if (arguments.has("--task")) {
    return fail("--task {}: {} is no source file (.cpp, .c) that it could belong to", arguments.text("--task"), what);
  }
  KW_TRY(Task task, suites::find_task(task_name, dims));
  order.suite = task.suite;
  order.tasks.push_back(std::move(task));
  KW_CHECK(check_author(arguments));
  order.budget = "20s";
  order.confirm_s = 2;
  KW_CHECK(read_search_options(arguments, order));
  // A folder that cannot be made is told now, not when the budget is spent.
  if (arguments.has("--out")) {
    std::error_code error;
    fs::create_directories(arguments.text("--out"), error);
    if (error) return fail("--out {}: {}", arguments.text("--out"), error.message());
  }
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  order.rivals = guests.names();
  return order;
}

// With a language model as the author.
Result<int> run_with_model(const Arguments& arguments, SearchOrder order, std::ostream& out) {
  const Task task = order.tasks[0];
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  KW_TRY(const AgentRun done, run_agents(arguments, order.tasks, order.suite, store));
  const AgentTask& result = done.tasks[0];
  std::vector<fs::path> files;
  if (result.accepted()) {
    const fs::path folder = arguments.has("--out") ? fs::path(arguments.text("--out")) : takeaway_folder(task.name);
    KW_TRY(files, take_away(folder, task, {"kernel.cpp", result.source}, result.settings, *result.verdict,
                            targets::read_cpu_facts().model));
  }
  if (arguments.has("--json")) {
    Json json = result.verdict ? Json::parse(judge::verdict_as_json(*result.verdict))
                               : Json{{"task", task.name}, {"accepted", false}};
    json["run"] = "r" + std::to_string(done.run);
    json["settings"] = result.settings;
    json["model"] = Json::parse(agent_summary_json(done, result));
    json["files"] = Json::array();
    for (const auto& file : files) json["files"].push_back(file.string());
    out << json.dump() << "\n";
    return result.accepted() ? kYes : kNo;
  }
  if (result.verdict) print_verdict(*result.verdict, out);
  print_agent_summary(done, result, out);
  for (const auto& file : files) print(out, "  wrote          {}\n", file.string());
  return result.accepted() ? kYes : kNo;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  KW_TRY(SearchOrder order, order_of(arguments));
  if (wants_model(arguments)) return run_with_model(arguments, std::move(order), out);
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  KW_TRY(const std::int64_t run, begin_search(store, order));
  std::optional<SearchedTask> result;
  KW_TRY(const auto progress, Progress::open(arguments));
  KW_CHECK(work_on_search(store, run, *progress, [&](const SearchedTask& task) { result = task; }));
  if (!result) return fail("the search ended without a kernel");

  const Verdict& verdict = result->verdict;
  std::vector<fs::path> files;
  if (verdict.accepted()) {
    const fs::path folder = arguments.has("--out") ? fs::path(arguments.text("--out")) : takeaway_folder(result->task);
    KW_TRY(files, take_away(folder, order.tasks[0], {result->file, result->source}, result->settings, verdict,
                            targets::read_cpu_facts().model));
  }
  if (arguments.has("--json")) {
    Json json = Json::parse(judge::verdict_as_json(verdict));
    json["run"] = "r" + std::to_string(run);
    json["technique"] = result->technique;
    json["settings"] = result->settings;
    json["tried"] = result->tried;
    json["files"] = Json::array();
    for (const auto& file : files) json["files"].push_back(file.string());
    out << json.dump() << "\n";
    return verdict.accepted() ? kYes : kNo;
  }
  print_verdict(verdict, out);
  print(out, "\n  technique      {}", result->technique);
  for (const auto& [name, value] : result->settings) print(out, "  {}={}", name, value);
  print(out, "\n  tried          {} {}{}, run r{}\n", result->tried, result->tried == 1 ? "candidate" : "candidates",
        result->exhausted ? " (there is nothing more that may be faster)" : "", run);
  for (const auto& file : files) print(out, "  wrote          {}\n", file.string());
  return verdict.accepted() ? kYes : kNo;
}

}  // namespace

Command optimize() {
  Command command = {
      .name = "optimize",
      .summary = "searches a fast kernel for a task, and writes it to take away",
      .description =
          "Tries the techniques that serve the task, with their tunables, compilers and flags; judges the best in "
          "full, "
          "beside the frameworks, and writes it with its tunables fixed, what was tested in its opening comment, and a "
          "program that checks and times it. With a kernel of your own, `kw optimize FILE.cpp --task TASK` searches "
          "the "
          "values of the tunables in it (KW_TUNE). A budget is a time or a number of candidates. --json prints the "
          "verdict as `kw eval --json` does, with run, technique, settings, tried and files. Exit code 0 where a right "
          "kernel was found."
          "\n\n" +
          Progress::description(),
      .options = with_progress_options(
          {{.name = "TASK", .help = "which task, or a source file", .required = true, .completes = Completes::task},
           {.name = "--task", .value = "TASK", .help = "what the source file is for", .completes = Completes::task},
           {.name = "--budget",
            .value = "TIME|N",
            .help = "what to spend on the search: 60s, 5m, 200; unless said 20s"},
           author_option(),
           {.name = "--strategy",
            .value = "NAME",
            .help = "how the budget is spent: auto, random, local, evolve, tree, surrogate"},
           Guests::option(),
           {.name = "--out", .value = "DIR", .help = "where to write the kernel; unless said TASK-kernel"},
           {.name = "--seed", .value = "N", .help = "of the strategy; 1 unless said"},
           {.name = "--dim", .value = "NAME=VALUE", .help = "gives an open length a value", .repeated = true},
           store_option(),
           {.name = "--json", .help = "one object"}}),
      .examples = {"kw optimize Relu --budget 4 --rival none --out relu-kernel --quiet",
                   "kw optimize ReduceL1 --budget 3s --strategy local --rival none --out l1 --json"},
      .run = run};
  for (Option& option : agent_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace kw::cli::commands
