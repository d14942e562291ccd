// A process that runs a framework beside the kernels that it is compared with: it answers commands, one at a time. What
// they say stands in rivals/shared/worker.py; how it is started and reached is the place's, here or on a device.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::targets {

// Where another process finds tensors: two files that it may map, and the offsets of each call's tensors in them.
struct SharedCalls {
  struct Call {
    std::vector<std::uint64_t> inputs, outputs;
    // Of each input that lies in no file, but is drawn on the GPU: what the code for that is given. Empty: none is.
    std::vector<std::string> drawn = {};
  };
  // Machine code, and what it is always given beside an input's own words.
  struct Drawing {
    std::string code, layers;
  };
  int inputs_file = -1;  // descriptors; on a device behind a link, its agent's numbers of them
  int outputs_file = -1;
  std::vector<Call> calls;
  std::shared_ptr<const Drawing> drawing = nullptr;
};

// What came of a question.
struct WorkerAnswer {
  enum class Kind {
    answered,
    slow,  // no answer in time, which a busy machine can do to it
    gone   // the process has ended, or is out of reach
  } kind = Kind::answered;
  std::string text;  // the answer, or how the process ended
};

// Ends with its object.
class Worker {
 public:
  virtual ~Worker() = default;

  // The answer to one command, with which the files of `shared` go where that is not null. Where the process is gone or
  // does not answer in time, it is killed, and every later question finds it gone.
  virtual WorkerAnswer ask(const std::string& command, const SharedCalls* shared,
                           std::chrono::steady_clock::time_point deadline) = 0;
  virtual bool alive() const = 0;
  // All its threads onto one core; on a device the one that kernels are timed on.
  virtual void pin(int core) = 0;
};

// A device's side of it: programs and files for frameworks there.
class WorkerHost {
 public:
  virtual ~WorkerHost() = default;

  // Where kw's files lie on the device.
  virtual std::string folder() const = 0;
  virtual std::string architecture() const = 0;  // "aarch64"
  // A file in that folder, by a path of letters, digits and "._-/". What fails is told by the next start or question.
  virtual void put(const std::string& path, std::span<const char> bytes) = 0;
  // `words`: a program of the device, by its name or a path, and its arguments. It finds the socket as descriptor 3.
  virtual Result<std::unique_ptr<Worker>> start(const std::vector<std::string>& words,
                                                const std::vector<std::string>& variables) = 0;
  // kw's own program that runs a framework's native library, put there; its path.
  virtual Result<std::string> native_runner() = 0;
};

}  // namespace kw::targets
