// A worker (worker/main.cpp) as kw sees it: a process with a context on one GPU. Opening a context takes about a third
// of a second, so that some always stand ready, and one whose kernel behaved serves the next.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/result.h"
#include "targets/target.h"

namespace kw::cuda {

using targets::Clock;

class WorkerProcess {
 public:
  // `under`: words of a program that runs it, such as compute-sanitizer, which prints into the file `out`; empty: none.
  static Result<std::unique_ptr<WorkerProcess>> start(int device, const std::vector<std::string>& under = {},
                                                      int out = -1);
  ~WorkerProcess();

  // What the GPU is; an Error where the driver has none for us. Waited for once.
  Result<Json> facts(Clock::time_point deadline);
  // An answer; none where the process is gone or did not answer in time. After that it is ended.
  std::optional<Json> ask(const Json& request, std::span<const int> files, Clock::time_point deadline);
  bool alive() const { return pid_ > 0; }
  // Why the last request got no answer.
  bool timed_out() const { return timed_out_; }
  void end();
  // Lets it end by itself, so that what runs it can tell what it saw.
  void finish(Clock::time_point deadline);

 private:
  WorkerProcess() = default;
  std::optional<Json> receive(Clock::time_point deadline);

  int pid_ = 0;
  Descriptor socket_;
  std::optional<Json> facts_;
  bool timed_out_ = false;
};

class WorkerPool {
 public:
  explicit WorkerPool(int device) : device_(device) {}

  Result<std::unique_ptr<WorkerProcess>> take();
  // Made as new, and kept where it still can serve.
  void give_back(std::unique_ptr<WorkerProcess> worker);

 private:
  int device_;
  std::mutex lock_;
  std::vector<std::unique_ptr<WorkerProcess>> ready_;
};

}  // namespace kw::cuda
