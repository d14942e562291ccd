// The plain kernel of a task, in the language of a device's target.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/graph.h"
#include "targets/target.h"

namespace kw::judge {

// Right and straightforward, for every shape that the task allows. An Error where some operator has none.
Result<targets::Source> plain_source(const std::string& device, const ops::Graph& graph);

}  // namespace kw::judge
