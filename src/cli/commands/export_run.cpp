// kw export: a run as files. (`export` is a word of C++, so the file has another name than its command.)

#include <ostream>

#include "base/files.h"
#include "base/nearest.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/store_folder.h"
#include "store/exchange.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

Result<std::string> format_of(const Arguments& arguments) {
  const std::string asked = arguments.text("--format");
  if (asked == "jsonl" || asked == "csv" || asked == "kernels") return asked;
  if (!asked.empty()) {
    return fail("--format {}: say jsonl, csv or kernels{}", asked, nearest_hint(asked, {"jsonl", "csv", "kernels"}));
  }
  const std::string ending = fs::path(arguments.text("--out")).extension();
  if (!arguments.has("--out") || ending == ".jsonl") return std::string("jsonl");
  if (ending == ".csv") return std::string("csv");
  if (ending.empty()) return std::string("kernels");
  return fail("{}: neither .jsonl nor .csv nor a folder; say --format jsonl, csv or kernels", arguments.text("--out"));
}

Status write_to(const store::Store& store, std::int64_t run, const std::string& format, std::ostream& out) {
  return format == "csv" ? store::export_table(store, run, out) : store::export_json_lines(store, run, out);
}

Status write_to_file(const store::Store& store, std::int64_t run, const std::string& format, const fs::path& file) {
  KW_TRY(Draft draft, Draft::begin(file));
  KW_CHECK(write_to(store, run, format, draft.stream()));
  return draft.finish();
}

Result<int> run_export_run(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string format, format_of(arguments));
  KW_TRY(const store::Store store, store::Store::open_existing(store_folder(arguments)));
  KW_TRY(const store::RunSummary run, store.find_run(arguments.text("RUN")));
  const fs::path file = arguments.text("--out");
  if (!arguments.has("--out")) {
    if (format == "kernels") return fail("a folder of kernels needs a name: --out DIR");
    std::ostream exact(exact_buffer(out));
    KW_CHECK(write_to(store, run.id, format, exact));
    return kYes;
  }
  if (format == "kernels") {
    KW_TRY(const int files, store::export_kernels(store, run.id, file));
    print(out, "wrote {} kernels of {} to {}, and index.csv\n", files, run.name(), file.string());
    return kYes;
  }
  KW_CHECK(write_to_file(store, run.id, format, file));
  print(out, "wrote {} of {} items of {} to {}\n", run.done, run.planned, run.name(), file.string());
  return kYes;
}

}  // namespace

Command export_run() {
  return {
      .name = "export",
      .topic = Topic::record,
      .summary = "writes a run as JSON Lines, as a table, or as a folder of kernels",
      .description =
          "jsonl holds all of the run, raw times included, and `kw import` takes it back on any machine; its lines "
          "are described in src/store/exchange.h. csv is a table with a row for each item. kernels is a folder with "
          "a source for each item, \"0007_Relu_accepted.cpp\", and the table. The format follows from the name: "
          ".jsonl, .csv, or a folder; without --out JSON Lines are printed.",
      .options = {{.name = "RUN", .help = "which run, such as r3", .required = true, .completes = Completes::run},
                  {.name = "--out", .value = "FILE", .help = "a file or a folder", .completes = Completes::file},
                  {.name = "--format", .value = "NAME", .help = "jsonl, csv or kernels"},
                  store_option()},
      .examples = {"kw export r1 --out r1.jsonl", "kw export r1 --format csv"},
      .run = run_export_run};
}

}  // namespace kw::cli::commands
