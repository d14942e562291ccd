// This CPU told in general terms (targets/about.h): facts, roofs and tools as rows, and what kernels are built with.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "core/cost.h"
#include "core/tunables.h"
#include "targets/about.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/roofs.h"

namespace kw::cpu {

targets::DeviceFacts device_facts(const CpuFacts& facts = read_cpu_facts());
targets::RoofTable roof_table(const Roofs& roofs);
Result<targets::RoofTable> known_roof_table();
Result<targets::RoofTable> measured_roof_table();
// Joins what was measured with what the file has of the same machine, and keeps it there.
targets::RoofTable joined_and_kept(Roofs fresh, const CpuFacts& facts, const std::filesystem::path& file);
// The roofs are one core's: of several threads nothing is known, as how far they share caches and memory was not
// measured.
Result<targets::LeastTime> least_time(const Cost& cost, int threads);
Result<targets::LeastTime> least_time(const Roofs& roofs, const Cost& cost, int threads);
targets::Tools tools(bool only_builders);

BuildOptions build_options();
std::string build_command(const std::string& name, const Choice& choice);

}  // namespace kw::cpu
