// kw trust: allows a kw.toml of a folder to do what only the user may.
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/settings.h"
#include "settings/trust.h"
#include "store/store.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

Result<int> list_trusted(const Arguments& arguments, std::ostream& out) {
  const settings::Trusted trusted = settings::trusted_files();
  if (arguments.has("--json")) {
    out << Json(trusted).dump() << "\n";
    return kYes;
  }
  if (trusted.empty()) out << "no file is trusted\n";
  for (const auto& [path, hash] : trusted) print(out, "{}  {}\n", hash.substr(0, 16), path);
  return kYes;
}

Result<int> adopt(const fs::path& folder, std::ostream& out) {
  KW_TRY(store::Store store, store::Store::open_existing(folder));
  KW_TRY(const store::Store::Adopted adopted, store.adopt_all());
  print(out, "{} runs and {} verdicts of {} count as judged here from now on\n", adopted.runs, adopted.verdicts,
        folder.string());
  return kYes;
}

Result<int> run_trust(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("--list")) return list_trusted(arguments, out);
  if (arguments.has("--store")) return adopt(arguments.text("--store"), out);
  fs::path file = arguments.text("FILE");
  std::error_code error;
  if (file.empty()) file = settings::folder_config();
  if (file.empty()) return fail("there is no kw.toml in this folder or above it: kw trust FILE");
  if (fs::is_directory(file, error)) file /= "kw.toml";
  if (arguments.has("--remove")) {
    KW_TRY(const bool was, settings::trust_no_more(file));
    print(out, "{} is {}\n", file.string(), was ? "not trusted any more" : "not trusted, and was not before");
    return was ? kYes : kNo;
  }
  TextOfFile shown{.path = file, .text = {}};
  KW_TRY(shown.text, read_file(file, settings::kMostConfigBytes));
  KW_TRY(const std::vector<std::string> reaching, settings::settings_that_need_trust(shown));
  if (reaching.empty()) {
    print(out, "{} has no setting that needs it; nothing was changed\n", file.string());
    return kYes;
  }
  KW_CHECK(settings::trust(shown));
  print(out, "trusted as it is now: {}, with\n", file.string());
  for (const std::string& setting : reaching) print(out, "  {}\n", setting);
  return kYes;
}

}  // namespace

Command trust() {
  return {
      .name = "trust",
      .topic = Topic::machine,
      .summary = "allows a folder's kw.toml to name programs, models and places",
      .description =
          "Settings that can run a program, send something or read elsewhere (python, model, a store outside of the "
          "folder) are obeyed in your own configuration, in the environment and on the command line. In the kw.toml "
          "of a folder they are ignored until you have read the file and said kw trust. The permission is for the "
          "content as it is now: when the file changes, it has to be given again.\n\n"
          "Verdicts that were imported, that came with a folder or that an older kw recorded count for nothing in kw "
          "best and for later runs. --store makes all of a record count: say it of your own records alone.",
      .options = {{.name = "FILE",
                   .help = "a kw.toml or its folder; none: the nearest in this folder or above it",
                   .completes = Completes::file},
                  {.name = "--list", .help = "what is trusted, with the beginning of its SHA-256"},
                  {.name = "--remove", .help = "take the permission back"},
                  {.name = "--store",
                   .value = "DIR",
                   .help = "count every run and verdict of this record as begun and judged here",
                   .completes = Completes::file},
                  {.name = "--json", .help = "with --list: one object, SHA-256 by path"}},
      .examples = {"kw trust --list", "kw trust --list --json"},
      .run = run_trust};
}

}  // namespace kw::cli::commands
