// Phones, boards and emulators, by an agent of ours that runs there.
#include "targets/target.h"

#include "targets/remote/about.h"
#include "targets/remote/device.h"
#include "targets/remote/device_roofs.h"

namespace kw::targets {

Target remote() {
  return {.name = "emulated",
          .languages = {".cpp", ".c", ".cc", ".cxx"},
          .open = kw::remote::RemoteDevice::open,
          .identity = kw::remote::identity,
          .usual_device = "emulated:aarch64",
          .schemes = {"ssh", "adb", "command"},
          .missing = kw::remote::missing,
          .facts = kw::remote::device_facts,
          .known_roofs = kw::remote::known_roofs,
          .measure_roofs = kw::remote::measure_roofs,
          .least_time = kw::remote::least_time,
          .tools = kw::remote::tools,
          .build_options = kw::remote::build_options,
          .techniques = "cpu",
          .runs_frameworks = kw::remote::runs_frameworks};
}

}  // namespace kw::targets
