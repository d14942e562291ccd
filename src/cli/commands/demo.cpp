// kw demo: one task from start to end, for a first look at kw. Nothing in it is prepared: it searches,
// judges and writes as `kw optimize` and `kw report` do.
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/search_flags.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "compose/plain.h"
#include "compose/techniques.h"
#include "report/page.h"
#include "report/verdict_text.h"
#include "runs/drafts.h"
#include "search/space.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

constexpr char kUsualTask[] = "Softmax";
// With installing two rivals and judging the best, the whole stays below two minutes.
constexpr char kUsualBudget[] = "20s";
constexpr std::size_t kMostLines = 30;  // of a source that is shown

void say_part(int number, const std::string& title, std::ostream& out) {
  print(out, "\n{}. {}\n\n", number, title);
  out.flush();
}

// Each line a little to the right, and no more of them than fit a screen.
std::string excerpt(const std::string& text) {
  std::string shown;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (++lines > kMostLines) return shown + "    ...\n";
    shown += "    " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return shown;
}

// What a kernel has to compute, without the worked example.
Status show_task(const Task& task, std::ostream& out) {
  KW_TRY(const std::string text, runs::task_as_text(task, targets::usual_device(), {.example = false}));
  out << text;
  return {};
}

Status show_plain(const ops::Graph& graph, std::ostream& out) {
  const std::string& op = graph.nodes.front().call.op->name;
  KW_TRY(const fs::path file, compose::file_of(op));
  KW_TRY(const std::string text, read_file(file));
  print(out, "  Straightforward loops compute it right, on every shape (kernels/plain/{}):\n\n{}",
        file.filename().string(), excerpt(text));
  return {};
}

Status show_space(const ops::Graph& graph, const std::string& budget, std::ostream& out) {
  KW_TRY(const auto techniques, runs::techniques_for(targets::usual_device()));
  KW_TRY(std::vector<search::Kernel> kernels, runs::kernels_for(targets::usual_device(), graph, techniques));
  std::vector<std::string> names;
  for (const search::Kernel& kernel : kernels) names.push_back(kernel.technique);
  KW_TRY(const search::Space space,
         search::Space::of(std::move(kernels), targets::build_options(targets::usual_device())));
  print(out,
        "  Techniques for it: {}. With their tunables,\n  compilers and flags they make {} kernels; the search has {} "
        "to find a fast one. Each is compiled,\n  compared with the reference on the task's own shape, and timed.\n",
        fmt::join(names, ", "), space.count(), budget);
  out.flush();
  return {};
}

// "2.31 times as fast as mnn 3.6.1"; a difference within the noise is none.
std::string comparison_text(const Verdict& verdict) {
  std::vector<std::string> all;
  for (const Speedup& one : verdict.speedups) {
    const std::string rival = one.called ? one.rival + " " + one.called->version : one.rival;
    all.push_back(one.claimed ? fmt::format("{:.2f} times as fast as {}", one.median, rival)
                              : fmt::format("as fast as {}, within the noise", rival));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

void show_verdict(const Verdict& verdict, const std::string& rivals, std::ostream& out) {
  report::print_verdict(verdict, out);
  if (!verdict.accepted()) return;
  print(out, "\n  In short: right on the task's shapes and on hidden ones, and {}.\n", comparison_text(verdict));
  if (rivals == "none") {
    out << "  No framework took part: `kw rivals install mnn` and `kw rivals install onnxruntime` fetch two.\n";
  }
}

Status write_report(const store::Store& store, std::int64_t run, const fs::path& file) {
  KW_TRY(const std::string page, report::html_report(store, std::vector{run}, KW_VERSION));
  return write_file(file, page);
}

void say_what_next(const std::string& task, const std::string& kernel, std::int64_t run, std::ostream& out) {
  const std::pair<std::string, const char*> ways[] = {
      {fmt::format("kw eval {} {}", task, kernel), "judge that file again, or one of your own"},
      {"kw tasks", "what else there is to be solved"},
      {"kw optimize MatMul --budget 60s", "another task, for longer"},
      {"kw bench --tasks Reduction", "all tasks of a category, and a table"},
      {fmt::format("kw runs r{}", run), "every candidate that was tried"}};
  out << "\nTo try next (in the source folder, ./kw):\n";
  for (const auto& [command, what] : ways) print(out, "  {:<{}}  {}\n", command, ways[0].first.size(), what);
}

Result<int> run_demo(const Arguments& arguments, std::ostream& out) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string name = arguments.has("TASK") ? arguments.text("TASK") : kUsualTask;
  const fs::path folder = arguments.has("--out") ? arguments.text("--out") : "kw-demo";
  KW_TRY(const Task task, suites::find_task(name));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  runs::Order order{.kind = store::RunKind::search, .suite = task.suite, .tasks = {task}};
  order.search.budget = arguments.has("--budget") ? arguments.text("--budget") : kUsualBudget;
  order.rules.budget_s = 2;
  order.out = fs::absolute(folder / "kernel").lexically_normal().string();
  // Before anything is shown: what cannot be written or understood ends it now.
  KW_CHECK(check_search(order.search));
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  KW_TRY(const auto progress, open_progress(arguments));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: {}; --out names another folder", folder.string(), error.message());

  print(out, "kw takes one task from start to end, in a minute or two. Everything is computed here and now.\n");
  out.flush();
  know_roofs(order.rules.device);
  say_part(1, "The task", out);
  KW_CHECK(show_task(task, out));
  say_part(2, "A plain kernel", out);
  KW_CHECK(show_plain(graph, out));
  say_part(3, "The search", out);
  KW_CHECK(show_space(graph, order.search.budget, out));
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, order.rules.device));
  order.rivals = rivals.names();
  KW_TRY(const std::int64_t run, store.begin_run(runs::run_of(order, command_line()), {}));
  KW_TRY(const std::vector<runs::SearchedTask> results,
         searched({.store = store, .progress = *progress, .out = out}, run, rivals));
  const runs::SearchedTask& result = results[0];
  print(out, "\n  The fastest of {} is {}, with these settings:\n", result.tried, result.technique);
  for (const auto& [setting, value] : result.settings) print(out, "    {} = {}\n", setting, value);

  say_part(4, order.rivals == "none" ? "The verdict on it" : "The verdict on it, beside the frameworks' own operators",
           out);
  show_verdict(result.verdict, order.rivals, out);
  if (!result.verdict.accepted()) return kNo;

  say_part(5, "The kernel to take away", out);
  std::vector<fs::path> files;
  for (const fs::path& file : result.files) files.push_back(folder / "kernel" / file.filename());
  print(out, "  {}    any C++20 compiler builds it; its opening comment says how, and what was tested\n",
        files.at(0).string());
  print(out, "  {}    how to use it from C, what it needs, and how to check it\n",
        (folder / "kernel" / "README.md").string());

  say_part(6, "The report", out);
  const fs::path page = folder / "report.html";
  KW_CHECK(write_report(store, run, page));
  print(out, "  {}    one file that opens in any browser, without a network\n", page.string());
  print(out, "\nThat took {:.0f} seconds.\n",
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  say_what_next(name, files.at(0).string(), run, out);
  return kYes;
}

}  // namespace

Command demo() {
  return {
      .name = "demo",
      .topic = Topic::kernels,
      .summary = "one task from start to end in under two minutes: search, verdict, kernel, report",
      .description =
          "Shows a task and its plain kernel, searches a fast one, judges it beside MNN and ONNX Runtime (which are "
          "installed where they are missing; without a network it goes on without them), and writes the kernel and a "
          "report page. It is recorded as `kw optimize` is. Exit code 0 where a right kernel was found.\n\n" +
          progress_description(),
      .options = with_progress_options(
          {{.name = "TASK", .help = "the task (default: Softmax)", .completes = Completes::task},
           {.name = "--budget", .value = "TIME|N", .help = "what the search may spend (default: 20s)"},
           rival_option(),
           {.name = "--out", .value = "DIR", .help = "folder for the kernel and the report (default: kw-demo)"},
           store_option()}),
      .examples = {"kw demo --budget 3 --rival none --quiet",
                   "kw demo Relu --budget 2 --rival none --out relu-demo --quiet"},
      .run = run_demo};
}

}  // namespace kw::cli::commands
