#include "cli/rival_flags.h"

#include <cstdio>

#include "cli/settings.h"
#include "settings/devices.h"
#include "targets/target.h"

namespace kw::cli {

Option rival_option() {
  return {.name = "--rival",
          .value = "NAMES",
          .help =
              "frameworks to compare with: names with commas (mnn,onnxruntime), best (the fastest that is right), "
              "none (default: the setting rival, else all that are installed; mnn and onnxruntime are installed where "
              "they are "
              "missing)"};
}

Result<runs::Rivals> rivals_of(const Arguments& arguments, const std::string& device) {
  if (arguments.has("--untimed")) return runs::Rivals();
  KW_TRY(const targets::Target target, targets::target_of(device));
  // The setting says what is wanted on this machine.
  const std::string here = setting(arguments, "rival");
  return rivals_named(target.make_shared_calls || arguments.has("--rival") ? here : "", device);
}

runs::RivalSetup rival_setup() {
  return {.may_install = setting("install") != "no", .python = setting("python"), .tell = [](const std::string& line) {
            fmt::print(stderr, "kw: {}\n", line);
          }};
}

Result<runs::Rivals> rivals_named(const std::string& names, const std::string& device) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  runs::RivalSetup setup = rival_setup();
  if (target.gpu) setup.gpu = target.gpu(device);
  if (target.make_shared_calls || setup.gpu || names == "none") return runs::Rivals::choose(names, setup);
  if (!target.runs_frameworks || !target.runs_frameworks(device)) {
    if (names.empty()) return runs::Rivals();
    return fail("--rival {}: no framework can be compared with kernels for {} yet", names, device);
  }
  KW_TRY(const settings::FrameworksThere there, settings::frameworks_on(device));
  setup.on_device = {.device = device, .python = there.python, .libraries = there.libraries};
  return runs::Rivals::choose(names, setup);
}

}  // namespace kw::cli
