// The measured roofs, kept in machine.json of the cache folder, so that measuring is done once and knowing costs one
// small file; those of a device in a file of its own. They count for the processor, the number of cores and the way of
// measuring that they were made with.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/roofs.h"

namespace kw::cpu {

std::filesystem::path kept_roofs_file();

// Fails where none are kept, they are another machine's, or the file is damaged; the message says which.
Result<Roofs> read_kept_roofs(const CpuFacts& facts, const std::filesystem::path& file = kept_roofs_file());

// The same for a command that only uses them: its message ends with what to do.
Result<Roofs> known_roofs();

// Creates the folder where it is missing.
Status keep_roofs(const Roofs& roofs, const CpuFacts& facts = read_cpu_facts(),
                  const std::filesystem::path& file = kept_roofs_file());

// One object with the keys of machine.json's "roofs":
//   measured_at, spread, stable, fma_gflops: FIGURE,
//   levels: [{name, size_bytes (null for memory), working_set_bytes, read_gbps, write_gbps, copy_gbps, triad_gbps:
//   FIGURE}]
// where FIGURE is {best, spread, stable, runs: [the bests of the last measurings]}.
std::string roofs_as_json(const Roofs& roofs);

}  // namespace kw::cpu
