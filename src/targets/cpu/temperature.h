// What the core's caches hold of a task's tensors before a turn that is timed.
#pragma once

#include "targets/cpu/arena.h"

namespace kw::cpu {

// The tensors of the first calls, which were just written, in the order in which a call needs them; nothing where they
// are more than any cache keeps.
void bring_near(const Layout& layout, int calls, const Arena& inputs, const Arena& outputs);
// All tensors out of all caches, and everything else out of the core's own.
void push_out(const Layout& layout, const Arena& inputs, const Arena& outputs);

}  // namespace kw::cpu
