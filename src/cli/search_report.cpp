#include "cli/search_report.h"

#include <fmt/ostream.h>

#include <ostream>

#include "cli/search_run.h"
#include "report/figures.h"
#include "workbench/task_text.h"

namespace kw::cli {
namespace {

std::string share_text(const std::optional<double>& share) { return share ? fmt::format("{:.1f}", 100 * *share) : "-"; }

void print_table(const report::RunFigures& figures, std::ostream& out) {
  const auto line = [&](const report::Figures& one) {
    fmt::print(out, "{:<16} {:>5} {:>6} {:>6}", one.category.empty() ? "all" : one.category, one.tasks,
               share_text(one.share(one.built)), share_text(one.share(one.accepted)));
    for (const report::RivalFigures& rival : figures.overall.rivals) {
      const report::RivalFigures* here = one.against(rival.rival);
      for (std::size_t i = 0; i < 3; ++i) {
        fmt::print(out, " {:>7}", here != nullptr ? share_text(here->share(here->fast[i])) : "-");
      }
      fmt::print(out, " {:>8}", here != nullptr && here->geomean ? fmt::format("{:.2f}", *here->geomean) : "-");
    }
    fmt::print(out, "\n");
  };
  fmt::print(out, "\n{:<35}", "in percent");
  for (const report::RivalFigures& rival : figures.overall.rivals) fmt::print(out, " {:^32}", "against " + rival.rival);
  fmt::print(out, "\n{:<16} {:>5} {:>6} {:>6}", "CATEGORY", "TASKS", "CSR", "FCR");
  for (std::size_t i = 0; i < figures.overall.rivals.size(); ++i) {
    fmt::print(out, " {:>7} {:>7} {:>7} {:>8}", "fast0.5", "fast1", "fast1.5", "geomean");
  }
  fmt::print(out, "\n");
  for (const report::Figures& one : figures.categories) line(one);
  line(figures.overall);
  for (const report::RivalFigures& rival : figures.overall.rivals) {
    if (rival.left_out > 0) {
      fmt::print(out, "{}: {} tasks that it does not run right are left out\n", rival.rival, rival.left_out);
    }
  }
  for (const std::string& remark : figures.remarks) fmt::print(out, "{}\n", remark);
}

}  // namespace

Result<int> search_and_report(store::Store& store, std::int64_t run, bool json, Progress& progress, std::ostream& out) {
  const auto ended = [&](const SearchedTask& task) {
    if (progress.is_quiet() || json) return;
    std::string beside;
    for (const Speedup& one : task.verdict.speedups) beside += fmt::format("  {} {:.2f}x", one.rival, one.median);
    progress.note(fmt::format("{:<40} {:<10} {:<28} {:>3} tried{}", task.task,
                              task.verdict.accepted() ? workbench::time_text(task.verdict.time_ns.value_or(0))
                                                      : std::string(name_of(task.verdict.stage)),
                              task.technique, task.tried, beside));
  };
  KW_CHECK(work_on_search(store, run, progress, ended));
  return report_figures(store, run, json, out);
}

Result<int> report_figures(const store::Store& store, std::int64_t run, bool json, std::ostream& out) {
  KW_TRY(const report::RunFigures figures, report::figures_of(store, run));
  if (json) {
    out << report::figures_as_json(figures) << "\n";
  } else {
    print_table(figures, out);
    fmt::print(out, "\nrun {}: kw report {} shows all of it; --budget says how much to spend on each task\n",
               figures.run.name(), figures.run.name());
  }
  return figures.overall.accepted == figures.overall.tasks ? 0 : 1;
}

}  // namespace kw::cli
