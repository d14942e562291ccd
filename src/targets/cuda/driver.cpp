#include "targets/cuda/driver.h"

#include <dlfcn.h>
#include <unistd.h>

namespace kw::cuda {
namespace {

template <class F>
bool find(void* library, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
  return function != nullptr;
}

Result<api::Functions> load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail("no NVIDIA driver: libcuda.so.1 is not on this machine");
  api::Functions all{};
  std::string missing;
#define KW_FIND(name) find(library, #name, all.name, missing)
  KW_FIND(cuInit);
  KW_FIND(cuDriverGetVersion);
  KW_FIND(cuGetErrorName);
  KW_FIND(cuGetErrorString);
  KW_FIND(cuDeviceGetCount);
  KW_FIND(cuDeviceGet);
  KW_FIND(cuDeviceGetName);
  KW_FIND(cuDeviceGetAttribute);
  KW_FIND(cuDeviceGetPCIBusId);
  KW_FIND(cuDeviceTotalMem_v2);
  KW_FIND(cuDevicePrimaryCtxRetain);
  KW_FIND(cuCtxSetCurrent);
  KW_FIND(cuCtxSynchronize);
  KW_FIND(cuModuleLoadDataEx);
  KW_FIND(cuModuleUnload);
  KW_FIND(cuModuleGetFunction);
  KW_FIND(cuFuncGetAttribute);
  KW_FIND(cuFuncSetAttribute);
  KW_FIND(cuFuncGetParamInfo);
  KW_FIND(cuMemAlloc_v2);
  KW_FIND(cuMemcpyHtoD_v2);
  KW_FIND(cuMemcpyDtoH_v2);
  KW_FIND(cuMemsetD8_v2);
  KW_FIND(cuMemsetD8Async);
  KW_FIND(cuMemGetAllocationGranularity);
  KW_FIND(cuMemAddressReserve);
  KW_FIND(cuMemAddressFree);
  KW_FIND(cuMemCreate);
  KW_FIND(cuMemRelease);
  KW_FIND(cuMemMap);
  KW_FIND(cuMemUnmap);
  KW_FIND(cuMemSetAccess);
  KW_FIND(cuStreamCreate);
  KW_FIND(cuStreamSynchronize);
  KW_FIND(cuStreamBeginCapture_v2);
  KW_FIND(cuStreamEndCapture);
  KW_FIND(cuEventCreate);
  KW_FIND(cuEventRecord);
  KW_FIND(cuEventSynchronize);
  KW_FIND(cuEventElapsedTime);
  KW_FIND(cuLaunchKernelEx);
  KW_FIND(cuGraphInstantiateWithFlags);
  KW_FIND(cuGraphUpload);
  KW_FIND(cuGraphLaunch);
  KW_FIND(cuGraphDestroy);
  KW_FIND(cuGraphExecDestroy);
  KW_FIND(cuTensorMapEncodeTiled);
#undef KW_FIND
  if (!missing.empty())
    return fail("the NVIDIA driver is too old: it has no {}; CUDA 12.4 or newer is needed", missing);
  return all;
}

}  // namespace

Result<const api::Functions*> load_driver() {
  static const Result<api::Functions> loaded = load();
  if (!loaded.ok()) return fail("{}", loaded.error().message);
  return &*loaded;
}

std::string text_of(const api::Functions& driver, api::Result result) {
  const char* name = nullptr;
  const char* words = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &words);
  return fmt::format("{} ({})", name == nullptr ? fmt::format("error {}", result) : name,
                     words == nullptr ? "" : words);
}

std::string why_no_gpu() {
  if (::access("/dev/nvidiactl", F_OK) != 0 && ::access("/dev/dxg", F_OK) != 0) {
    return "this machine has no NVIDIA GPU, or its driver is not loaded";
  }
  const auto driver = load_driver();
  return driver.ok() ? "" : driver.error().message;
}

}  // namespace kw::cuda
