// Tasks from ONNX models: one node with the shapes it meets there, or a whole small model.
//
// A model rarely says the shapes of its results, so they are inferred with our own operators' shape rules, node by node
// and only as far as the wanted node needs. Where an operator is not ours, the file's own word counts if it has one.
// Lengths that the model leaves open come from the user by name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/task.h"
#include "suites/onnx_file.h"

namespace kw::suites {

// A node is selected by its name, by the name of one of its outputs, or by its number ("#3" or "3"). What it gets from
// initializers alone becomes weights with the model's values (constants where they decide shapes); everything else is
// drawn. Open lengths that reach the node unchanged become the task's named lengths.
Result<Task> task_from_node(const OnnxModel& model, std::string_view selector, const Lengths& dims);

// All nodes as one task, with the model's inputs and outputs.
Result<Task> task_from_model(const OnnxModel& model, const Lengths& dims);

}  // namespace kw::suites
