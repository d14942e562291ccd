#include "cli/target_flag.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/settings.h"
#include "judge/judge.h"
#include "settings/devices.h"
#include "targets/target.h"

namespace kw::cli {

Option target_option() {
  std::string names;
  for (const targets::Target& target : targets::all_targets()) names += target.names.empty() ? "" : target.names + ", ";
  return {.name = "--target",
          .value = "NAME",
          .help = fmt::format("the device that kernels run on: {}or one of kw devices (default: the setting target, "
                              "else what the source's ending belongs to, else {})",
                              names, targets::usual_device()),
          .also = "--on"};
}

Result<std::string> device_of(const Arguments& arguments, const std::vector<std::string>& sources) {
  const std::string said = setting(arguments, "target");
  KW_TRY(std::string device, settings::device_named(said.empty() ? targets::usual_device() : said));
  KW_TRY(const targets::Target target, targets::target_of(device));
  if (device == target.name) device = target.first_device();
  bool insisted = !said.empty();
  for (const std::string& source : sources) {
    KW_TRY(device, targets::device_for(source, device, insisted));
    insisted = true;  // the first has said it for all
  }
  return device;
}

void know_roofs(const std::string& device) {
  const auto target = targets::target_of(device);
  if (!target.ok() || !target->measure_roofs || targets::known_roofs(device).ok()) return;
  if (target->gpu && !target->gpu(device)) return;  // emulated
  fmt::print(stderr, "kw: measuring what {} can do at most, a few seconds, once\n",
             device == targets::usual_device() ? "this machine" : device);
  const auto roofs = target->measure_roofs(device);
  if (!roofs.ok()) return fmt::print(stderr, "kw: {}; going on without\n", roofs.error().message);
  for (const std::string& note : roofs->notes) fmt::print(stderr, "kw: {}\n", note);
}

}  // namespace kw::cli
