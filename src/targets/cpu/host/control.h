// The memory that the judge and the process with the candidate share to speak with each other: what to run, and what
// came of it. The candidate can write here too. So the judge takes nothing from here for granted: answers are held
// against the outputs, and times against clocks that it reads itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sandbox/filters.h"
#include "targets/contract.h"

namespace kw::host {

// Descriptors of the role "kernel", in their order from 3 on.
enum Descriptors {
  kCommand = sandbox::kCommandDescriptor,  // eventfd: the judge says that there is a command
  kAnswer = sandbox::kAnswerDescriptor,    // eventfd: the host says that it is done
  kControl = 5,
  kInputs = sandbox::kInputsDescriptor,  // cannot be mapped writable
  kOutputs = sandbox::kOutputsDescriptor,
  kLibrary = 8,  // the kernel's shared library
};

inline constexpr std::size_t kMostCalls = 256;
inline constexpr std::size_t kMostTensors = 64;  // of one call, inputs and outputs together
inline constexpr std::size_t kMostOutputs = 16;
inline constexpr std::size_t kMostRegions = 4096;
inline constexpr std::size_t kMostInstances = 2;
// As kernelwright.h says it.
inline constexpr std::uint64_t kMostStackBytes = std::uint64_t{2} << 20;
inline constexpr std::size_t kMostImageBytes = 128 * 1024;
inline constexpr std::uint32_t kMostSamples = 1024;  // of one command

enum class Command : std::uint32_t {
  none,
  arrange,  // map the regions, make the calls, prepare
  stand,    // make calls [first, first + count) ready to run
  run,      // run them, once `go` is given; calls that do not stand are made ready first
  poison,   // fill the scratch memory that was used with a byte
  warm,     // read all that calls [first, first + count) need; inputs have other values then than when they run
};

// What the host is doing; a crash leaves it at what the candidate was doing.
enum class Stage : std::uint32_t { start, load, loaded, prepare, run, idle };

// A piece of a shared file mapped at an address; what lies between regions is not there.
struct Region {
  std::uint32_t writable;  // of the outputs' file; else of the inputs'
  std::uint32_t reserved;
  std::uint64_t offset;
  std::uint64_t size_bytes;
  std::uint64_t address;
};

// The shapes that a call's outputs turned out to have.
struct FoundShapes {
  std::int32_t ranks[kMostOutputs];
  std::int64_t shapes[kMostOutputs][KW_MAX_RANK];
};

// In place of a system call: an instruction that reads a clock.
inline constexpr std::int32_t kClockInstruction = -2;

struct Fault {
  std::int32_t signal;
  std::int32_t system_call;  // of SIGSYS
  std::int32_t code;         // si_code
  std::int32_t reserved;
  std::uint64_t address;
};

struct Control {
  // From the judge.
  Command command;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t sequence;  // of this command
  std::uint32_t spin;      // wait for `go`
  std::uint32_t poison;
  std::uint32_t poisons_first;  // calls run when the scratch memory that was used has been filled with it
  std::uint32_t threads;
  std::uint32_t region_count;
  std::uint32_t call_count;
  std::uint32_t tensor_count;   // of one call
  std::uint32_t shapes_wanted;  // some outputs have shapes that the kernel finds
  std::uint32_t instances;      // that are prepared, each for an equal share of the calls
  std::uint32_t watched;        // writes to outputs are watched (watch.h)
  std::uint32_t dirty_heap;     // what malloc gives is full of rubbish; not where calls lie as timed ones do
  std::uint64_t scratch_bytes;
  std::uint64_t kept_bytes;
  std::uint64_t image_bytes;
  std::uint32_t constant[kMostTensors];  // which inputs kw_prepare may see
  std::uint64_t addresses[kMostCalls * kMostTensors];
  Region regions[kMostRegions];
  alignas(64) std::byte image[kMostImageBytes];

  // The race track: each on a line of its own.
  alignas(64) std::atomic<std::uint32_t> ready;
  alignas(64) std::atomic<std::uint32_t> go;
  alignas(64) std::atomic<std::uint32_t> done;

  // From the host.
  alignas(64) Stage stage;
  std::uint32_t failed;  // of the last command: 1, and why
  char message[512];
  std::uint32_t prepares;  // the kernel has kw_prepare
  std::uint32_t varies;    // it says KW_VARIES
  std::uint32_t registers_changed;
  std::uint64_t scratch_used;
  std::uint64_t kept_used;
  std::uint32_t rewritten;  // 1 + the output beside which was written
  std::uint64_t stack_end;  // what lies below is more stack than a kernel may use
  Fault fault;
  std::int32_t statuses[kMostCalls];  // by themselves: the fewer lines change hands, the less a turn takes
  FoundShapes found[kMostCalls];
  std::uint32_t sample_count;           // since the judge set it to 0
  std::uint64_t samples[kMostSamples];  // where the kernel was when SIGPROF came: bytes from its library's beginning
};

}  // namespace kw::host
