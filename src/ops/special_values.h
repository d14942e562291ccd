// Whether inputs may hold NaN and infinities: where all operators say what these give.
#pragma once

#include "ops/graph.h"

namespace kw::ops {

struct SpecialValues {
  bool nans = false;
  bool infinities = false;
};

// Of one of graph.inputs, as draw_inputs draws it.
SpecialValues special_values_of(const Graph& graph, int input);

}  // namespace kw::ops
