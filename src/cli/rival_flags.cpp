#include "cli/rival_flags.h"

#include <cstdio>

#include "cli/config.h"

namespace kw::cli {

Option rival_option() {
  return {.name = "--rival",
          .value = "NAMES",
          .help =
              "frameworks to compare with: names with commas (mnn,onnxruntime), best (the fastest that is right), "
              "none; unless the setting rival says, all that are installed, among them mnn and onnxruntime, which are "
              "installed where they are missing"};
}

Result<runs::Rivals> rivals_of(const Arguments& arguments) {
  if (arguments.has("--untimed")) return runs::Rivals();
  return rivals_named(setting(arguments, "rival"));
}

Result<runs::Rivals> rivals_named(const std::string& names) {
  return runs::Rivals::choose(names, {.may_install = setting("install") != "no",
                                      .python = setting("python"),
                                      .tell = [](const std::string& line) { fmt::print(stderr, "kw: {}\n", line); }});
}

}  // namespace kw::cli
