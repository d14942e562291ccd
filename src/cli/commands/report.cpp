// kw report: what runs amount to, beside each other and beside what others published, as a page or as tables.

#include <algorithm>
#include <ostream>

#include "base/files.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/store_folder.h"
#include "report/figures.h"
#include "report/page.h"
#include "report/tables.h"

namespace kw::cli::commands {
namespace {

// Those that were named; the newest where none was.
Result<std::vector<store::RunSummary>> chosen_runs(const store::Store& store, const Arguments& arguments) {
  std::vector<store::RunSummary> chosen;
  for (const std::string& name : arguments.texts("RUN")) {
    KW_TRY(store::RunSummary run, store.find_run(name));
    chosen.push_back(std::move(run));
  }
  if (!chosen.empty()) return chosen;
  KW_TRY(store::RunSummary newest, store.newest_run());
  return std::vector{std::move(newest)};
}

Result<std::vector<report::RunFigures>> figures_of_runs(const store::Store& store, const Arguments& arguments) {
  std::vector<report::RunFigures> runs;
  KW_TRY(const auto chosen, chosen_runs(store, arguments));
  for (const store::RunSummary& run : chosen) {
    KW_TRY(report::RunFigures figures, report::figures_of(store, run.id));
    runs.push_back(std::move(figures));
  }
  return runs;
}

Status check_rival(const std::string& rival, const std::vector<report::RunFigures>& runs) {
  std::vector<std::string> names = {report::kBest};
  for (const report::RunFigures& run : runs) {
    for (const report::RivalFigures& one : run.overall.rivals) {
      if (std::ranges::find(names, one.rival) == names.end()) names.push_back(one.rival);
    }
  }
  if (std::ranges::find(names, rival) != names.end()) return {};
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return fail("--rival {}: nothing was timed against it{}; there are {}", rival, nearest_hint(rival, names), list);
}

void print_tables(const std::vector<report::RunFigures>& runs, const std::string& rival, bool is_markdown,
                  std::ostream& out) {
  bool is_first = true;
  for (const report::Table& table : report::tables_of(runs, rival)) {
    out << (is_first ? "" : "\n") << (is_markdown ? report::as_markdown(table) : report::as_text(table));
    is_first = false;
  }
}

// The default: "report-r1-r2.html".
Result<int> write_page(const store::Store& store, const Arguments& arguments, std::ostream& out) {
  std::vector<std::int64_t> runs;
  std::string file = "report";
  KW_TRY(const auto chosen, chosen_runs(store, arguments));
  for (const store::RunSummary& run : chosen) {
    runs.push_back(run.id);
    file += "-" + run.name();
  }
  file = arguments.has("--out") ? arguments.text("--out") : file + ".html";
  KW_TRY(const std::string page, report::html_report(store, runs, KW_VERSION));
  KW_CHECK(write_file(file, page));
  print(out, "wrote {}: {:.1f} MB, opens in any browser\n", file, static_cast<double>(page.size()) / 1e6);
  return kYes;
}

Result<int> run_report(const Arguments& arguments, std::ostream& out) {
  const bool is_page = !arguments.has("--text") && !arguments.has("--markdown") && !arguments.has("--json");
  if (!is_page && arguments.has("--out")) return fail("--out is where the page goes; tables are printed");
  if (is_page && arguments.has("--rival"))
    return fail("--rival is for --text and --markdown; the page has a switch for it");
  if (arguments.has("--text") + arguments.has("--markdown") + arguments.has("--json") > 1) {
    return fail("say one of --text, --markdown and --json");
  }
  KW_TRY(const store::Store store, store::Store::open_existing(store_folder(arguments)));
  if (is_page) return write_page(store, arguments, out);
  KW_TRY(const auto runs, figures_of_runs(store, arguments));
  const std::string rival = arguments.has("--rival") ? arguments.text("--rival") : report::kBest;
  KW_CHECK(check_rival(rival, runs));
  if (arguments.has("--json")) {
    out << "[";
    for (std::size_t i = 0; i < runs.size(); ++i) out << (i > 0 ? ",\n" : "") << report::figures_as_json(runs[i]);
    out << "]\n";
  } else {
    print_tables(runs, rival, arguments.has("--markdown"), out);
  }
  return kYes;
}

}  // namespace

Command report() {
  return {
      .name = "report",
      .topic = Topic::record,
      .summary = "writes a page that shows what runs amount to: CSR, FCR, fast_p, plots, kernels; or tables",
      .description =
          "Writes one HTML file that opens without a network: the figures next to the published ones, every task's "
          "speed-up with its interval, a roofline, the course of the search, errors, a table to sort and filter, and "
          "of "
          "each task its best kernel, where that came from, its rivals, and what was rejected. To stay small it holds "
          "the sources of the chosen kernels and the differences from their ancestors; kw export has all others.\n\n"
          "--text and --markdown print tables of one run, or of several beside each other: shares of right and of fast "
          "tasks next to the "
          "published ones, what got better or worse from the first run to the others, categories, where candidates "
          "ended, and every task. Only what lies outside the noise is called a change, and only what was measured "
          "on one machine, against the same version of a rival, is compared. docs/figures.md in the source has "
          "every formula.\n\n"
          "--json prints [{run, tasks, csr, fcr, fcr_own_shapes, fast {RIVAL: {0.5, 1, 1.5, 2, sure: the same}}, "
          "geomean, median, left_out, unmeasured (by rival), roof_fraction, unconfirmed, candidates, seconds, "
          "categories (by name: all of these but run), machines, versions {RIVAL: {VERSION: tasks}}, remarks}]; "
          "shares are 0 to 1.",
      .options =
          {{.name = "RUN",
            .help = "runs, such as r3 (default: the newest)",
            .repeated = true,
            .completes = Completes::run},
           {.name = "--out",
            .value = "FILE",
            .help = "the page (default: report-RUN.html)",
            .completes = Completes::file},
           {.name = "--text", .help = "tables for a terminal"},
           {.name = "--markdown", .help = "tables for a pull request"},
           {.name = "--rival",
            .value = "NAME",
            .help = "the rival that categories and tasks are compared with (best: the fastest right one of each task)"},
           store_option(),
           {.name = "--json", .help = "the figures as JSON"}},
      .examples = {"kw report --out newest.html", "kw report r1 --text"},
      .run = run_report};
}

}  // namespace kw::cli::commands
