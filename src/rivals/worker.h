// A rival's worker on this machine: a process of its own that runs a framework, and the packets that pass between it
// and us. What they say stands in rivals/shared/worker.py.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "rivals/catalog.h"
#include "sandbox/protocol.h"
#include "targets/worker.h"

namespace kw::rivals {

using Clock = std::chrono::steady_clock;

// How a framework's program, or another that works on a model from outside, is started: off the network where the
// system allows it, with few variables, and with limits of memory and of what it writes.
Program confined_program(std::vector<std::string> words);

// Off the network where the system allows it; nothing that it prints reaches anyone.
class LocalWorker final : public targets::Worker {
 public:
  static Result<std::unique_ptr<targets::Worker>> start(const RivalFile& rival);
  // Beside kernels of the GPU of this number. A driver maps more memory than there is, and PyTorch's compiler needs
  // programs of the user and a folder for what it makes: `cache`.
  static Result<std::unique_ptr<targets::Worker>> start_on_gpu(const RivalFile& rival, int gpu,
                                                               const std::filesystem::path& cache);

  targets::WorkerAnswer ask(const std::string& command, const targets::SharedCalls* shared,
                            Clock::time_point deadline) override;
  bool alive() const override { return process_ != nullptr; }
  void pin(int core) override;

 private:
  static Result<std::unique_ptr<targets::Worker>> start(Program worker, const RivalFile& rival);

  struct Process {
    int pid = 0;
    sandbox::Descriptor link;
    // Kills it where it does not end by itself within this time, and says how it had ended where it had.
    std::string end(std::chrono::milliseconds patience);
    ~Process() { end(std::chrono::milliseconds(20)); }
  };
  std::unique_ptr<Process> process_;
};

}  // namespace kw::rivals
