// Phones, boards and emulators, by an agent of ours that runs there.
#include "targets/target.h"

#include "targets/remote/about.h"
#include "targets/remote/connect.h"
#include "targets/remote/device.h"
#include "targets/remote/device_roofs.h"

namespace kw::targets {

Target remote() {
  return {.name = "emulated",
          .languages = {".cpp", ".c", ".cc", ".cxx"},
          .open = kw::remote::RemoteDevice::open,
          .identity = kw::remote::identity,
          .usual_device = "emulated:aarch64",
          .names = "emulated:aarch64, ssh:USER@HOST, adb:SERIAL",
          .offered = {"emulated:aarch64"},
          .schemes = {"ssh", "adb", "command"},
          .missing = kw::remote::missing,
          .facts = kw::remote::device_facts,
          .known_roofs = kw::remote::known_roofs,
          .measure_roofs = kw::remote::measure_roofs,
          .least_time = kw::remote::least_time,
          .tools = kw::remote::tools,
          .build_options = kw::remote::build_options,
          .techniques = "cpu",
          .offers_parts = true,
          .runs_frameworks = kw::remote::runs_frameworks,
          .clean = [](const std::string& device) -> Result<std::string> {
            KW_TRY(const kw::remote::Address address, kw::remote::address_of(device));
            return kw::remote::clean(address);
          }};
}

}  // namespace kw::targets
