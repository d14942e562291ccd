#include "cli/target_flag.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/settings.h"
#include "judge/judge.h"
#include "settings/devices.h"
#include "targets/target.h"

namespace kw::cli {

Option target_option() {
  return {.name = "--target",
          .value = "NAME",
          .help =
              "the device that kernels run on: cpu, cuda:0, cuda:emulated, emulated:aarch64, ssh:USER@HOST, "
              "adb:SERIAL, or one of kw devices; unless said, what the setting target says, or cpu, or what a "
              "source's ending belongs to",
          .also = "--on"};
}

Result<std::string> device_of(const Arguments& arguments, const std::vector<std::string>& sources) {
  const std::string said = setting(arguments, "target");
  KW_TRY(std::string device, settings::device_named(said.empty() ? judge::kUsualDevice : said));
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
  fmt::print(stderr, "kw: measuring what {} can do at most, about six seconds, once\n",
             device == judge::kUsualDevice ? "this machine" : device);
  const auto roofs = target->measure_roofs(device);
  if (!roofs.ok()) return fmt::print(stderr, "kw: {}; going on without\n", roofs.error().message);
  for (const std::string& note : roofs->notes) fmt::print(stderr, "kw: {}\n", note);
}

}  // namespace kw::cli
