// What passes between kw and a worker: requests and answers as JSON in packets, one answer a request, with files of
// shared memory beside them. What is longer than a packet goes as a file itself.
//
//   load                             files: the machine code
//   arrange  places, inputs, outputs, plan, exact    files: the inputs' values, memory for one output; `exact`: each
//            tensor an allocation of the driver's own, for its tools, and never given back
//   write    items                   inputs from the shared memory, or drawn (then files: the judge's code for the
//                                    GPU), and what lies around them
//   check    first, count, inputs, outputs, plan    files: the judge's code, a reference's. Every output of these
//                                    calls, whose inputs are equal, against the reference; and that what was drawn is
//                                    still there
//   prepare                          the launches that run once
//   run      first, count, inputs    calls, untimed; then the named inputs must be what they were
//   poison   call, value, around     outputs
//   poison_scratch value
//   around   call, value             which output's surroundings were written to
//   read     call, output, bytes     into the shared memory
//   put      call, output, bytes     from there
//   time     first, count, cold      answers ns, and where it was cold also warm_ns, of all those calls
//   several  parts                   requests one after the other, all but the last without files
//   reset                            as new
//
// An answer holds `error` (ours), `refused` or `no_memory` (why it cannot be served), `failed`, `code`, `where` (what
// the driver said of the kernel), and `lost` where the process ends after it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/json.h"
#include "sandbox/protocol.h"

namespace kw::cuda {

inline constexpr int kWorkerDescriptor = 3;
inline constexpr std::size_t kMostOutputs = 16;
inline constexpr std::size_t kShapeWords = 9;  // the rank, and eight lengths

struct Message {
  Json json;
  std::vector<Descriptor> files;
};

bool send_json(int socket, const Json& json, std::span<const int> files);
// None: the other side is gone, or sent no JSON.
std::optional<Message> receive_json(int socket);

}  // namespace kw::cuda
