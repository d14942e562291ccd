#include "cli/progress_flags.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace kw::cli {

std::string progress_description() {
  return "Progress goes to standard error: a live block on a terminal, a line now and then without one. --events "
         "writes "
         "one JSON object a line: event (planned, started, finished, best, advanced, error, ended), at, and of "
         "planned: "
         "run, unit, total, done, budget_s; started: id, task, candidate, doing; finished: id, task, candidate, "
         "accepted, "
         "stage, reason, time_ns, speedup (by rival); best: task, candidate, speedup, rival; advanced: done, total; "
         "error: "
         "kind, text; ended: state, done, total, judged, accepted, errors, seconds.";
}

std::vector<Option> with_progress_options(std::vector<Option> options) {
  options.push_back({.name = "--quiet", .help = "no progress on standard error"});
  options.push_back({.name = "--events",
                     .value = "FILE",
                     .help = "appends a JSON object per event; -: to standard error, instead of progress",
                     .completes = Completes::file});
  return options;
}

Result<std::unique_ptr<runs::Progress>> open_progress(const Arguments& arguments) {
  using runs::Progress;
  using Style = Progress::Style;
  const char* terminal = std::getenv("TERM");
  const bool is_live = ::isatty(2) == 1 && terminal && std::strcmp(terminal, "dumb") != 0;
  Progress::Where where{.style = is_live ? Style::live : Style::lines, .notes = !arguments.has("--json")};
  if (const std::string file = arguments.text("--events"); file == "-") {
    where.style = Style::quiet;
    where.events_fd = 2;
  } else if (!file.empty()) {
    auto events = open_to_append(file, true);
    if (!events.ok()) return at("--events", events.error());
    where.events_fd = events->release();
  } else if (arguments.has("--events")) {
    return fail("--events needs the name of a file, or - for standard error");
  }
  if (arguments.has("--quiet")) where.style = Style::quiet;
  return std::make_unique<Progress>(where);
}

}  // namespace kw::cli
