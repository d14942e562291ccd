// CUDA kernels of techniques (kernels/cuda): each node with its technique, neighbours that work element by element in
// the same launch.
//
// A technique is a file kernels/cuda/NAME.cuh with the opening comment of compose/techniques.h. It is put into a
// namespace of its name, and holds
//   constexpr int threads   of its blocks, and `kernels` or `OP_kernels`: how many different kernels an operator has
//   struct OP_node          numbers that OP_plan fills in from shapes and attributes, with the launches (Steps)
//   OP<k>                   the device function of kernel k: (node, x, further operands, y, room); x reads the first
//                           operand, y writes the result (parts/tensors.cuh), room is scratch memory of all launches
//   OP_results              where an operator has several: pointers to the others stand between y and room, null where
//                           nobody wants them
// One with `parts: any` holds a function OP of elements for each operator instead, and write_all.
#pragma once

#include <string>

#include "base/result.h"
#include "compose/techniques.h"
#include "ops/graph.h"

namespace kw::cuda {

// In the form of compose::Composer.
Result<std::string> composed_kernel(const ops::Graph& graph, const std::vector<const compose::Technique*>& choice,
                                    const std::string& about, compose::Parts parts);

}  // namespace kw::cuda
