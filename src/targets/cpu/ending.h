// Why a kernel's process ended, as a reason: from what it left in the memory that it shares (host/control.h) and how
// the system says that it ended. The same on this machine and on a device.
#pragma once

#include <optional>
#include <string>

#include "core/reason.h"
#include "sandbox/sandbox.h"
#include "targets/cpu/arena.h"
#include "targets/cpu/host/control.h"
#include "targets/instance.h"

namespace kw::cpu {

// The buffers that a fault may have been near to; null: none were laid out yet.
struct Surroundings {
  const Layout* layout = nullptr;
  const targets::Instance* instance = nullptr;
};

// What a kernel was doing: "in kw_run".
std::string stage_text(host::Stage stage);
// Where a fault's address lies: "4 bytes past the end of input 0 (x)", or empty where it is near no buffer.
std::string describe(std::uint64_t address, const Surroundings& around);
// `ending`: none where it is not known. `system_call`: the name of the one that the fault names.
Reason reason_of_end(const host::Control& control, const std::optional<sandbox::Ending>& ending,
                     const Surroundings& around, const std::string& system_call);

}  // namespace kw::cpu
