// A wrong answer that is nearly right: computed with less precision than its type has, or with a constant slightly off.
//
// What an element may be off is derived so that any honest arithmetic in the tensor's own type stays within it and half
// precision inside does not (tests/precision_test.cpp shows that for every task). So half precision fails as wrong;
// this tells it from answers that are wrong outright.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/graph.h"
#include "ops/wide_tensor.h"

namespace kw::judge {

// Long sums have a wide bound, in which half precision can hide. Where the task has such sums, this leaves only a few
// elements of its largest float input and makes the others tiny: then each sum has few terms, and they show. False: the
// task has no long sums, and nothing was changed.
bool thin_out(const ops::Graph& graph, std::vector<Tensor>& inputs, Random& random);

struct Imprecision {
  std::int64_t elements = 0;  // that are off
  double relative = 0;        // by how much of their size, at most
};

// Of an answer that ops::compare found wrong; none where it is wrong outright.
std::optional<Imprecision> lost_precision(const ops::WideTensor& expected, const Tensor& got);

}  // namespace kw::judge
