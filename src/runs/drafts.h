// The kernels that a search on a device begins with: what its target's techniques make of a task, and the plain one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compose/techniques.h"
#include "ops/graph.h"
#include "search/space.h"

namespace kw::runs {

// The techniques of the device's target.
Result<std::vector<compose::Technique>> techniques_for(const std::string& device);

// The most promising first and the plain kernel last, in the target's language.
Result<std::vector<compose::Draft>> drafts_for(const std::string& device, const ops::Graph& graph,
                                               const std::vector<compose::Technique>& techniques);

// The same as the kernels of a search.
Result<std::vector<search::Kernel>> kernels_for(const std::string& device, const ops::Graph& graph,
                                                const std::vector<compose::Technique>& techniques);

// What `kw optimize` searches for a task: its kernels, and how many settings each has.
Result<std::string> kernels_as_text(const std::string& device, const ops::Graph& graph);

}  // namespace kw::runs
