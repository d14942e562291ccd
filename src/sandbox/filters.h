// Which system calls a sandboxed process may make. The filters are compiled once, when the warden starts; a child loads
// one in microseconds.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace kw::sandbox {

enum class Filter {
  tools,    // a compiler: may run programs and use files, not the network, the kernel's machinery or other processes
  load,     // loading a kernel: reads its library, sets up memory
  kernel,   // running a kernel of one thread: memory, and the two descriptors that it is spoken to through
  threads,  // the same, and threads
  start,    // starting a kernel that is a program of its own, on a device: as `load`, and no files
};

// The descriptors of the two ends that a kernel's process hears and answers through.
inline constexpr int kCommandDescriptor = 3;
inline constexpr int kAnswerDescriptor = 4;
// The files that it shares with its judge.
inline constexpr int kInputsDescriptor = 6;
inline constexpr int kOutputsDescriptor = 7;

using Program = std::vector<sock_filter>;
// Empty where libseccomp fails. `machine`: as the system calls it, "aarch64"; empty: this one.
Program make_filter(Filter filter, const std::string& machine = {});
// "openat", for messages.
std::string system_call_name(int number, const std::string& machine = {});

// Loads it into this process, for good. No new privileges must have been set.
bool load_filter(const Program& program);

}  // namespace kw::sandbox
