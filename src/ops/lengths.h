// Other shapes of a task: its named lengths with other values that its operators still accept.
#pragma once

#include <cstdint>
#include <vector>

#include "core/task.h"

namespace kw::ops {

// Shapes that a kernel does not see while it is being written, `count` of them, fewer where the task leaves little
// open. Up to one in twelve is much longer in one length, each length in its turn. Three in four of the others are
// independent draws, every length log-uniform over [1, 4 times the task's own], now and then two of them equal; the
// rest has lengths that code treats differently (1, next to the task's own, parts and multiples of it, round numbers,
// primes), or nearly those of the shape before. All of them together cost about as much as ten times the task's own
// shape, but at least as two million elements and at most as 128 million; what each of them costs because of axes that
// are no lengths comes on top, up to 16 million: draws that cost more than is left keep one of their lengths, and the
// others become shorter. Then each length empty once, where the operators allow it. Different from one another and from
// the task's own. The same seed gives the same lengths.
std::vector<Lengths> hidden_lengths(const Task& task, std::uint64_t seed, std::size_t count);

// The smallest shape that still shows what the task does, for an example with numbers.
Lengths tiny_lengths(const Task& task);

// How much a caller holds and computes at most.
struct Allowance {
  double elements = 0;  // of all inputs and outputs
  double flops = 0;
};
// The task's own lengths where they fit; else with the longest ones halved until they do, as far as the operators allow
// it. The same task gives the same lengths.
Lengths lengths_within(const Task& task, const Allowance& most);

}  // namespace kw::ops
