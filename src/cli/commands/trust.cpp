// kw trust: allows a kw.toml of a folder to do what only the user may.
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/trust.h"

namespace kw::cli::commands {
namespace {

namespace fs = std::filesystem;

Result<int> list(const Arguments& arguments, std::ostream& out) {
  const Trusted trusted = trusted_files();
  if (arguments.has("--json")) {
    out << Json(trusted).dump() << "\n";
    return kYes;
  }
  if (trusted.empty()) out << "no file is trusted\n";
  for (const auto& [path, hash] : trusted) print(out, "{}  {}\n", hash.substr(0, 16), path);
  return kYes;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("--list")) return list(arguments, out);
  fs::path file = arguments.text("FILE");
  std::error_code error;
  if (file.empty()) file = folder_config();
  if (file.empty()) return fail("there is no kw.toml in this folder or above it: kw trust FILE");
  if (fs::is_directory(file, error)) file /= "kw.toml";
  if (arguments.has("--remove")) {
    KW_TRY(const bool was, trust_no_more(file));
    print(out, "{} is {}\n", file.string(), was ? "not trusted any more" : "not trusted, and was not before");
    return was ? kYes : kNo;
  }
  KW_TRY(const std::vector<std::string> reaching, settings_that_need_trust(file));
  if (reaching.empty()) {
    print(out, "{} has no setting that needs it; nothing was changed\n", file.string());
    return kYes;
  }
  KW_CHECK(trust(file));
  print(out, "trusted as it is now: {}, with\n", file.string());
  for (const std::string& setting : reaching) print(out, "  {}\n", setting);
  return kYes;
}

}  // namespace

Command trust() {
  return {
      .name = "trust",
      .summary = "allows a folder's kw.toml to name programs, models and places",
      .description =
          "Settings that can run a program, send something or read elsewhere (python, model, a store outside of the "
          "folder) are obeyed in your own configuration, in the environment and on the command line. In the kw.toml "
          "of a folder they are ignored until you have read the file and said kw trust. The permission is for the "
          "content as it is now: when the file changes, it has to be given again.",
      .options = {{.name = "FILE",
                   .help = "a kw.toml or its folder; none: the nearest in this folder or above it",
                   .completes = Completes::file},
                  {.name = "--list", .help = "what is trusted, with the beginning of its SHA-256"},
                  {.name = "--remove", .help = "take the permission back"},
                  {.name = "--json", .help = "with --list: one object, SHA-256 by path"}},
      .examples = {"kw trust --list"},
      .run = run};
}

}  // namespace kw::cli::commands
