// Why is a kernel as fast as it is? Its time and its rivals', its distance from the roof, what bounds it, and what its
// loops look like in machine code, as text for a person or a model.
#pragma once

#include <string>

#include "base/result.h"
#include "core/verdict.h"
#include "ops/graph.h"
#include "targets/cpu/machine_code.h"
#include "targets/cpu/roofs.h"

namespace kw::inspect {

struct Bound {
  double flops = 0;
  double bytes = 0;      // moved at least
  double intensity = 0;  // flops a byte
  double arithmetic_ns = 0;
  double moving_ns = 0;
  bool by_memory() const { return moving_ns >= arithmetic_ns; }
  double least_ns() const { return by_memory() ? moving_ns : arithmetic_ns; }
};
Bound bound_of(const ops::Graph& graph, const targets::Roofs& roofs);

// `roofs`, `code` may be null. Times are handed through `mark`, so that whoever sends them on can tell what a clock
// said.
using Mark = std::string (*)(const std::string& fact);
std::string performance_text(const ops::Graph& graph, const Verdict& verdict, const targets::Roofs* roofs,
                             const MachineCode* code, Mark mark = nullptr);

}  // namespace kw::inspect
