// Where a framework runs: on this machine, in its environment, or on a device beside the kernels that it is compared
// with. A site starts its process, brings models to where that reads them, and has memory to try them in.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "judge/framework_rival.h"
#include "rivals/catalog.h"
#include "targets/worker.h"

namespace kw::rivals {

// Memory of a framework's own, to try it out.
struct Stage {
  std::unique_ptr<targets::Calls> calls;
  std::unique_ptr<targets::Outputs> outputs;
};

// A model as the framework's process finds it.
struct ModelFiles {
  std::string model;
  std::string folder;  // for conversions
};

class Site {
 public:
  virtual ~Site() = default;

  virtual Result<std::unique_ptr<targets::Worker>> start() = 0;
  // A folder here: models, and what was found out about them.
  virtual std::filesystem::path kept() const = 0;
  // The one version that counts; empty: any.
  virtual std::string wanted_version() const = 0;
  // What the user may do where the process does not start; empty: nothing is known.
  virtual std::string remedy() const = 0;
  // The model task.onnx of a folder in kept(). Refused: this framework has no such model.
  virtual judge::FrameworkStatus bring(const std::filesystem::path& folder, ModelFiles* files) = 0;
  virtual Result<Stage> make_stage(const targets::Instance& instance, int calls) = 0;
  // The device that kernels run on from now on. True: another one than before, and what was started there is gone.
  virtual bool enter(targets::Device&) { return false; }
};

// This machine.
std::unique_ptr<Site> here(const RivalFile& rival);

// Laid out for `calls` calls, all aligned.
Status lay_out(targets::Calls& memory, const targets::Instance& instance, int calls);

}  // namespace kw::rivals
