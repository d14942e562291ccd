// kw import: takes back what kw export wrote.

#include <ostream>

#include "base/files.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/store_folder.h"
#include "store/exchange.h"

namespace kw::cli::commands {
namespace {

Result<int> run_import_run(const Arguments& arguments, std::ostream& out) {
  const std::string file = arguments.text("FILE");
  KW_TRY(LineReader lines, LineReader::open(file, store::kMostLineBytes));
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  KW_TRY(const store::Imported imported, store::import_json_lines(
                                             store, [&](std::string& line) { return lines.next(line); }, file));
  KW_TRY(const store::RunSummary run, store.run(imported.run));
  if (imported.was_here) {
    print(out, "{} is here already, as {}; nothing was changed\n", file, run.name());
    return kNo;
  }
  print(out, "imported {} as {}: {} of {} done, {} accepted\n", file, run.name(), run.done, run.planned, run.accepted);
  return kYes;
}

}  // namespace

Command import_run() {
  return {
      .name = "import",
      .topic = Topic::record,
      .summary = "takes in a run that kw export wrote, on this machine or another one",
      .description =
          "All of the file or nothing: a line that is broken is named by its number. Sources and tasks are held "
          "against their hashes. The run gets a new name; verdicts stay verdicts of the machine that made them, and "
          "`kw best` does not compare them with those of this one. A run that is not done can be resumed here. "
          "Exit code 1: the run is in the record already.",
      .options = {{.name = "FILE", .help = "JSON Lines of kw export", .required = true, .completes = Completes::file},
                  store_option()},
      .examples = {"kw export r1 --out r1.jsonl", "kw import r1.jsonl --store other", "kw import r1.jsonl"},
      .run = run_import_run};
}

}  // namespace kw::cli::commands
