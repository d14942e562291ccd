// This machine as the record knows it, under the name that commands use.
#pragma once

#include "runs/machine.h"

namespace kw::cli {

using runs::machine_identity;
using runs::this_machine;

}  // namespace kw::cli
