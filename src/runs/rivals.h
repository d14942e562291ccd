// Which frameworks a run compares kernels with: those that are named, else all that are installed.
//
// They are opened once for a run, and of(task) is handed to the judge. MNN and ONNX Runtime are installed on the way
// where they are missing, unless that is forbidden; without a network the user is told so and the run goes on with what
// there is. What was named and is not there is left out of every verdict, by name and with the reason.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "rivals/framework.h"
#include "rivals/on_device.h"
#include "rivals/on_gpu.h"

namespace kw::runs {

// What the user's settings allow.
struct RivalSetup {
  bool may_install = true;
  std::string python = {};                                                        // the user's own; empty: python3
  std::function<void(const std::string& line)> tell = [](const std::string&) {};  // what is done, and what fails
  std::optional<rivals::DeviceFrameworks> on_device = {};                         // kernels run there: so do they
  std::optional<int> gpu = {};                                                    // kernels run on this one
};

// A framework by its name, installed on the way where it is missing and that is not forbidden.
Result<rivals::RivalFile> ready_rival(const std::string& name, const RivalSetup& setup);

class Rivals {
 public:
  // By name with commas; "best", "none", or "": all that are installed. On a device behind a link those are the ones of
  // which its table names a library, or that were named before; nothing is installed there unasked. Beside a GPU those
  // are what the user's PyTorch can be.
  static Result<Rivals> choose(const std::string& named, const RivalSetup& setup);

  // What chooses the same again: "mnn,onnxruntime", "best" or "none".
  std::string names() const;

  // Those for a task: all, or with "best" the one that was the fastest of those that run it right, in a timing that is
  // kept; a framework that was not timed on this task yet is timed now. The judge measures it again, side by side.
  Result<std::vector<judge::FrameworkRival*>> of(const Task& task, int threads) const;
  // Starts their processes, for a caller that needs them soon and does other things meanwhile.
  void start() const;

 private:
  std::vector<std::unique_ptr<rivals::Framework>> frameworks_;
  std::vector<std::unique_ptr<judge::FrameworkRival>> absent_;
  std::vector<std::unique_ptr<rivals::OnGpu>> on_gpu_;
  static Result<Rivals> choose_on_device(const std::string& named, const RivalSetup& setup);
  static Result<Rivals> choose_on_gpu(const std::string& named, const RivalSetup& setup);

  bool best_ = false;
  bool on_device_ = false;
};

}  // namespace kw::runs
