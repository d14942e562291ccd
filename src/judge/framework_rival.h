// A rival that is no kernel: a framework's own operator, run by a process of its own that is trusted to read the clock.
#pragma once

#include <string>
#include <vector>

#include "targets/target.h"

namespace kw::judge {

using targets::Clock;
using targets::Instance;

// What a framework did instead of answering.
struct FrameworkFailure {
  enum class Kind {
    refused,  // it says that it cannot
    crashed,
    slow,  // no answer in time
  } kind = Kind::refused;
  std::string text;
};
using FrameworkStatus = std::optional<FrameworkFailure>;  // none: it went well

class FrameworkRival {
 public:
  virtual ~FrameworkRival() = default;

  virtual std::string name() const = 0;
  // Version and setting, for the record: "MNN 3.6.1, session".
  virtual std::string version() const = 0;

  // The device that the kernels run on; asked before `enter`. One that runs on this machine has no use for it.
  virtual void runs_beside(targets::Device&) {}
  // Makes itself ready for a task, in its best setting; a framework that is ready for it already does nothing.
  virtual FrameworkStatus enter(const Instance& instance, int threads) = 0;
  // The values of the weights that its model holds, as ops::draw_inputs gives them: all inputs, in the graph's order.
  // Empty: it takes the kernels' own, from the memory of the calls.
  virtual const std::vector<Tensor>& weights() const = 0;
  // The call overhead: the time of a call of a one-element model, measured with the last run.
  virtual double overhead_ns() const = 0;

  virtual FrameworkStatus arrange(const targets::SharedCalls& calls, const Instance& instance,
                                  Clock::time_point deadline) = 0;
  // Calls [first, first + count), with an untimed one of the call `warm` right before them; what they took is added to
  // *time_ns.
  virtual FrameworkStatus run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                              Clock::time_point deadline) = 0;
  // The inputs of those calls as they are now, where they are drawn on the GPU.
  virtual void refresh(const targets::SharedCalls&) {}
  // The operator's own time in the last run, where that is measured by itself (as a CUDA graph). None: it is the time
  // as called minus overhead_ns.
  virtual std::optional<double> own_ns() const { return std::nullopt; }
  // The same with warm caches, where own_ns() is of cold ones.
  virtual std::optional<double> own_warm_ns() const { return std::nullopt; }
  // True: it can be timed with caches that are empty of its tensors, and is from now on where `cold`.
  virtual bool set_cold(bool cold) { return !cold; }
  // Puts the outputs of a call of the last run to where `arrange` said; asked before they are read.
  virtual FrameworkStatus fetch(std::size_t /*call*/) { return std::nullopt; }
  // The outputs of a call of the last run.
  virtual std::vector<Shape> shapes(std::size_t call) const = 0;
  virtual void pin(int core) const = 0;
};

// Reads a framework's answer to a call; a text says which of its shapes is impossible.
Result<std::vector<Tensor>> outputs_of(const FrameworkRival& framework, const targets::Outputs& outputs,
                                       const Instance& instance, std::size_t call);

}  // namespace kw::judge
