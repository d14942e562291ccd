// What passes between kw and kw-device, its agent on a device, over a stream of bytes: requests one way, answers the
// other, one request at a time. Both sides have little endian bytes and put a number of 64 bits at multiples of 8
// bytes, so that structures travel as they lie in memory, between processors of 64 and of 32 bits too. What has a
// processor's own addresses in it (a call's image) comes as the device has them.
//
// A message is a Head and `size` bytes. Requests without an answer (answered() is false) are sent together with the
// next one that is waited for; a device far away is asked once for what belongs together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "targets/cpu/host/control.h"

namespace kw::remote {

// The first bytes that an agent sends; what it says of its device follows, as text: its length in 64 bits, and lines of
// a name and a value (facts.h).
inline constexpr char kGreeting[] = "kw-device 3\n";
inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 36;  // of tensors and programs
inline constexpr std::uint64_t kMostOtherBytes = std::uint64_t{64} << 20;   // of all other messages

enum class Ask : std::uint32_t {
  weather,    // answered with text as the greeting: how fast and how hot it is now
  roofs,      // RoofRequest: answered with text: what the core that kernels are timed on can do at most
  size,       // Size: the inputs of `id` are this long; makes them where they are new
  write,      // Place, bytes: into inputs
  fill,       // Place with a value: inputs
  poison,     // the same: outputs of the kernel `id`
  forget,     // the inputs `id` are not needed any more
  program,    // Program, bytes: kept for `load`
  load,       // Load: answered with a Report; Outcome::unknown where the program is to be sent first
  arrange,    // Arrange and what it counts: answered with a Report
  scratch,    // Scratch: answered with a Report
  run,        // Run, and its Checks and Reads: answered with a Report and what was read
  look,       // Checks and Reads alone, as of `run`
  ready,      // Ready: answered with a Report
  time,       // Time: answered with a Report
  behaviour,  // answered with a Report
  drop,       // ends the kernel `id`
  file,       // File, bytes: into kw's folder on the device
  read,       // Place: of inputs; answered with a Report and the bytes
  worker,     // StartWorker and its words: starts a framework's process; answered with a Report
  talk,       // Talk, text: a command to it; answered with a Report and its answer
  dismiss,    // ends the framework's process `id`
};

constexpr bool answered(Ask ask) {
  switch (ask) {
    case Ask::size:
    case Ask::write:
    case Ask::fill:
    case Ask::poison:
    case Ask::forget:
    case Ask::program:
    case Ask::drop:
    case Ask::file:
    case Ask::dismiss:
      return false;
    default:
      return true;
  }
}

struct Head {
  Ask ask;
  std::uint32_t id;  // of a kernel or of inputs
  std::uint64_t size;
};

inline constexpr std::size_t kMostLevels = 8;
struct RoofRequest {
  std::uint32_t rounds;
  std::uint32_t levels;
  std::uint64_t timing_ns;
  std::uint64_t most_ns;
  std::uint64_t working_sets[kMostLevels];  // bytes, of each level
};

struct Size {
  std::uint64_t bytes;
};

struct Place {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t value;
  std::uint32_t reserved;
};

struct Program {
  char name[32];  // of its content; letters and digits, ended by a zero
};

struct Load {
  Program program;
  std::uint32_t inputs;  // their id
  std::uint32_t threads;
  std::uint32_t most_ms;
  std::uint32_t start_filter_words;   // what follows: system call filters as 64-bit words, for starting
  std::uint32_t kernel_filter_words;  // and for running
  std::uint32_t reserved;
  std::uint64_t memory_bytes;
};

struct Arrange {
  std::uint32_t most_ms;
  std::uint32_t region_count;    // what follows: host::Region of each,
  std::uint32_t address_count;   // 64-bit addresses,
  std::uint32_t constant_count;  // 32-bit flags,
  std::uint32_t call_count;
  std::uint32_t tensor_count;
  std::uint32_t instances;
  std::uint32_t shapes_wanted;
  std::uint64_t scratch_bytes;
  std::uint64_t kept_bytes;
  std::uint64_t output_bytes;
  std::uint64_t image_bytes;  // and the call's image
};

struct Scratch {
  std::uint32_t most_ms;
  std::uint32_t value;
};

struct Run {
  std::uint32_t most_ms;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t watched;
  std::uint32_t checks;  // Places that must still hold their value
  std::uint32_t reads;   // Places whose bytes are sent back
};

struct Ready {
  std::uint32_t most_ms;
  std::uint32_t count;
  std::uint32_t warm_call;  // kNoCall: none
  std::uint32_t warm;
};
inline constexpr std::uint32_t kNoCall = ~0u;

enum class Settle : std::uint32_t { none, near, far };

struct Time {
  std::uint32_t most_ms;
  std::uint32_t count;
  Settle settle;
  std::uint32_t reserved;
};

struct File {
  char path[256];  // from kw's folder; ended by a zero
};

// A framework's process (rivals/shared/worker.py); what follows: texts, each ended by a zero.
struct StartWorker {
  std::uint32_t word_count;  // the program and its arguments
  std::uint32_t variable_count;
  std::uint64_t memory_bytes;
};

struct Talk {
  std::uint32_t most_ms;
  std::uint32_t inputs, outputs;  // files of tensors that it gets with the command; 0: none
  std::uint32_t pinned;           // all its threads onto the core that kernels are timed on
};

enum class Outcome : std::uint32_t {
  answered,
  timed_out,  // and was ended
  ended,      // by itself, a fault or a signal: exit_code, signal, fault
  unknown,    // no such program here, or no such kernel
  no_memory,  // the device has no room for it; `message` says for what
  failed,     // the agent cannot; `message` says why
};

struct Report {
  Outcome outcome;
  std::int32_t exit_code;  // -1: ended by a signal, or lives
  std::int32_t signal;
  host::Stage stage;
  std::uint32_t failed;
  std::uint32_t prepares;
  std::uint32_t varies;
  std::uint32_t registers_changed;
  std::uint32_t rewritten;
  std::uint32_t came;           // of a lap: it got to the end of its calls
  std::uint32_t clean;          // of a lap: the thread that read the clock was not interrupted
  std::uint32_t watches_clock;  // another core than the kernel's reads it
  std::int32_t changed;         // the first of the Checks that failed; -1: none
  std::int32_t threads;         // that the system sees; -1: not known
  std::int32_t descriptors;
  std::uint32_t restless;  // it worked on after it had answered
  std::int32_t filters;    // of system calls, beyond the agent's own; -1: not known
  std::uint32_t reserved;
  std::uint64_t memory_held;  // 0: not known
  std::uint64_t stack_end;
  double ns;  // of a lap, or of the call that warms up
  double outside_ns;
  host::Fault fault;
  char message[512];
  std::uint32_t statuses;    // what follows: 32-bit statuses of the calls that ran,
  std::uint32_t shapes;      // host::FoundShapes of each,
  std::uint64_t read_bytes;  // and what was read
};
static_assert(sizeof(Report) == 656 && sizeof(Head) == 16 && sizeof(Load) == 64 && sizeof(Place) == 24 &&
              sizeof(host::Region) == 32 && sizeof(host::FoundShapes) == 1088);

}  // namespace kw::remote
