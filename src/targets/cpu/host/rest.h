// The pause of a loop that polls a flag which another core writes.
#pragma once

namespace kw::host {

// Slow enough to leave most of a shared core to its other half. Not by x86's PAUSE: a hypervisor may take many of those
// for a spinlock whose holder has no core, and take this core away. Laps were seen a third of a millisecond
// too long with it.
inline void rest() {
#if defined(__x86_64__)
  asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace kw::host
