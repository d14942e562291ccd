#include "targets/cuda/worker/launcher.h"

#include <algorithm>
#include <cstring>

#include "targets/contract.h"
#include "targets/cuda/driver.h"

namespace kw::cuda {
namespace {

// Waits on the GPU while the host queues what is to be timed: then the host's own speed is not in the time.
constexpr char kSpin[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry kw_spin(.param .u64 nanoseconds) {
  .reg .pred %p;
  .reg .u64 %begin, %now, %spent, %most;
  ld.param.u64 %most, [nanoseconds];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %spent, %now, %begin;
  setp.lt.u64 %p, %spent, %most;
  @%p bra again;
  ret;
}
)";
constexpr std::uint64_t kSpinNs = 30'000;
// Overwritten to empty the device's cache: several times its size.
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;
constexpr std::size_t kMostColdCalls = 4;  // of a lap

// CUtensorMapDataType.
int tma_type(int dtype) {
  switch (dtype) {
    case KW_UINT8:
    case KW_INT8:
    case KW_BOOL:
      return 0;
    case KW_UINT16:
    case KW_INT16:
      return 1;
    case KW_UINT32:
      return 2;
    case KW_INT32:
      return 3;
    case KW_UINT64:
      return 4;
    case KW_INT64:
      return 5;
    case KW_FLOAT16:
      return 6;
    case KW_FLOAT32:
      return 7;
    case KW_FLOAT64:
      return 8;
    case KW_BFLOAT16:
      return 9;
    default:
      return -1;
  }
}

int tma_swizzle(int bytes) { return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0; }
int tma_promotion(int bytes) { return bytes == 64 ? 1 : bytes == 128 ? 2 : bytes == 256 ? 3 : 0; }

api::Address address_of(ArgumentKind kind, std::int64_t at, const Places& places) {
  const auto index = static_cast<std::size_t>(at);
  switch (kind) {
    case ArgumentKind::input:
      return places.inputs.at(index);
    case ArgumentKind::output:
      return places.outputs.at(index);
    case ArgumentKind::scratch:
      return places.scratch + static_cast<api::Address>(at);
    case ArgumentKind::kept:
      return places.kept + static_cast<api::Address>(at);
    case ArgumentKind::found_shape:
      return places.shapes.at(index);
    default:
      return 0;
  }
}

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

api::Result Launcher::start() {
  if (stream_ != nullptr) return 0;
  if (const auto result = driver_.cuStreamCreate(&stream_, 1)) return result;
  if (const auto result = driver_.cuEventCreate(&begin_, 0)) return result;
  if (const auto result = driver_.cuEventCreate(&end_, 0)) return result;
  if (const auto result = driver_.cuModuleLoadDataEx(&own_, kSpin, 0, nullptr, nullptr)) return result;
  return driver_.cuModuleGetFunction(&spin_, own_, "kw_spin");
}

api::Result Launcher::load(const void* code) {
  if (const auto result = start()) return result;
  unload();
  return driver_.cuModuleLoadDataEx(&module_, code, 0, nullptr, nullptr);
}

void Launcher::unload() {
  forget_graphs();
  functions_.clear();
  if (module_ != nullptr) driver_.cuModuleUnload(module_);
  module_ = nullptr;
}

Status Launcher::bind(const Plan& plan) {
  writes_shapes_ = false;
  for (const Launch& launch : plan.launches) KW_CHECK(bind_launch(launch));
  return {};
}

Status Launcher::bind_launch(const Launch& launch) {
  auto& function = functions_[launch.kernel];
  if (function == nullptr && driver_.cuModuleGetFunction(&function, module_, launch.kernel.c_str()) != 0) {
    return fail("the plan launches {}, and there is no kernel of that name (extern \"C\" __global__)", launch.kernel);
  }
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0, size = 0;
    const bool is_parameter = driver_.cuFuncGetParamInfo(function, i, &offset, &size) == 0;
    if (!is_parameter && i == launch.arguments.size()) break;
    if (!is_parameter || i == launch.arguments.size()) {
      return fail("{} gets {} arguments and has {} parameters", launch.kernel, launch.arguments.size(),
                  is_parameter ? "more" : std::to_string(i));
    }
    const Argument& argument = launch.arguments[i];
    const std::size_t given = argument.kind == ArgumentKind::value        ? argument.value.size()
                              : argument.kind == ArgumentKind::tensor_map ? sizeof(api::EncodedTensorMap)
                                                                          : sizeof(api::Address);
    if (given != size) {
      return fail("argument {} of {} has {} bytes, and its parameter {}", i, launch.kernel, given, size);
    }
    writes_shapes_ = writes_shapes_ || argument.kind == ArgumentKind::found_shape;
  }
  int most_threads = 0;
  driver_.cuFuncGetAttribute(&most_threads, api::kFunctionMaxThreads, function);
  if (const auto threads = launch.block[0] * launch.block[1] * launch.block[2]; threads > most_threads) {
    return fail("{} is launched with {} threads in a block; its registers and bounds allow {}", launch.kernel, threads,
                most_threads);
  }
  if (launch.shared_bytes > (48 << 10)) {
    if (const auto result = driver_.cuFuncSetAttribute(function, api::kFunctionMaxDynamicShared,
                                                       static_cast<int>(launch.shared_bytes))) {
      return fail("{} cannot have {} bytes of shared memory: {}", launch.kernel, launch.shared_bytes,
                  text_of(driver_, result));
    }
  }
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 8) {
    driver_.cuFuncSetAttribute(function, api::kFunctionNonPortableCluster, 1);
  }
  return {};
}

Result<std::string> Launcher::encode(const Argument& argument, const Places& places) const {
  if (argument.kind == ArgumentKind::value) return argument.value;
  if (argument.kind != ArgumentKind::tensor_map) return bytes_of(address_of(argument.kind, argument.at, places));
  api::EncodedTensorMap map{};
  std::uint64_t lengths[5] = {}, strides[5] = {};
  unsigned box[5] = {}, steps[5] = {1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 5; ++i) {
    lengths[i] = static_cast<std::uint64_t>(argument.lengths[i]);
    box[i] = static_cast<unsigned>(argument.box[i]);
    if (i < 4) strides[i] = static_cast<std::uint64_t>(argument.strides[i]);
  }
  void* address = reinterpret_cast<void*>(address_of(argument.of, argument.at, places));
  const auto result = driver_.cuTensorMapEncodeTiled(
      &map, tma_type(argument.dtype), static_cast<unsigned>(argument.rank), address, lengths, strides, box, steps, 0,
      tma_swizzle(argument.swizzle), tma_promotion(argument.l2_promotion), argument.fill_nan ? 1 : 0);
  if (result != 0) return fail("a TMA descriptor is not possible: {}", text_of(driver_, result));
  return bytes_of(map);
}

api::Result Launcher::launch(const Plan& plan, const Places& places, bool once) {
  for (const Launch& one : plan.launches) {
    if (one.once != once) continue;
    std::vector<std::string> values;
    for (const Argument& argument : one.arguments) {
      Result<std::string> value = encode(argument, places);
      if (!value.ok()) return 1;  // CUDA_ERROR_INVALID_VALUE
      values.push_back(std::move(*value));
    }
    std::vector<void*> pointers;
    for (std::string& value : values) pointers.push_back(value.data());
    api::LaunchAttribute attribute;
    attribute.id = api::kClusterDimension;
    attribute.cluster = {static_cast<unsigned>(one.cluster[0]), static_cast<unsigned>(one.cluster[1]),
                         static_cast<unsigned>(one.cluster[2])};
    api::LaunchConfiguration how{.grid_x = static_cast<unsigned>(one.grid[0]),
                                 .grid_y = static_cast<unsigned>(one.grid[1]),
                                 .grid_z = static_cast<unsigned>(one.grid[2]),
                                 .block_x = static_cast<unsigned>(one.block[0]),
                                 .block_y = static_cast<unsigned>(one.block[1]),
                                 .block_z = static_cast<unsigned>(one.block[2]),
                                 .shared_bytes = static_cast<unsigned>(one.shared_bytes),
                                 .stream = stream_};
    if (one.cluster[0] * one.cluster[1] * one.cluster[2] > 1) {
      how.attributes = &attribute;
      how.attribute_count = 1;
    }
    if (const auto result = driver_.cuLaunchKernelEx(&how, functions_.at(one.kernel), pointers.data(), nullptr)) {
      return result;
    }
  }
  return 0;
}

api::Result Launcher::finish() { return driver_.cuStreamSynchronize(stream_); }

api::Result Launcher::graph_of(const Plan& plan, const std::vector<Places>& calls, api::Executable* graph) {
  api::Graph made = nullptr;
  if (const auto result = driver_.cuStreamBeginCapture_v2(stream_, 1)) return result;
  api::Result launched = 0;
  for (const Places& places : calls) {
    launched = launch(plan, places, false);
    if (launched != 0) break;
  }
  const auto ended = driver_.cuStreamEndCapture(stream_, &made);
  if (launched != 0) return launched;
  if (ended != 0) return ended;
  const auto result = driver_.cuGraphInstantiateWithFlags(graph, made, 0);
  driver_.cuGraphDestroy(made);
  if (result != 0) return result;
  return driver_.cuGraphUpload(*graph, stream_);
}

api::Result Launcher::time_graph(api::Executable graph, bool cold, double* ns) {
  if (cold) {
    if (flush_ == 0) {
      if (const auto result = driver_.cuMemAlloc_v2(&flush_, kFlushBytes)) return result;
    }
    if (const auto result = driver_.cuMemsetD8Async(flush_, 0x5a, kFlushBytes, stream_)) return result;
  } else {
    std::uint64_t spin_ns = kSpinNs;
    void* arguments[] = {&spin_ns};
    const api::LaunchConfiguration how{.stream = stream_};
    if (const auto result = driver_.cuLaunchKernelEx(&how, spin_, arguments, nullptr)) return result;
  }
  if (const auto result = driver_.cuEventRecord(begin_, stream_)) return result;
  if (graph != nullptr) {
    if (const auto result = driver_.cuGraphLaunch(graph, stream_)) return result;
  }
  if (const auto result = driver_.cuEventRecord(end_, stream_)) return result;
  if (const auto result = driver_.cuEventSynchronize(end_)) return result;
  float ms = 0;
  if (const auto result = driver_.cuEventElapsedTime(&ms, begin_, end_)) return result;
  *ns += static_cast<double>(ms) * 1e6;
  return 0;
}

api::Result Launcher::time(const Plan& plan, const std::vector<Places>& calls, std::size_t first, bool cold,
                           double* ns) {
  *ns = 0;
  if (calls.empty()) return time_graph(nullptr, cold, ns);
  const std::size_t step = cold ? 1 : calls.size();
  // Each call of a lap has the cache emptied before it, which takes longer than many calls do.
  const std::size_t timed = cold ? std::min(calls.size(), kMostColdCalls) : calls.size();
  for (std::size_t i = 0; i < timed; i += step) {
    api::Executable& graph = graphs_[{first + i, step}];
    if (graph == nullptr) {
      const std::vector<Places> group(calls.begin() + static_cast<std::ptrdiff_t>(i),
                                      calls.begin() + static_cast<std::ptrdiff_t>(i + step));
      if (const auto result = graph_of(plan, group, &graph)) return result;
    }
    if (const auto result = time_graph(graph, cold, ns)) return result;
  }
  *ns *= static_cast<double>(calls.size()) / static_cast<double>(timed);
  return finish();
}

void Launcher::forget_graphs() {
  for (const auto& [key, graph] : graphs_) driver_.cuGraphExecDestroy(graph);
  graphs_.clear();
}

}  // namespace kw::cuda
