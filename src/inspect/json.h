// What was found in a source or a task, for programs: the objects of `kw inspect --json`.
#pragma once

#include <vector>

#include "base/json.h"
#include "inspect/errors.h"
#include "inspect/tree.h"
#include "ops/graph.h"

namespace kw::inspect {

Json as_json(const std::vector<CodeError>& errors);
Json as_json(const std::vector<TreeFile>& files);
// {task, opset, lengths, nodes, inputs, outputs}
Json model_as_json(const ops::Graph& graph);

}  // namespace kw::inspect
