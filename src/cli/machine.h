// This machine as the record knows it, under the name that commands use.
#pragma once

#include "workbench/machine.h"

namespace kw::cli {

using workbench::machine_identity;
using workbench::this_machine;

}  // namespace kw::cli
