// What a model's outputs are when nothing is rounded on the way: the whole graph in double precision.
//
// Beside another float32 program one cannot say which of the two is off. So every node is computed by its operator's
// reference (ops/op.h) from the doubles that those before it gave, with the shapes that the values have; the chosen
// branch of an If is followed, a Loop takes its turns. Then our outputs and the runtime's own are held to the same
// numbers.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "models/model.h"
#include "models/runtime.h"
#include "ops/wide_tensor.h"

namespace kw::models {

// The outputs for these inputs, one for each of model.tasks().inputs(). An Error names the node that cannot be
// expressed.
Result<std::vector<ops::WideTensor>> outputs_in_double(const Model& model, std::span<const Tensor> inputs);

// The first set of inputs of these terms, as the runtime's worker draws or reads it, and the outputs for it in double
// precision, as a file in the folder that a race is given (RunTerms::reference). There is none, and the reason is told,
// where a node cannot be expressed, or where it would take minutes.
Reference make_reference(const Model& model, const Runtime& runtime, const RunTerms& terms,
                         const std::filesystem::path& folder);

}  // namespace kw::models
