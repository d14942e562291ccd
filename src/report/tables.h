// The tables of a report: headline beside what others published, categories, tasks, errors, and runs side by side.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/figures.h"
#include "report/table.h"

namespace kw::report {

// CSR and FCR of every run, and what was published.
Table headline_table(std::span<const RunFigures> runs);
// Every run against every rival: fast_p, sure fast_p, means; and what was published.
Table speed_table(std::span<const RunFigures> runs);
// `rival` is a name or kBest; where nothing was timed, the columns of speed are empty. A run of the published suite
// against the published rival has MoKA's figures beside its own.
Table category_table(const RunFigures& run, const std::string& rival = kBest);
Table task_table(const RunFigures& run, const std::string& rival = kBest);
// How near the large tasks come to what the machine allows: products and convolutions to its arithmetic, those that no
// cache holds to its memory.
Table limits_table(const RunFigures& run);
// Where tasks and candidates ended, with one reason each.
Table stage_table(const RunFigures& run);
// What changed from the first run to `now`: what got better or worse, and how much did not or was not compared.
Table change_table(const RunFigures& before, const RunFigures& now);

// Tasks that were judged on several machines or devices, a column each: how many times as fast as a rival each chosen
// kernel is there. Without rows where all runs are of one machine.
Table device_table(std::span<const RunFigures> runs, const std::string& rival = kBest);

// All of them, as they are read. Several runs: the later ones beside the first.
std::vector<Table> tables_of(std::span<const RunFigures> runs, const std::string& rival = kBest);

}  // namespace kw::report
