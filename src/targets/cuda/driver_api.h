// What this program uses of CUDA's driver (libcuda.so.1), declared here: the program is built without CUDA, and finds
// the driver when it runs. The driver keeps these functions and structures as they are; driver_api_test.cpp
// holds them against CUDA's own header where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw::cuda::api {

using Result = int;  // 0: success
using Device = int;
using Address = unsigned long long;  // in the device's memory
using Context = struct ContextOf*;
using Module = struct ModuleOf*;
using Function = struct FunctionOf*;
using Stream = struct StreamOf*;
using Event = struct EventOf*;
using Graph = struct GraphOf*;
using Executable = struct ExecutableOf*;  // a graph that can be launched
using Allocation = unsigned long long;

inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchTimeout = 702;
inline constexpr Result kAssert = 710;
inline constexpr Result kIllegalInstruction = 715;
inline constexpr Result kMisalignedAddress = 716;
inline constexpr Result kLaunchFailed = 719;

// Of cuDeviceGetAttribute.
enum DeviceAttribute {
  kMaxThreadsPerBlock = 1,
  kMultiprocessors = 16,
  kMemoryBusBits = 37,
  kMemoryClockKhz = 36,
  kClockKhz = 13,
  kL2CacheBytes = 38,
  kMajor = 75,
  kMinor = 76,
  kMaxSharedPerBlockOptin = 97,
};
// Of cuFuncGetAttribute and cuFuncSetAttribute.
enum FunctionAttribute {
  kFunctionMaxThreads = 0,
  kFunctionMaxDynamicShared = 8,
  kFunctionNonPortableCluster = 14,
};

struct Location {
  int type = 1;  // a device
  int id = 0;
};

struct AllocationProperties {
  int type = 1;  // pinned
  int handle_types = 0;
  Location location;
  void* unused = nullptr;
  unsigned char compression = 0, direct = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};

struct Access {
  Location location;
  int flags = 3;  // reading and writing; 1: reading alone
};

struct LaunchAttribute {
  int id = 0;
  char pad[4] = {};
  union {
    char bytes[64] = {};
    struct {
      unsigned x, y, z;
    } cluster;
  };
};
inline constexpr int kClusterDimension = 4;

struct LaunchConfiguration {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct alignas(64) EncodedTensorMap {
  std::uint64_t words[16];
};

struct Functions {
  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int*);
  Result (*cuGetErrorName)(Result, const char**);
  Result (*cuGetErrorString)(Result, const char**);
  Result (*cuDeviceGetCount)(int*);
  Result (*cuDeviceGet)(Device*, int);
  Result (*cuDeviceGetName)(char*, int, Device);
  Result (*cuDeviceGetAttribute)(int*, int, Device);
  Result (*cuDeviceGetPCIBusId)(char*, int, Device);
  Result (*cuDeviceTotalMem_v2)(std::size_t*, Device);
  Result (*cuDevicePrimaryCtxRetain)(Context*, Device);
  Result (*cuCtxSetCurrent)(Context);
  Result (*cuCtxSynchronize)();
  Result (*cuModuleLoadDataEx)(Module*, const void*, unsigned, int*, void**);
  Result (*cuModuleUnload)(Module);
  Result (*cuModuleGetFunction)(Function*, Module, const char*);
  Result (*cuFuncGetAttribute)(int*, int, Function);
  Result (*cuFuncSetAttribute)(Function, int, int);
  Result (*cuFuncGetParamInfo)(Function, std::size_t, std::size_t*, std::size_t*);
  Result (*cuMemAlloc_v2)(Address*, std::size_t);
  Result (*cuMemcpyHtoD_v2)(Address, const void*, std::size_t);
  Result (*cuMemcpyDtoH_v2)(void*, Address, std::size_t);
  Result (*cuMemsetD8_v2)(Address, unsigned char, std::size_t);
  Result (*cuMemsetD8Async)(Address, unsigned char, std::size_t, Stream);
  Result (*cuMemGetAllocationGranularity)(std::size_t*, const AllocationProperties*, int);
  Result (*cuMemAddressReserve)(Address*, std::size_t, std::size_t, Address, unsigned long long);
  Result (*cuMemAddressFree)(Address, std::size_t);
  Result (*cuMemCreate)(Allocation*, std::size_t, const AllocationProperties*, unsigned long long);
  Result (*cuMemRelease)(Allocation);
  Result (*cuMemMap)(Address, std::size_t, std::size_t, Allocation, unsigned long long);
  Result (*cuMemUnmap)(Address, std::size_t);
  Result (*cuMemSetAccess)(Address, std::size_t, const Access*, std::size_t);
  Result (*cuStreamCreate)(Stream*, unsigned);
  Result (*cuStreamSynchronize)(Stream);
  Result (*cuStreamBeginCapture_v2)(Stream, int);
  Result (*cuStreamEndCapture)(Stream, Graph*);
  Result (*cuEventCreate)(Event*, unsigned);
  Result (*cuEventRecord)(Event, Stream);
  Result (*cuEventSynchronize)(Event);
  Result (*cuEventElapsedTime)(float*, Event, Event);
  Result (*cuLaunchKernelEx)(const LaunchConfiguration*, Function, void**, void**);
  Result (*cuGraphInstantiateWithFlags)(Executable*, Graph, unsigned long long);
  Result (*cuGraphUpload)(Executable, Stream);
  Result (*cuGraphLaunch)(Executable, Stream);
  Result (*cuGraphDestroy)(Graph);
  Result (*cuGraphExecDestroy)(Executable);
  Result (*cuTensorMapEncodeTiled)(EncodedTensorMap*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*,
                                   const unsigned*, const unsigned*, int, int, int, int);
};

}  // namespace kw::cuda::api
