// Other shapes of a task: its named lengths with other values that its operators still accept.
#pragma once

#include <cstdint>
#include <vector>

#include "core/task.h"

namespace kw::ops {

// Shapes that a kernel does not see while it is being written: lengths of 1, odd and prime ones, one more and one less
// than the task's own, powers of two: `count` of them, fewer where the task leaves little open. Then each length empty
// once, where the operators allow it. Different from one another and from the task's own. The same seed gives the same
// lengths.
std::vector<Lengths> hidden_lengths(const Task& task, std::uint64_t seed, std::size_t count);

// The smallest shape that still shows what the task does, for an example with numbers.
Lengths tiny_lengths(const Task& task);

}  // namespace kw::ops
