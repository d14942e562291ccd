// kw-cuda-worker: holds one kernel on one GPU and does what kw says: lays out memory, launches, times. A kernel that
// traps or never ends costs this process and nothing else. It speaks on descriptor 3 (worker_protocol.h); only code of
// ours runs here on the host, the candidate's runs on the GPU.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "targets/cuda/driver.h"
#include "targets/cuda/worker/gpu_memory.h"
#include "targets/cuda/worker/launcher.h"
#include "targets/cuda/worker_protocol.h"

namespace kw::cuda {
namespace {

// Something the GPU or its driver said no to; the process ends after it where the context is lost.
struct DriverError {
  api::Result result;
  std::string what;
};

class Mapped {
 public:
  Mapped() = default;
  Mapped(int file, bool writable) {
    struct stat about {};
    if (::fstat(file, &about) != 0 || about.st_size == 0) return;
    size_ = static_cast<std::size_t>(about.st_size);
    memory_ = ::mmap(nullptr, size_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    if (memory_ == MAP_FAILED) memory_ = nullptr, size_ = 0;
  }
  Mapped(Mapped&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapped& operator=(Mapped&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapped() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  // Null where there is not so much.
  std::byte* at(std::uint64_t offset, std::uint64_t bytes) const {
    return memory_ != nullptr && offset <= size_ && bytes <= size_ - offset ? static_cast<std::byte*>(memory_) + offset
                                                                            : nullptr;
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

class Worker {
 public:
  Worker(const api::Functions& driver, int device) : driver_(driver), memory_(driver, device), launcher_(driver) {}

  Json answer(const Json& ask, std::vector<Descriptor>& files) {
    const std::string what = ask.at("ask").get<std::string>();
    if (what == "load") return load(files);
    if (what == "arrange") return arrange(ask, files);
    if (what == "write") return write(ask);
    if (what == "prepare") return run_launches(true, 0, 1);
    if (what == "run") return run_calls(ask);
    if (what == "poison") return poison(ask);
    if (what == "poison_scratch") return poison_scratch(ask);
    if (what == "around") return around(ask);
    if (what == "read") return read(ask);
    if (what == "time") return time(ask);
    if (what == "reset") return reset();
    return {{"error", "no such request: " + what}};
  }

 private:
  void must(api::Result result, const char* what) const {
    if (result != 0) throw DriverError{result, what};
  }

  Json load(std::vector<Descriptor>& files) {
    if (files.empty()) return {{"error", "no code came"}};
    const Mapped code(files[0].get(), false);
    struct stat about {};
    ::fstat(files[0].get(), &about);
    const auto* bytes = code.at(0, static_cast<std::uint64_t>(about.st_size));
    if (bytes == nullptr) return {{"refused", "its machine code is empty"}};
    if (const api::Result result = launcher_.load(bytes)) return {{"refused", text_of(driver_, result)}};
    return Json::object();
  }

  Json arrange(const Json& ask, std::vector<Descriptor>& files) {
    release();
    if (files.size() < 2) return {{"error", "no memory came"}};
    host_inputs_ = Mapped(files[0].get(), false);
    host_outputs_ = Mapped(files[1].get(), true);
    memory_.be_exact(ask.value("exact", false));
    const auto take = [&](const Json& one, targets::Placement place) -> Result<Buffer> {
      return memory_.place(one.at("bytes").get<std::size_t>(), one.at("element").get<std::size_t>(), place);
    };
    const Json& places = ask.at("places");
    for (std::size_t call = 0; call < places.size(); ++call) {
      const auto place = static_cast<targets::Placement>(places.at(call).get<int>());
      CallBuffers& buffers = calls_.emplace_back();
      const Json& inputs = ask.at("inputs");
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (call > 0 && inputs.at(i).at("constant").get<bool>()) {
          buffers.inputs.push_back(calls_[0].inputs[i]);
          continue;
        }
        auto buffer = take(inputs.at(i), place);
        if (!buffer.ok()) return {{"no_memory", buffer.error().message}};
        owned_.push_back(buffer->region);
        buffers.inputs.push_back(*buffer);
      }
      for (const Json& output : ask.at("outputs")) {
        auto buffer = take(output, place);
        if (!buffer.ok()) return {{"no_memory", buffer.error().message}};
        owned_.push_back(buffer->region);
        buffers.outputs.push_back(*buffer);
      }
    }
    plan_ = plan_of(ask.at("plan"));
    for (auto [size, to] : {std::pair{plan_.scratch_bytes, &scratch_}, std::pair{plan_.kept_bytes, &kept_}}) {
      auto region = memory_.take(static_cast<std::size_t>(size));
      if (!region.ok()) return {{"no_memory", region.error().message}};
      owned_.push_back(*region);
      *to = *region;
    }
    auto shapes = memory_.take(calls_.size() * kMostOutputs * kShapeWords * sizeof(std::int64_t));
    if (!shapes.ok()) return {{"no_memory", shapes.error().message}};
    owned_.push_back(*shapes);
    shapes_ = *shapes;
    if (Status bound = launcher_.bind(plan_); !bound.ok()) return {{"refused", bound.error().message}};
    return Json::object();
  }

  // Inputs from the memory that is shared with kw, and what lies around them.
  Json write(const Json& ask) {
    for (const Json& one : ask.at("items")) {
      const Buffer& buffer = calls_.at(one.at("call").get<std::size_t>()).inputs.at(one.at("input").get<std::size_t>());
      if (const Json* before = one.find("before"); before != nullptr) {
        const auto value = [&](const char* name) { return static_cast<unsigned char>(one.at(name).get<int>()); };
        fill(buffer.region.begin, value("before"), buffer.before_bytes());
        fill(buffer.address + buffer.size_bytes, value("after"), buffer.after_bytes());
      }
      if (buffer.size_bytes == 0) continue;
      const std::byte* from = host_inputs_.at(one.at("offset").get<std::uint64_t>(), buffer.size_bytes);
      if (from == nullptr) return {{"error", "an input lies outside of the shared memory"}};
      must(driver_.cuMemcpyHtoD_v2(buffer.address, from, buffer.size_bytes), "writing an input");
    }
    return Json::object();
  }

  void fill(api::Address address, unsigned char value, std::size_t bytes) const {
    if (bytes > 0) must(driver_.cuMemsetD8_v2(address, value, bytes), "filling memory");
  }

  Json poison(const Json& ask) {
    const auto value = static_cast<unsigned char>(ask.at("value").get<int>());
    for (const Buffer& buffer : calls_.at(ask.at("call").get<std::size_t>()).outputs) {
      if (ask.at("around").get<bool>()) {
        fill(buffer.region.begin, value, buffer.region.size_bytes);
      } else {
        fill(buffer.address, value, buffer.size_bytes);
      }
    }
    return Json::object();
  }

  Json poison_scratch(const Json& ask) {
    fill(scratch_.begin, static_cast<unsigned char>(ask.at("value").get<int>()),
         static_cast<std::size_t>(plan_.scratch_bytes));
    return Json::object();
  }

  bool holds(api::Address address, std::size_t bytes, unsigned char value) const {
    if (bytes == 0) return true;
    std::string copy(bytes, '\0');
    must(driver_.cuMemcpyDtoH_v2(copy.data(), address, bytes), "reading around an output");
    return copy.find_first_not_of(static_cast<char>(value)) == std::string::npos;
  }

  // Which side of which output was written to.
  Json around(const Json& ask) {
    const auto value = static_cast<unsigned char>(ask.at("value").get<int>());
    const std::vector<Buffer>& outputs = calls_.at(ask.at("call").get<std::size_t>()).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Buffer& one = outputs[i];
      if (!holds(one.region.begin, one.before_bytes(), value)) return {{"output", i}, {"side", "before"}};
      if (!holds(one.address + one.size_bytes, one.after_bytes(), value)) return {{"output", i}, {"side", "after"}};
    }
    return Json::object();
  }

  Json read(const Json& ask) {
    const Buffer& buffer = calls_.at(ask.at("call").get<std::size_t>()).outputs.at(ask.at("output").get<std::size_t>());
    const auto bytes = ask.at("bytes").get<std::size_t>();
    if (bytes == 0) return Json::object();
    std::byte* to = host_outputs_.at(0, bytes);
    if (bytes > buffer.size_bytes || to == nullptr) return {{"error", "more was asked for than the output has"}};
    must(driver_.cuMemcpyDtoH_v2(to, buffer.address, bytes), "reading an output");
    return Json::object();
  }

  Json run_calls(const Json& ask) {
    const auto first = ask.at("first").get<std::size_t>(), count = ask.at("count").get<std::size_t>();
    Json done = run_launches(false, first, count);
    if (!done.empty()) return done;
    // The driver maps memory for reading and writing alike: what was read is compared instead.
    for (std::size_t call = first; call < first + count; ++call) {
      for (const Json& one : ask.at("inputs")) {
        if (one.at("call").get<std::size_t>() != call) continue;
        const Buffer& buffer = calls_.at(call).inputs.at(one.at("input").get<std::size_t>());
        if (buffer.size_bytes == 0) continue;
        const std::byte* was = host_inputs_.at(one.at("offset").get<std::uint64_t>(), buffer.size_bytes);
        std::string now(buffer.size_bytes, '\0');
        must(driver_.cuMemcpyDtoH_v2(now.data(), buffer.address, buffer.size_bytes), "reading an input");
        if (was != nullptr && std::memcmp(was, now.data(), buffer.size_bytes) != 0) {
          return {{"wrote_input", one.at("input")}};
        }
      }
    }
    return shapes_of(first, count);
  }

  // The shapes that kernels wrote for outputs whose shape depends on values.
  Json shapes_of(std::size_t first, std::size_t count) const {
    Json shapes = Json::array();
    if (!launcher_.writes_shapes()) return {{"shapes", std::move(shapes)}};
    for (std::size_t call = first; call < first + count; ++call) {
      for (std::size_t output = 0; output < calls_[call].outputs.size(); ++output) {
        std::int64_t words[kShapeWords] = {};
        must(driver_.cuMemcpyDtoH_v2(words, shape_address(call, output), sizeof words), "reading a shape");
        Json lengths = Json::array();
        for (int i = 0; i < std::min<std::int64_t>(std::max<std::int64_t>(words[0], 0), 8); ++i) {
          lengths.push_back(words[i + 1]);
        }
        shapes.push_back({{"call", call}, {"output", output}, {"rank", words[0]}, {"lengths", std::move(lengths)}});
      }
    }
    return {{"shapes", std::move(shapes)}};
  }

  api::Address shape_address(std::size_t call, std::size_t output) const {
    return shapes_.begin + (call * kMostOutputs + output) * kShapeWords * sizeof(std::int64_t);
  }

  Places places_of(std::size_t call) const {
    Places places{.scratch = scratch_.begin, .kept = kept_.begin};
    for (const Buffer& one : calls_.at(call).inputs) places.inputs.push_back(one.address);
    for (const Buffer& one : calls_.at(call).outputs) places.outputs.push_back(one.address);
    for (std::size_t i = 0; i < calls_[call].outputs.size(); ++i) places.shapes.push_back(shape_address(call, i));
    return places;
  }

  // Filling memory returns before it is done, and the launches' stream does not wait for it by itself.
  void settle() const { must(driver_.cuCtxSynchronize(), "filling memory"); }

  Json run_launches(bool once, std::size_t first, std::size_t count) {
    settle();
    for (std::size_t call = first; call < first + count; ++call) {
      must(launcher_.launch(plan_, places_of(call), once), once ? "prepare" : "launch");
    }
    must(launcher_.finish(), once ? "in its launches that prepare" : "in its launches");
    return Json::object();
  }

  Json time(const Json& ask) {
    std::vector<Places> calls;
    const auto first = ask.at("first").get<std::size_t>(), count = ask.at("count").get<std::size_t>();
    for (std::size_t call = first; call < first + count; ++call) calls.push_back(places_of(call));
    double ns = 0, warm_ns = 0;
    const bool cold = ask.at("cold").get<bool>();
    settle();
    must(launcher_.time(plan_, calls, first, cold, &ns), "in its timed launches");
    if (!cold || calls.empty()) return {{"ns", ns}};
    // Once more untimed, so that all calls of the group find the cache as they leave it.
    must(launcher_.time(plan_, calls, first, false, &warm_ns), "in its launches that warm up");
    must(launcher_.time(plan_, calls, first, false, &warm_ns), "in its timed launches");
    return {{"ns", ns}, {"warm_ns", warm_ns}};
  }

  void release() {
    launcher_.forget_graphs();
    for (const Region& region : owned_) memory_.give_back(region);
    owned_.clear();
    calls_.clear();
    scratch_ = kept_ = shapes_ = {};
  }

  // As new, for the next kernel.
  Json reset() {
    release();
    launcher_.unload();
    memory_.trim();
    host_inputs_ = Mapped();
    host_outputs_ = Mapped();
    return Json::object();
  }

  struct CallBuffers {
    std::vector<Buffer> inputs, outputs;
  };

  const api::Functions& driver_;
  GpuMemory memory_;
  Launcher launcher_;
  Mapped host_inputs_, host_outputs_;
  std::vector<CallBuffers> calls_;
  std::vector<Region> owned_;
  Region scratch_, kept_, shapes_;
  Plan plan_;
};

Json facts_of(const api::Functions& driver, api::Device device) {
  char name[256] = {};
  driver.cuDeviceGetName(name, sizeof name - 1, device);
  std::size_t memory = 0;
  driver.cuDeviceTotalMem_v2(&memory, device);
  int version = 0;
  driver.cuDriverGetVersion(&version);
  const auto attribute = [&](api::DeviceAttribute which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  return {{"name", std::string(name)},
          {"memory_bytes", memory},
          {"driver", version},
          {"major", attribute(api::kMajor)},
          {"minor", attribute(api::kMinor)},
          {"multiprocessors", attribute(api::kMultiprocessors)},
          {"l2_bytes", attribute(api::kL2CacheBytes)},
          {"shared_bytes", attribute(api::kMaxSharedPerBlockOptin)},
          {"threads_in_block", attribute(api::kMaxThreadsPerBlock)},
          {"clock_khz", attribute(api::kClockKhz)},
          {"memory_clock_khz", attribute(api::kMemoryClockKhz)},
          {"memory_bus_bits", attribute(api::kMemoryBusBits)}};
}

int serve(int device_number) {
  const auto refuse = [](const std::string& why) {
    send_json(kWorkerDescriptor, {{"error", why}}, {});
    return 1;
  };
  const auto driver = load_driver();
  if (!driver.ok()) return refuse(driver.error().message);
  const api::Functions& functions = **driver;
  if (const api::Result result = functions.cuInit(0)) return refuse(text_of(functions, result));
  int count = 0;
  functions.cuDeviceGetCount(&count);
  if (device_number < 0 || device_number >= count) {
    return refuse(fmt::format("there is no GPU {}: this machine has {}", device_number, count));
  }
  api::Device device = 0;
  api::Context context = nullptr;
  if (const api::Result result = functions.cuDeviceGet(&device, device_number))
    return refuse(text_of(functions, result));
  if (const api::Result result = functions.cuDevicePrimaryCtxRetain(&context, device)) {
    return refuse(text_of(functions, result));
  }
  if (const api::Result result = functions.cuCtxSetCurrent(context)) return refuse(text_of(functions, result));
  Worker worker(functions, device_number);
  if (!send_json(kWorkerDescriptor, facts_of(functions, device), {})) return 0;
  for (;;) {
    std::optional<Message> message = receive_json(kWorkerDescriptor);
    if (!message) return 0;  // kw is gone, or done with this worker
    Json answer;
    bool lost = false;
    try {
      answer = worker.answer(message->json, message->files);
    } catch (const DriverError& error) {
      answer = {{"failed", text_of(functions, error.result)}, {"code", error.result}, {"where", error.what}};
      lost = error.result >= 700 || functions.cuCtxSynchronize() != 0;
    } catch (const std::exception& error) {
      answer = {{"error", std::string(error.what())}};
    }
    if (lost) answer["lost"] = true;
    if (!send_json(kWorkerDescriptor, answer, {})) return 0;
    if (lost) ::_exit(0);  // the context is gone: nothing can be cleaned up
  }
}

}  // namespace
}  // namespace kw::cuda

int main(int argc, char** argv) {
  struct stat about {};
  if (argc != 2 || ::fstat(kw::cuda::kWorkerDescriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    std::fprintf(stderr, "kw-cuda-worker is a part of kw and is started by it\n");
    return 2;
  }
  return kw::cuda::serve(std::atoi(argv[1]));
}
