// Now and then a case's first input begins as it did in the case before, in another shape: whoever takes a few values
// for the whole shows. Here is what may be mixed so without asking of a kernel what no honest one can do.
#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/draw.h"
#include "ops/graph.h"

namespace kw::judge {

// Copies the beginning of the last case's first input over this one's, whose class is the same. Its end stays, as ends
// are drawn with care. False, and nothing is copied: where one input alone may be far out (ops/reach.h), it must not
// meet another one of this case that is: their products overflow in one order of summation and not in another.
bool begin_as_the_last(const ops::Graph& graph, ops::InputClass input_class, const Tensor& last, Tensor& now);

// Typical inputs become like those of the call before, of the same shape, in one of these ways: the first one begins
// alike, or differs in one element, or in a short stretch; is the other turned round, twice as large, or its negative;
// the first one alone is the same, or all but the first; two of one type change places. Where it has no such way, they
// stay as they are.
inline constexpr std::size_t kWaysAlike = 9;
void make_alike(const ops::Graph& graph, const std::vector<bool>& constant, const std::vector<Tensor>& before,
                std::size_t way, std::vector<Tensor>& now, Random& random);

}  // namespace kw::judge
