// Where CUDA kernels are built: device code by NVRTC and the plan by the host's compiler, both in the sandbox.
#pragma once

#include <memory>
#include <string>

#include "targets/cpu/workshop.h"
#include "targets/cuda/resources.h"
#include "targets/target.h"

namespace kw::cuda {

// Where NVRTC was found.
struct Toolkit {
  std::string library;         // libnvrtc.so.13, with its whole path
  std::string include_folder;  // of cuda_fp16.h and the like; empty: none
};
// In $KW_CUDA (a folder with lib or lib64, and include), or in the usual places of CUDA's toolkit.
Result<Toolkit> find_toolkit();

// NVRTC alone, and the flags of it that a kernel may choose.
BuildOptions build_options();

class CudaBuilt final : public targets::Built {
 public:
  Result<std::string> code() const override { return cubin; }

  std::string cubin;
  std::vector<KernelResources> resources;
  std::unique_ptr<cpu::Library> plan;
};

class Builder {
 public:
  // `architecture`: "sm_90a".
  static Result<Builder> open(std::string architecture);

  Result<std::unique_ptr<CudaBuilt>> build(const targets::Source& written, const Choice& choice);
  const sandbox::Sandbox& sandbox() const { return workshop_->sandbox(); }

 private:
  struct Compiled {
    Reason reason;
    std::vector<SourceError> errors;
    std::string cubin;
    std::vector<KernelResources> resources;
  };
  // `written`: as the author wrote it, for messages.
  Result<Compiled> compile(const targets::Source& source, const targets::Source& written, const Choice& choice) const;

  std::unique_ptr<cpu::Workshop> workshop_;
  Toolkit toolkit_;
  sandbox::Shown library_folder_, include_folder_, tool_folder_;
  std::string architecture_;
};

}  // namespace kw::cuda
