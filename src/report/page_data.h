// What the report's page shows, as one JSON object that its scripts (report/) read:
//
//   kw, made_at, licence (of the plotting library), stages: [names in their order], published: [{who, source, setting,
//   rival, tasks, csr, fcr, fast {P: share}}], published_categories: {who, suite, rival, source, setting, categories
//   {NAME: {csr, fcr, fast1}}}, remarks: [sentences], strings: [texts that rows name by number], tasks:
//   [report/task_words.h], runs: [{name, state, began_at, command, suite, author, strategy, seed, planned, done, rules
//   (those that are
//     a word or a number), figures (report/figures.h), rivals: [names], machine: null or {name, identity, cpu,
//     compilers, kernel, sandbox, roofs: null or {fma_gflops, levels: [{name, size_bytes, gbps}]}}, events: [{at, kind,
//     text}], more_events, candidates: columns in the order of judging: task, candidate (equal for rows of one; -1:
//     none), position, stage (-1: open, -2: never judged), spent_s, again
//       (1: measured again after it was chosen), reason, file, author (numbers of strings; -1: none), ratios: [of each
//       rival: the median or null],
//     errors: {ROW: [{line, message, around}]},
//     parts: [{task, candidates, accepted, passed (a quick check; accepted ones too), spent_s, furthest (stage), best:
//     null or {position, again, file, author,
//       notes, settings, build, time_ns, terms, noise, roof_fraction, max_error, fastest: RATIO or null, rivals:
//       [RATIO], left_out: [{rival, version, why}], source (null: left out), source_left_out, ancestors: [{what,
//       judged, author, file, notes, settings, difference, difference_words}], more_ancestors}}]}],
//   changes: [{from, to (numbers of runs), tasks: [{task, kind (report/comparison.h), ratio, low, high, rival, why}]}],
//   devices: {heads, rows: [of texts], notes} (report/tables.h; no rows where all runs are of one machine)
//
// where RATIO is {rival, version, median, low, high, pairs, claimed, time_ns, called}.
//
// To stay small it has the sources of the chosen kernels alone, and their ancestors as differences; a few compilers'
// messages of each task; and reasons cut to a few hundred letters. Everything else is in the record.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "report/kernel_words.h"
#include "store/store.h"

namespace kw::report {

struct PageLimits {
  KernelWords::Limits kernels;
  std::size_t all_errors_bytes = 1'000'000;
  int errors_of_task = 6;  // candidates whose messages are shown
  std::size_t reason_bytes = 500;
};

Result<std::string> page_data(const store::Store& store, std::span<const std::int64_t> runs, const std::string& version,
                              const std::string& licence, const PageLimits& limits = {});

}  // namespace kw::report
