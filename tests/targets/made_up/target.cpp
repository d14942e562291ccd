// A target without a machine, for tests.
#include "targets/target.h"

#include "targets/made_up/device.h"

namespace kw::targets {

Target made_up() {
  return {.name = "made_up",
          .languages = {".txt"},
          .open = kw::made_up::open,
          .identity = [](const std::string&) { return std::string("made up\n"); },
          .schemes = {"far"},
          .build_options = [] { return BuildOptions{.compilers = {"none"}, .here = {"none"}}; },
          .plain_kernel = [](const ops::Graph&) -> Result<std::string> { return std::string("lap_ns 20000"); }};
}

}  // namespace kw::targets
