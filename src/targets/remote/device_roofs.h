// What a device can do at most, measured there by the agent (agent/main.cpp) and kept here, as this machine's is.
//
// In an emulator all of this runs too, so that it can be tried; what it measures is the emulator, and no least time is
// made of it.
#pragma once

#include "core/cost.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/roofs.h"
#include "targets/remote/architecture.h"
#include "targets/target.h"

namespace kw::remote {

// The core that kernels are timed on, as far as measuring needs to know it. Equal `model` and cores: the same device.
cpu::CpuFacts facts_for_roofs(const std::string& device, const Said& said);
// What an agent measured, as its lines say it: whatever is no speed, or does not fit together, is an Error.
Result<cpu::RoofRounds> rounds_said(const Said& said, std::size_t levels);

Result<targets::RoofTable> known_roofs(const std::string& device);
Result<targets::RoofTable> measure_roofs(const std::string& device);
Result<targets::LeastTime> least_time(const std::string& device, const Cost& cost, int threads);

}  // namespace kw::remote
