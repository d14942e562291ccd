#include "cli/roofs.h"

#include <fmt/format.h>

#include "targets/cpu/kept_roofs.h"

namespace kw::cli {

void know_roofs() {
  if (targets::known_roofs().ok()) return;
  fmt::print(stderr, "kw: measuring what this machine can do at most, about six seconds, once\n");
  const auto roofs = targets::measure_roofs();
  const Status status = roofs.ok() ? targets::keep_roofs(*roofs) : Status(roofs.error());
  if (!status.ok()) fmt::print(stderr, "kw: {}; going on without\n", status.error().message);
}

}  // namespace kw::cli
