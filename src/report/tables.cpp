#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/paired_ratio.h"
#include "report/comparison.h"
#include "report/published.h"

namespace kw::report {
namespace {

using Column = Table::Column;

std::string percent(const std::optional<double>& share) { return share ? fmt::format("{:.1f}", 100 * *share) : "-"; }
std::string factor(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

std::string time_text(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.0f} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.3g} us", time_ns / 1e3);
  if (time_ns < 1e9) return fmt::format("{:.3g} ms", time_ns / 1e6);
  return fmt::format("{:.3g} s", time_ns / 1e9);
}

std::string seconds_text(double s) {
  if (s < 100) return fmt::format("{:.1f} s", s);
  if (s < 3600) return fmt::format("{:.0f} min", s / 60);
  return fmt::format("{:.1f} h", s / 3600);
}

std::string first_of(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string count_text(std::int64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

// "mnn 3.6.1"
std::string with_version(const RunFigures& run, const std::string& rival) {
  const auto found = run.versions.find(rival);
  if (found == run.versions.end() || found->second.size() != 1) return rival;
  const std::string& version = found->second.begin()->first;
  return version.empty() ? rival : rival + " " + version;
}

std::vector<std::string> published_notes() {
  std::vector<std::string> notes;
  for (const Published& one : kPublished) {
    std::string note = fmt::format("published rows: {}; another setting: {}", one.source, one.setting);
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
  return notes;
}

void add_remarks(std::span<const RunFigures> runs, std::vector<std::string>& notes) {
  for (const RunFigures& run : runs) {
    for (const std::string& remark : run.remarks) notes.push_back(run.run.name() + ": " + remark);
  }
}

std::string outcome_text(const Outcome& one) {
  if (!one.stage) return one.open > 0 ? "open" : "no candidate";
  return one.is_accepted() ? "accepted" : std::string(name_of(*one.stage));
}

// What a reader must know of a task's row.
std::string task_note(const Outcome& one, const std::optional<Against>& beside, const std::string& rival) {
  if (!one.is_accepted()) return first_of(one.reason, 60);
  std::string note;
  const auto add = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  if (one.is_lucky()) add("not measured again");
  if (beside && !beside->claimed) add("no difference is claimed");
  if (beside && beside->overhead_decides) add("the rival's call decides");
  if (!beside && one.is_left_out(rival)) add(rival + " cannot run it right");
  return note;
}

std::vector<std::string> figures_row(std::string name, const Figures& figures, const std::string& rival) {
  const RivalFigures* against = figures.against(rival);
  std::vector<std::string> row = {std::move(name), std::to_string(figures.tasks), percent(figures.share(figures.built)),
                                  percent(figures.share(figures.accepted))};
  for (std::size_t i = 0; i < kSpeeds.size(); ++i) {
    row.push_back(against ? percent(against->share(against->fast[i])) : "-");
  }
  row.push_back(against ? percent(against->share(against->sure[1])) : "-");
  row.push_back(against ? factor(against->geomean) : "-");
  row.push_back(against ? std::to_string(against->left_out) : "-");
  return row;
}

// What MoKA had in a category ("" for all), under the columns of add_moka.
std::vector<std::string> moka_cells(const std::string& category) {
  const Published& moka = kPublished[0];
  if (category.empty()) return {percent(moka.csr), percent(moka.fcr), percent(moka.fast[1])};
  const auto found = std::ranges::find(kMokaByCategory, category, &PublishedCategory::category);
  if (found == std::end(kMokaByCategory)) return {"-", "-", "-"};
  return {percent(found->csr), percent(found->fcr), percent(found->fast1)};
}

// Puts MoKA's figures of each category to the right of ours; `table` has the rows of category_table.
void add_moka(Table& table, const RunFigures& run) {
  for (const char* name : {"MoKA CSR", "MoKA FCR", "MoKA fast1"}) table.columns.push_back({name, true});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string category = i < run.categories.size() ? run.categories[i].category : "";
    for (std::string& cell : moka_cells(category)) table.rows[i].push_back(std::move(cell));
  }
  table.notes.push_back(fmt::format("MoKA: {}; another setting: {}", kPublished[0].source, kPublished[0].setting));
}

std::vector<Column> fast_columns() {
  std::vector<Column> columns;
  for (const double p : kSpeeds) columns.push_back({"fast" + name_of_speed(p), true});
  return columns;
}

}  // namespace

Table headline_table(std::span<const RunFigures> runs) {
  Table table{.title = "Right: shares of tasks, in percent",
              .columns = {{"run"},
                          {"suite"},
                          {"author"},
                          {"tasks", true},
                          {"CSR", true},
                          {"FCR", true},
                          {"FCR on own shapes", true},
                          {"roof", true},
                          {"candidates", true},
                          {"judging", true}}};
  for (const RunFigures& run : runs) {
    const Figures& all = run.overall;
    table.rows.push_back({run.run.name(), first_of(run.run.about.suite, 30), first_of(run.run.about.author, 30),
                          std::to_string(all.tasks), percent(all.share(all.built)), percent(all.share(all.accepted)),
                          percent(all.share(all.right_on_own_shapes)), percent(all.roof_fraction),
                          std::to_string(all.candidates), seconds_text(all.spent_s)});
  }
  for (const Published& one : kPublished) {
    table.rows.push_back(
        {one.who, "", "", std::to_string(one.tasks), percent(one.csr), "-", percent(one.fcr), "-", "-", "-"});
  }
  table.notes = published_notes();
  add_remarks(runs, table.notes);
  return table;
}

Table speed_table(std::span<const RunFigures> runs) {
  Table table{.title = "Fast: shares of the tasks that count against a rival, in percent",
              .columns = {{"run"}, {"against"}, {"tasks", true}, {"left out", true}}};
  for (const Column& column : fast_columns()) table.columns.push_back(column);
  for (const double p : {1.0, 1.5}) table.columns.push_back({"sure fast" + name_of_speed(p), true});
  table.columns.push_back({"geomean", true});
  table.columns.push_back({"median", true});
  bool any_unmeasured = false;
  for (const RunFigures& run : runs) {
    for (const RivalFigures& rival : run.overall.rivals) {
      any_unmeasured = any_unmeasured || rival.unmeasured > 0;
      std::vector<std::string> row = {run.run.name(), first_of(with_version(run, rival.rival), 40),
                                      std::to_string(rival.tasks), std::to_string(rival.left_out)};
      if (rival.unmeasured > 0) row.back() += fmt::format(" + {}", rival.unmeasured);
      for (const int count : rival.fast) row.push_back(percent(rival.share(count)));
      for (const std::size_t i : {1, 2}) row.push_back(percent(rival.share(rival.sure[i])));
      row.push_back(factor(rival.geomean));
      row.push_back(factor(rival.median));
      table.rows.push_back(std::move(row));
    }
  }
  for (const Published& one : kPublished) {
    std::vector<std::string> row = {one.who, one.rival, std::to_string(one.tasks), "-"};
    for (const auto& share : one.fast) row.push_back(percent(share));
    row.insert(row.end(), {"-", "-", "-", "-"});
    table.rows.push_back(std::move(row));
  }
  table.notes = {"left out: tasks that the rival itself cannot run right; a task that failed counts as slow",
                 "best: the fastest right rival of each task; frameworks less the cost of calling them"};
  if (any_unmeasured)
    table.notes.push_back("left out, behind the +: accepted in a race in which the rival was not present");
  return table;
}

Table category_table(const RunFigures& run, const std::string& rival) {
  Table table{.title = fmt::format("{} by category, against {}", run.run.name(), with_version(run, rival)),
              .columns = {{"category"}, {"tasks", true}, {"CSR", true}, {"FCR", true}}};
  for (const Column& column : fast_columns()) table.columns.push_back(column);
  table.columns.push_back({"sure fast1", true});
  table.columns.push_back({"geomean", true});
  table.columns.push_back({"left out", true});
  for (const Figures& one : run.categories)
    table.rows.push_back(figures_row(one.category.empty() ? "-" : one.category, one, rival));
  table.rows.push_back(figures_row("all", run.overall, rival));
  if (run.run.about.suite == kPublishedSuite && rival == kPublished[0].rival) add_moka(table, run);
  return table;
}

namespace {

// Why a share of the roof may be above 100 %.
constexpr char kAboveTheRoof[] =
    "roof above 100: operations are counted as the task's definition has them, and an algorithm such as Winograd's "
    "does "
    "fewer; of data movers, part of the data lay in a faster cache or the bandwidth was measured at a slower moment";

void explain_roofs(const RunFigures& run, Table& table) {
  const bool any = std::ranges::any_of(run.outcomes, [](const Outcome& one) {
    return one.is_accepted() && one.roof_fraction && *one.roof_fraction > 1;
  });
  if (any) table.notes.push_back(kAboveTheRoof);
}

}  // namespace

Table task_table(const RunFigures& run, const std::string& rival) {
  Table table{.title = fmt::format("{} by task, against {}", run.run.name(), with_version(run, rival)),
              .columns = {{"task"},
                          {"category"},
                          {"outcome"},
                          {"time", true},
                          {"speed-up", true},
                          {"interval"},
                          {"roof", true},
                          {"tried", true},
                          {""}}};
  if (rival == kBest) table.columns[5].name = "interval, rival";
  for (const Outcome& one : run.outcomes) {
    const auto beside = one.is_accepted() ? one.beside(rival) : std::nullopt;
    std::string interval = beside ? fmt::format("[{:.2f}, {:.2f}]", beside->low, beside->high) : "";
    if (beside && rival == kBest) interval += " " + beside->rival;
    table.rows.push_back({one.task, one.category, outcome_text(one),
                          one.is_accepted() && one.time_ns ? time_text(*one.time_ns) : "",
                          beside ? factor(beside->median) : "", std::move(interval),
                          one.is_accepted() && one.roof_fraction ? percent(one.roof_fraction) : "",
                          std::to_string(one.candidates), task_note(one, beside, rival)});
  }
  explain_roofs(run, table);
  return table;
}

Table limits_table(const RunFigures& run) {
  Table table{
      .title = fmt::format("{}: the large tasks against the machine, in percent of its measured roofs", run.run.name()),
      .columns = {{"tasks"}, {"how many", true}, {"median", true}, {"least", true}, {"which is"}}};
  const auto add = [&](const char* what, Limit limit) {
    std::vector<double> reached;
    const Outcome* least = nullptr;
    for (const Outcome& one : run.outcomes) {
      if (!one.is_accepted() || !one.roof_fraction || one.limit != limit) continue;
      reached.push_back(*one.roof_fraction);
      if (least == nullptr || *one.roof_fraction < *least->roof_fraction) least = &one;
    }
    if (least == nullptr) return;
    table.rows.push_back({what, std::to_string(reached.size()), percent(median_of(reached)),
                          percent(least->roof_fraction), least->task});
  };
  add("products and convolutions of 50 Mflop and more", Limit::arithmetic);
  add("memory: moving more than 32 MiB", Limit::memory);
  if (!table.rows.empty()) explain_roofs(run, table);
  return table;
}

Table stage_table(const RunFigures& run) {
  Table table{.title = fmt::format("{}: where candidates ended", run.run.name()),
              .columns = {{"stage"}, {"candidates", true}, {"tasks that got no further", true}, {"for example"}}};
  for (const auto& [stage, candidates] : run.stages) {
    std::int64_t tasks = 0;
    std::string example;
    for (const Outcome& one : run.outcomes) {
      if (one.stage != stage) continue;
      ++tasks;
      if (example.empty() && !one.reason.empty()) example = one.task + ": " + one.reason;
    }
    const bool is_end = stage == VerdictStage::accepted;
    table.rows.push_back({std::string(name_of(stage)), std::to_string(candidates), is_end ? "" : std::to_string(tasks),
                          first_of(example, 80)});
  }
  return table;
}

Table change_table(const RunFigures& before, const RunFigures& now) {
  Table table{.title = fmt::format("From {} to {}", before.run.name(), now.run.name()),
              .columns = {{"task"}, {"category"}, {"change"}, {"times as fast", true}, {"interval"}, {"against"}}};
  std::map<ChangeKind, std::int64_t> counts;
  std::map<std::string, std::int64_t> not_compared;
  const std::vector<Change> changes = changes_between(before, now);
  for (const Change& one : changes) {
    const Outcome& then = *std::ranges::find(before.outcomes, one.task, &Outcome::task);
    const Outcome& later = *std::ranges::find(now.outcomes, one.task, &Outcome::task);
    if (!then.stage || !later.stage) {
      ++not_compared["not judged in both"];
      continue;
    }
    ++counts[one.kind];
    if (one.kind == ChangeKind::apart) ++not_compared[one.why];
    if (one.kind == ChangeKind::better || one.kind == ChangeKind::worse) {
      table.rows.push_back({one.task, later.category, std::string(name_of(one.kind)), factor(one.ratio->median),
                            fmt::format("[{:.2f}, {:.2f}]", one.ratio->low, one.ratio->high), one.rival});
    } else if (one.kind == ChangeKind::gained || one.kind == ChangeKind::lost) {
      table.rows.push_back(
          {one.task, later.category, fmt::format("{}, now {}", outcome_text(then), outcome_text(later)), "", "", ""});
    }
  }
  table.notes.push_back(
      fmt::format("{} faster, {} slower, {} newly right, {} no longer right; {} without a change outside the noise",
                  counts[ChangeKind::better], counts[ChangeKind::worse], counts[ChangeKind::gained],
                  counts[ChangeKind::lost], counts[ChangeKind::same] + counts[ChangeKind::neither]));
  for (const auto& [why, count] : not_compared) {
    table.notes.push_back(fmt::format("{}: {}", count_text(count, "task not compared", "tasks not compared"), why));
  }
  const auto only = std::ssize(before.outcomes) + std::ssize(now.outcomes) - 2 * std::ssize(changes);
  if (only > 0) table.notes.push_back(count_text(only, "task is", "tasks are") + " in one of the two alone");
  return table;
}

namespace {

// What a task came to on one device.
std::string on_device_text(const Outcome& one, const std::string& rival) {
  const auto beside = one.is_accepted() ? one.beside(rival) : std::nullopt;
  if (!beside) return outcome_text(one);
  const std::string against = rival == kBest ? " " + beside->rival : "";
  const std::string text =
      fmt::format("{} [{:.2f}, {:.2f}]{}", factor(beside->median), beside->low, beside->high, against);
  return beside->claimed ? text : "(" + text + ")";
}

// Of the machine that most of the chosen candidates were judged on.
const store::Machine* machine_of(const RunFigures& run) {
  std::map<std::int64_t, int> uses;
  for (const Outcome& one : run.outcomes) ++uses[one.machine];
  const store::Machine* most = nullptr;
  int count = 0;
  for (const auto& [id, machine] : run.machines) {
    if (uses[id] > count) most = &machine, count = uses[id];
  }
  return most;
}

}  // namespace

Table device_table(std::span<const RunFigures> runs, const std::string& rival) {
  Table table{
      .title = fmt::format("Devices side by side: times as fast as {}", rival == kBest ? "the best rival" : rival),
      .columns = {{"task"}}};
  std::set<std::string> devices;
  std::vector<std::string> tasks;  // of more than one run, in the order of the first
  std::map<std::string, int> in_runs;
  for (const RunFigures& run : runs) {
    const store::Machine* machine = machine_of(run);
    devices.insert(machine != nullptr ? machine->identity : "");
    table.columns.push_back(
        {fmt::format("{} on {}", run.run.name(), machine != nullptr ? machine->name : "no machine")});
    for (const Outcome& one : run.outcomes) {
      if (++in_runs[one.task] == 2) tasks.push_back(one.task);
    }
  }
  if (devices.size() < 2) return table;
  for (const std::string& task : tasks) {
    std::vector<std::string> row = {task};
    for (const RunFigures& run : runs) {
      const auto found = std::ranges::find(run.outcomes, task, &Outcome::task);
      row.push_back(found == run.outcomes.end() ? "" : on_device_text(*found, rival));
    }
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) {
    table.notes = {
        "each against a rival on its own device: the columns say where a kernel pays, not which device is faster",
        "in parentheses: no difference is claimed"};
  }
  return table;
}

std::vector<Table> tables_of(std::span<const RunFigures> runs, const std::string& rival) {
  std::vector<Table> tables = {headline_table(runs), speed_table(runs)};
  for (std::size_t i = 1; i < runs.size(); ++i) tables.push_back(change_table(runs[0], runs[i]));
  tables.push_back(device_table(runs, rival));
  for (const RunFigures& run : runs) {
    tables.push_back(category_table(run, rival));
    tables.push_back(limits_table(run));
    tables.push_back(stage_table(run));
    tables.push_back(task_table(run, rival));
  }
  std::erase_if(tables, [](const Table& table) { return table.rows.empty() && table.notes.empty(); });
  return tables;
}

}  // namespace kw::report
