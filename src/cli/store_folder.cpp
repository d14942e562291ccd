#include "cli/store_folder.h"

#include <ostream>

#include "cli/settings.h"

namespace kw::cli {

Option store_option() {
  return {.name = "--store",
          .value = "DIR",
          .help = "where the record lies (the setting store, else .kw)",
          .completes = Completes::file};
}

std::filesystem::path store_folder(const Arguments& arguments) {
  const std::string named = setting(arguments, "store");
  return named.empty() ? ".kw" : named;
}

Result<std::optional<store::Store>> look_into_store(const Arguments& arguments, std::ostream& out,
                                                    const std::string& empty) {
  const std::filesystem::path folder = store_folder(arguments);
  if (!store::Store::is_in(folder)) {
    if (arguments.has("--json")) {
      out << empty << "\n";
    } else {
      out << fmt::format(
          "nothing was recorded in {} yet. A run is made by `kw demo` (a minute, one task from start to end), `kw "
          "optimize TASK`, `kw bench` or `kw eval --batch FILE`\n",
          folder.string());
    }
    return std::optional<store::Store>();
  }
  KW_TRY(store::Store store, store::Store::open_existing(folder));
  return std::optional(std::move(store));
}

}  // namespace kw::cli
