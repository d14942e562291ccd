// kw eval: judges a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <ostream>

#include "base/print.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/settings.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "judge/judge.h"
#include "judge/kept_verdicts.h"
#include "judge/large.h"
#include "judge/verdict_json.h"
#include "report/verdict_text.h"
#include "runs/batch_file.h"
#include "runs/batch_run.h"
#include "runs/kernel_file.h"
#include "runs/over_run.h"
#include "runs/without_timing.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

// What holds for all that one command judges.
Result<judge::Case> rules_of(const Arguments& arguments) {
  judge::Case rules;
  std::vector<std::string> sources = arguments.texts("FILE");
  for (const std::string& file : arguments.texts("--against")) {
    sources.push_back(file);
    KW_TRY(judge::Source rival, runs::read_kernel(file));
    rules.against.push_back(std::move(rival));
  }
  KW_TRY(rules.device, device_of(arguments, sources));
  KW_TRY(rules.settings, parse_settings(arguments.texts("--set")));
  // Flags that are settings too: the error names where the value came from.
  const auto name_of_flag = [&](const std::string& name) { return arguments.has("--" + name) ? "--" + name : name; };
  if (const std::string threads = setting(arguments, "threads"); !threads.empty() || arguments.has("--threads")) {
    KW_TRY(const std::int64_t given, whole_number_in(name_of_flag("threads"), threads, 1, 64));
    rules.threads = static_cast<int>(given);
  }
  if (arguments.has("--batch")) rules.budget_s = judge::kBatchBudget_s;
  if (const std::string budget = setting(arguments, "budget"); !budget.empty() || arguments.has("--budget")) {
    KW_TRY(rules.budget_s, number_in(name_of_flag("budget"), budget, 0.05, 600));
  }
  KW_TRY(const auto pairs, whole_number(arguments, "--pairs", kFewestPairs, 100000));
  if (pairs) rules.pairs = static_cast<int>(*pairs);
  rules.cold = arguments.has("--cold");
  rules.timed = !arguments.has("--untimed");
  return rules;
}

// A single verdict goes into a record that is there already, or that was asked for.
bool is_recorded(const Arguments& arguments) {
  if (arguments.has("--no-store")) return false;
  return arguments.has("--store") || store::Store::is_in(store_folder(arguments));
}

// A verdict for each size of a range.
Result<int> judge_at_sizes(const Arguments& arguments, const judge::Case& one, const runs::Rivals& rivals,
                           std::ostream& out) {
  KW_TRY(const std::vector<runs::OverRange> over, runs::parse_over(arguments.texts("--over")));
  KW_CHECK(runs::check_over(over, *one.task));
  std::optional<store::Store> store;
  if (is_recorded(arguments)) {
    KW_TRY(store, store::Store::open(store_folder(arguments)));
  }
  rivals.start();
  KW_TRY(const std::vector<runs::TimedSize> timed,
         runs::judge_over(one, *one.task, runs::sizes_over(over), rivals, store ? &*store : nullptr, command_line()));
  out << runs::answer_over(*one.task, over, timed, arguments.has("--json"));
  return runs::all_accepted(timed) ? kYes : kNo;
}

Result<int> judge_one(const Arguments& arguments, judge::Case one, std::ostream& out) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  one.task = &task;
  KW_TRY(one.source, runs::read_kernel(arguments.text("FILE")));
  if (arguments.has("--build-only") || arguments.has("--sanitize")) {
    KW_TRY(const runs::Said said,
           arguments.has("--sanitize") ? runs::sanitized(one, arguments.has("--json")) : runs::built(one));
    out << said.text;
    return said.good ? kYes : kNo;
  }
  KW_CHECK(judge::check_affordable_on(one.device, task, judge::means_of_this_machine()));
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, one.device));
  if (arguments.has("--over")) return judge_at_sizes(arguments, one, rivals, out);
  if (one.timed) {
    KW_TRY(one.frameworks, rivals.of(task, one.threads));
  }
  const std::string key = judge::key_of(one);
  std::optional<Verdict> verdict;
  if (!arguments.has("--fresh")) verdict = judge::kept_verdict(key);
  if (!verdict) {
    if (one.timed) rivals.start();
    const auto begin = std::chrono::steady_clock::now();
    std::optional<store::Store> store;
    std::optional<runs::Workplace> recorded;
    if (is_recorded(arguments)) {
      KW_TRY(store, store::Store::open(store_folder(arguments)));
      recorded.emplace(*store, one.device);
    }
    runs::Judges alone(one.device);
    runs::Judges& judges = recorded ? recorded->judges() : alone;
    KW_TRY(verdict, runs::judge_until_sure(judges, [&](judge::Judge& judge) { return judge.judge(one); }));
    const double spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (recorded) KW_CHECK(runs::record_one(*recorded, one, command_line(), *verdict, spent_s));
    judge::keep_verdict(key, *verdict);
  }
  if (arguments.has("--json")) {
    out << judge::verdict_as_json(*verdict) << "\n";
  } else {
    report::print_verdict(*verdict, out);
  }
  return verdict->accepted() ? kYes : kNo;
}

Result<int> judge_file_as_run(const Arguments& arguments, const judge::Case& rules, std::ostream& out) {
  std::map<std::string, Task> tasks;  // a map does not move what it holds
  KW_TRY(std::vector<runs::BatchLine> lines,
         runs::parse_batch(arguments.text("--batch"), rules, tasks, arguments.texts("--files")));
  auto store = store::Store::open(store_folder(arguments));
  if (!store.ok()) return fail("{}; --no-store judges without a record", store.error().message);
  const std::string author = setting(arguments, "author");
  const std::vector<store::NewItem> items = runs::items_of(lines, author);
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, rules.device));
  const runs::Order order{
      .suite = runs::suites_of(lines), .rules = rules, .fresh = arguments.has("--fresh"), .rivals = rivals.names()};
  store::NewRun run = runs::run_of(order, command_line());
  run.author = author;
  KW_TRY(const auto progress, open_progress(arguments));
  KW_TRY(const std::int64_t id, store->begin_run(run, items));
  if (!progress->is_quiet()) fmt::print(stderr, "kw: this is run r{} of {}\n", id, store->folder().string());
  for (const runs::BatchLine& line : lines) {
    if (line.problem.empty()) continue;
    const runs::LineAnswer answer{.position = line.number, .label = line.id, .error = line.problem};
    progress->print(out, answer.text() + "\n");
    progress->error(store::EventKind::problem, line.problem);
  }
  return work_on_batch({.store = *store, .progress = *progress, .out = out}, id, rivals);
}

Result<int> judge_file_unrecorded(const Arguments& arguments, const judge::Case& rules, std::ostream& out) {
  std::map<std::string, Task> tasks;  // a map does not move what it holds
  KW_TRY(const std::vector<runs::BatchLine> lines,
         runs::parse_batch(arguments.text("--batch"), rules, tasks, arguments.texts("--files")));
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, rules.device));
  KW_TRY(const auto progress, open_progress(arguments));
  progress->plan({.total = std::ssize(lines)});
  std::vector<const runs::BatchLine*> line_of;  // of each case
  std::vector<judge::Case> cases;
  bool broken = false, all = true;
  const auto answer = [&](const runs::BatchLine& line, const Result<Verdict>& verdict) {
    broken = broken || !verdict.ok();
    all = all && verdict.ok() && verdict->accepted();
    runs::LineAnswer said{.position = line.number, .label = line.id};
    if (verdict.ok()) said.verdict = judge::verdict_as_json(*verdict);
    if (!verdict.ok()) said.error = verdict.error().message;
    progress->print(out, said.text() + "\n");
    if (verdict.ok()) {
      progress->finish(line.number, line.wanted->task->name, line.wanted->source.name, *verdict);
    } else {
      progress->drop(line.number);
      progress->error(store::EventKind::problem, verdict.error().message);
    }
    progress->advance();
  };
  for (const runs::BatchLine& line : lines) {
    if (!line.wanted) {
      answer(line, Error{line.problem});
      continue;
    }
    judge::Case one = *line.wanted;
    KW_TRY(one.frameworks, rivals.of(*one.task, one.threads));
    if (const auto kept = arguments.has("--fresh") ? std::nullopt : judge::kept_verdict(judge::key_of(one))) {
      answer(line, *kept);
    } else {
      line_of.push_back(&line);
      cases.push_back(std::move(one));
    }
  }
  runs::Judges judges(rules.device);
  KW_CHECK(runs::judge_many(
      judges, cases,
      [&](std::size_t index, const Result<Verdict>& verdict) -> Status {
        if (verdict.ok()) judge::keep_verdict(judge::key_of(cases[index]), *verdict);
        answer(*line_of[index], verdict);
        return {};
      },
      [&](std::size_t index, const char* doing) {
        progress->start(line_of[index]->number, cases[index].task->name, cases[index].source.name, doing);
      },
      [&](std::size_t index) { progress->drop(line_of[index]->number); }));
  progress->end(store::RunState::done);
  return broken ? kBroken : all ? kYes : kNo;
}

Result<int> run_eval(const Arguments& arguments, std::ostream& out) {
  const bool many = arguments.has("--batch");
  if (many && arguments.has("TASK")) return fail("--batch takes its tasks and files from its own file");
  if (arguments.has("--build-only") && (many || arguments.has("--json"))) {
    return fail("--build-only is for one kernel, and prints text");
  }
  if (!many && !arguments.has("FILE")) return fail("kw eval takes a task and a file: kw eval Relu relu.cpp");
  if (!many && targets::is_source(arguments.text("TASK")) && !targets::is_source(arguments.text("FILE"))) {
    return fail("the task comes first: kw eval {} {}", arguments.text("FILE"), arguments.text("TASK"));
  }
  KW_TRY(const judge::Case rules, rules_of(arguments));
  if (arguments.has("--sanitize") && many) return fail("--sanitize is for one kernel");
  if (arguments.has("--over") && (many || !rules.timed)) return fail("--over is for one kernel, and times it");
  if (!many) return judge_one(arguments, rules, out);
  return arguments.has("--no-store") ? judge_file_unrecorded(arguments, rules, out)
                                     : judge_file_as_run(arguments, rules, out);
}

}  // namespace

Command eval() {
  return {
      .name = "eval",
      .topic = Topic::kernels,
      .summary = "judges a kernel: is it right, how fast is it, how sure is that",
      .description =
          "Builds the kernel in a sandbox, runs it on the task's own shape and on shapes and values that its author "
          "never "
          "saw, and times it against the task's plain kernel, installed frameworks and other files, side by side. Exit "
          "code 0: accepted; 1: "
          "rejected; 2: wrong use or a broken machine.\n\n"
          "--json prints one object: task, target, accepted, stage (where it stopped: build, load, verify, hidden, "
          "guard, "
          "precision, behaviour, time; or accepted), reason, errors (file, line, message, around), max_error (in parts "
          "of "
          "what is allowed), time_ns, caches, warm_time_ns (on a GPU, where time_ns is of cold caches), speedup (by "
          "rival: median, low, high, pairs, claimed, on a GPU warm; of a framework, less "
          "the cost of calling it, and in called as called: version, median, low, high, time_ns, overhead_ns, "
          "overhead_decides), left_out (by rival whose time does not count: version, why), roof_fraction, noise, "
          "isolation, varies, kept.\n\n"
          "--batch judges every line of a file of JSON objects: task, and file or source (the text itself), and if "
          "need be set "
          "(an object), id, author, notes and parents (ids of earlier lines). It prints one such object a line, in the "
          "order of completion, with line "
          "and id; a line that cannot be judged gives line, id and error. A batch is a run of the record in .kw: what "
          "is printed is on the disk, `kw resume` goes on after Ctrl-C, a crash or a full disk, and `kw runs` lists "
          "it. A single verdict is recorded where there is a record already, or with --store.\n\n"
          "--over judges the kernel at the ends and the middle of a range, and at six sizes between. With --json: "
          "task, "
          "accepted, over, sizes (lengths, seen, verdict), unseen (by rival: sizes, median, worst, worst_at).\n\n" +
          progress_description(),
      .options = with_progress_options(
          {{.name = "TASK", .help = "which task", .completes = Completes::task},
           {.name = "FILE",
            .help = "the kernel's source: C++, C (.c), or another target's language",
            .completes = Completes::file},
           target_option(),
           rival_option(),
           {.name = "--against",
            .value = "FILE",
            .help = "a rival besides the plain kernel",
            .repeated = true,
            .completes = Completes::file},
           {.name = "--set", .value = "NAME=VALUE", .help = "sets a tunable, `compiler` or `flags`", .repeated = true},
           {.name = "--threads", .value = "N", .help = "threads that the kernel may use (1)"},
           {.name = "--cold",
            .help = "time with cold caches instead of warm ones (a GPU's kernels always are, and with both)"},
           {.name = "--budget", .value = "S", .help = "seconds that timing may take (2, in a batch 0.06)"},
           {.name = "--pairs", .value = "N", .help = "time exactly N pairs"},
           {.name = "--untimed", .help = "stop when the kernel is known to be right"},
           {.name = "--build-only", .help = "stop when the kernel is built; needs no GPU for one of a GPU"},
           {.name = "--sanitize", .help = "run it under compute-sanitizer (of a GPU), on its own and small shapes"},
           {.name = "--fresh", .help = "judge again what was judged before"},
           {.name = "--batch",
            .value = "FILE",
            .help = "judges many: a JSON object a line, see above",
            .completes = Completes::file},
           {.name = "--files",
            .value = "DIR",
            .help = "with --batch: its lines may name files of this folder too, and not only of the batch's own",
            .repeated = true,
            .completes = Completes::file},
           {.name = "--author", .value = "NAME", .help = "the author of the batch's kernels, for the record"},
           store_option(),
           {.name = "--no-store", .help = "judge without a record"},
           dim_option(),
           over_option(),
           {.name = "--json", .help = "one JSON object instead of text"}}),
      .examples = {"kw init Relu --out relu.cpp --force", "kw eval Relu relu.cpp",
                   "kw eval Relu relu.cpp --set flags=-O2 --budget 0.2 --json"},
      .run = run_eval};
}

}  // namespace kw::cli::commands
