#include "cli/rival_flags.h"

#include <cstdio>

#include "cli/settings.h"
#include "targets/target.h"

namespace kw::cli {

Option rival_option() {
  return {.name = "--rival",
          .value = "NAMES",
          .help =
              "frameworks to compare with: names with commas (mnn,onnxruntime), best (the fastest that is right), "
              "none; unless the setting rival says, all that are installed, among them mnn and onnxruntime, which are "
              "installed where they are missing"};
}

Result<runs::Rivals> rivals_of(const Arguments& arguments, const std::string& device) {
  if (arguments.has("--untimed")) return runs::Rivals();
  KW_TRY(const targets::Target target, targets::target_of(device));
  if (!target.make_shared_calls) {
    const std::string names = arguments.has("--rival") ? arguments.text("--rival") : "none";
    if (names == "none") return runs::Rivals();
    return fail("--rival {}: no framework can be compared with kernels for {} yet", names, device);
  }
  return rivals_named(setting(arguments, "rival"));
}

runs::RivalSetup rival_setup() {
  return {.may_install = setting("install") != "no", .python = setting("python"), .tell = [](const std::string& line) {
            fmt::print(stderr, "kw: {}\n", line);
          }};
}

Result<runs::Rivals> rivals_named(const std::string& names) { return runs::Rivals::choose(names, rival_setup()); }

}  // namespace kw::cli
