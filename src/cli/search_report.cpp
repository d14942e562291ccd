#include "cli/search_report.h"

#include <fmt/format.h>

#include <ostream>

#include "base/print.h"
#include "cli/search_run.h"
#include "report/tables.h"
#include "runs/task_text.h"

namespace kw::cli {
namespace {

void print_tables(const report::RunFigures& figures, std::ostream& out) {
  for (const report::RivalFigures& rival : figures.overall.rivals) {
    out << "\n" << report::as_text(report::category_table(figures, rival.rival));
  }
  if (figures.overall.rivals.empty()) out << "\n" << report::as_text(report::category_table(figures));
  for (const std::string& remark : figures.remarks) print(out, "{}\n", remark);
}

}  // namespace

Result<int> search_and_report(store::Store& store, std::int64_t run, bool json, Progress& progress, std::ostream& out) {
  const auto ended = [&](const SearchedTask& task) {
    if (progress.is_quiet() || json) return;
    std::string beside;
    for (const Speedup& one : task.verdict.speedups) beside += fmt::format("  {} {:.2f}x", one.rival, one.median);
    progress.note(fmt::format("{:<40} {:<10} {:<28} {:>3} tried{}", task.task,
                              task.verdict.accepted() ? runs::time_text(task.verdict.time_ns.value_or(0))
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
    print_tables(figures, out);
    print(out, "\nrun {}: kw report {} shows all of it; --budget says how much to spend on each task\n",
          figures.run.name(), figures.run.name());
  }
  return figures.overall.accepted == figures.overall.tasks ? 0 : 1;
}

}  // namespace kw::cli
