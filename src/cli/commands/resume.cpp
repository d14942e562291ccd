// kw resume: goes on with a run that was stopped.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/author_flags.h"
#include "cli/commands.h"
#include "cli/model_flags.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "runs/left.h"
#include "store/run_lock.h"

namespace kw::cli::commands {
namespace {

Result<int> list_unfinished(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const auto store, look_into_store(arguments, out));
  if (!store) return kNo;
  KW_TRY(const auto runs, store->runs());
  Json list = Json::array();
  for (const store::RunSummary& run : runs) {
    if (run.is_done()) continue;
    const auto owner = store::RunLock::owner(store->folder(), run.id);
    KW_TRY(const runs::Left left, runs::left_of(*store, run));
    list.push_back({{"run", run.name()}, {"left", left.left}, {"total", left.total}, {"at_work", bool(owner)}});
    if (!arguments.has("--json")) {
      print(out, "{:<6} {}{}\n", run.name(), left.text,
            owner ? fmt::format(", being worked on by process {}", *owner) : "");
    }
  }
  if (arguments.has("--json")) {
    out << list.dump() << "\n";
  } else if (list.empty()) {
    out << "every run is done\n";
  }
  return list.empty() ? kNo : kYes;
}

// What a run that was not begun here reaches for must be allowed by its name.
Status check_allowed(const Arguments& arguments, const store::RunSummary& run) {
  if (run.is_own) return {};
  const std::vector<std::string> allowed = arguments.texts("--allow");
  for (const std::string& what : runs::reach_of(run)) {
    if (std::ranges::find(allowed, what) != allowed.end()) continue;
    return fail("{} was not begun here, and would use '{}'; where that is meant: kw resume {} --allow {}", run.name(),
                what, run.name(), shell_word(what));
  }
  return {};
}

Result<int> run_resume(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("RUN")) return list_unfinished(arguments, out);
  KW_TRY(store::Store store, store::Store::open_existing(store_folder(arguments)));
  KW_TRY(const store::RunSummary run, store.find_run(arguments.text("RUN")));
  if (run.is_done()) {
    fmt::print(stderr, "kw: {} is done: nothing is left of it\n", run.name());
  }
  KW_CHECK(check_allowed(arguments, run));
  {
    // Whether another program works on it is said before rivals are looked for.
    KW_TRY([[maybe_unused]] const store::RunLock mine, store::RunLock::take(store.folder(), run.id));
  }
  KW_TRY(runs::Order order, runs::order_of(run));
  KW_TRY(const runs::Rivals rivals, rivals_named(order.rivals, order.rules.device));
  KW_TRY(const auto progress, open_progress(arguments));
  const Terminal terminal{
      .store = store, .progress = *progress, .out = out, .json = arguments.has("--json"), .is_resumed = true};
  switch (run.kind()) {
    case store::RunKind::rounds: {
      KW_TRY(const AuthorRun done, ask_author(arguments, terminal, std::move(order), rivals, run.id));
      return print_author_run(terminal, done);
    }
    case store::RunKind::search:
      return work_on_search(terminal, run.id, rivals);
    case store::RunKind::batch:
      return work_on_batch(terminal, run.id, rivals);
  }
  return kBroken;
}

}  // namespace

Command resume() {
  Command command = {
      .name = "resume",
      .topic = Topic::record,
      .summary = "goes on with a run that was stopped or killed",
      .description =
          "Judges what is left of a run: nothing that has a verdict is judged again. Tasks, sources, rivals and "
          "rules are those of the record, whatever was edited meanwhile. Prints a line for each verdict, as `kw "
          "eval --batch` does; the exit code is about the whole run. A run of `kw optimize` or `kw bench` ends with "
          "what that "
          "command prints and writes, the kernel in its --out folder too. Without a run it lists those that are not "
          "done; --json then prints [{run, left, total, at_work}].\n\n"
          "A run of an author that asks a model goes on with the round that each unfinished task had come to. Author, "
          "model, rounds, prompts and budgets are those of the record, the budgets anew for each sitting; flags given "
          "here hold over them. --record and --replay are given anew.\n\n" +
          progress_description(),
      .options = with_progress_options({{.name = "RUN", .help = "which run, such as r3", .completes = Completes::run},
                                        store_option(),
                                        {.name = "--json", .help = "the list as JSON"},
                                        {.name = "--allow",
                                         .value = "WHAT",
                                         .help = "of an imported run: this model, repository, prompts or --out folder",
                                         .repeated = true}}),
      .examples = {"kw resume", "kw resume r2"},
      .run = run_resume};
  command.options.push_back(in_flight_option());
  for (Option& option : model_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace kw::cli::commands
