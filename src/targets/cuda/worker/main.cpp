// kw-cuda-worker: holds one kernel on one GPU and does what kw says: lays out memory, launches, times. A kernel that
// traps or never ends costs this process and nothing else. It speaks on descriptor 3 (worker_protocol.h); only code of
// ours runs here on the host, the candidate's runs on the GPU.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "targets/cuda/driver.h"
#include "targets/cuda/worker/gpu_memory.h"
#include "targets/cuda/worker/launcher.h"
#include "targets/cuda/worker/referee_code.h"
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
  Worker(const api::Functions& driver, int device)
      : driver_(driver), memory_(driver, device), launcher_(driver), reference_(driver), referee_(driver) {}

  Json answer(const Json& ask, std::vector<Descriptor>& files) {
    const std::string what = ask.at("ask").get<std::string>();
    if (what == "load") return load(files);
    if (what == "arrange") return arrange(ask, files);
    if (what == "write") return write(ask, files);
    if (what == "check") return check(ask, files);
    if (what == "several") return several(ask, files);
    if (what == "prepare") return run_launches(true, 0, 1);
    if (what == "run") return run_calls(ask);
    if (what == "poison") return poison(ask);
    if (what == "poison_scratch") return poison_scratch(ask);
    if (what == "around") return around(ask);
    if (what == "read") return read(ask);
    if (what == "put") return put(ask);
    if (what == "time") return time(ask);
    if (what == "reset") return reset();
    return {{"error", "no such request: " + what}};
  }

 private:
  void must(api::Result result, const char* what) const {
    if (result != 0) throw DriverError{result, what};
  }

  // One after the other; the last one's answer, or of the first one that went wrong.
  Json several(const Json& ask, std::vector<Descriptor>& files) {
    const Json& parts = ask.at("parts");
    std::vector<Descriptor> none;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      if (Json answered = answer(parts.at(i), none); !answered.empty()) return answered;
    }
    return answer(parts.at(parts.size() - 1), files);
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
  Json write(const Json& ask, std::vector<Descriptor>& files) {
    if (!files.empty()) load_referee(files[0]);
    for (const Json& one : ask.at("items")) {
      const Buffer& buffer = calls_.at(one.at("call").get<std::size_t>()).inputs.at(one.at("input").get<std::size_t>());
      if (const Json* before = one.find("before"); before != nullptr) {
        const auto value = [&](const char* name) { return static_cast<unsigned char>(one.at(name).get<int>()); };
        fill(buffer.region.begin, value("before"), buffer.before_bytes());
        fill(buffer.address + buffer.size_bytes, value("after"), buffer.after_bytes());
      }
      if (buffer.size_bytes == 0) continue;
      if (const Json* drawn = one.find("drawn"); drawn != nullptr) {
        const auto count = static_cast<std::int64_t>(buffer.size_bytes / sizeof(float));
        must(referee_.draw(*drawn, buffer.address, 0, count), "drawing an input");
        continue;
      }
      const std::byte* from = host_inputs_.at(one.at("offset").get<std::uint64_t>(), buffer.size_bytes);
      if (from == nullptr) return {{"error", "an input lies outside of the shared memory"}};
      must(driver_.cuMemcpyHtoD_v2(buffer.address, from, buffer.size_bytes), "writing an input");
    }
    if (!files.empty()) {
      settle();
      referee_.unload();
    }
    return Json::object();
  }

  void load_referee(const Descriptor& file) {
    const Mapped code(file.get(), false);
    must(referee_.load(code.at(0, 1)), "loading the judge's own code");
  }

  // Memory that is given back, without what it held, when the work is over.
  class Borrowed {
   public:
    explicit Borrowed(Worker& worker) : worker_(worker) {}
    ~Borrowed() {
      for (const Region& region : regions_) {
        worker_.driver_.cuMemsetD8_v2(region.begin, 0x5a, region.size_bytes);
        worker_.memory_.give_back(region);
      }
      worker_.driver_.cuCtxSynchronize();
    }
    api::Address take(std::int64_t size_bytes) {
      auto region = worker_.memory_.take(static_cast<std::size_t>(size_bytes));
      if (!region.ok()) throw std::runtime_error(region.error().message);
      regions_.push_back(*region);
      return region->begin;
    }

   private:
    Worker& worker_;
    std::vector<Region> regions_;
  };

  // The outputs of some calls that had equal inputs, every element: against a reference in double, and the first
  // call's bits.
  Json check(const Json& ask, std::vector<Descriptor>& files) {
    if (files.size() < 2) return {{"error", "no code came"}};
    load_referee(files[0]);
    Borrowed borrowed(*this);
    const auto first = ask.at("first").get<std::size_t>(), count = ask.at("count").get<std::size_t>();
    const api::Address found = borrowed.take(sizeof(Found));
    const Json &inputs = ask.at("inputs"), &outputs = ask.at("outputs");
    const auto number = [](const Json& of, const char* name) { return of.at(name).get<std::int64_t>(); };
    for (std::size_t call = first; call < first + count; ++call) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Json* drawn = inputs.at(i).find("drawn");
        if (drawn == nullptr) continue;
        begin_search(found);
        must(referee_.still_drawn(*drawn, calls_.at(call).inputs.at(i).address, number(inputs.at(i), "count"), found),
             "looking at an input");
        if (end_search(found).count > 0) return {{"wrote_input", static_cast<std::int64_t>(i)}};
      }
    }
    Places places;
    for (const Json& input : inputs) places.inputs.push_back(wide_input(input, borrowed));
    for (const Json& output : outputs) {
      const bool real = number(output, "type") != kNoFloat;
      places.outputs.push_back(borrowed.take(number(output, "count") * (real ? 8 : number(output, "element"))));
    }
    const Plan plan = plan_of(ask.at("plan"));
    places.scratch = borrowed.take(plan.scratch_bytes);
    places.kept = borrowed.take(plan.kept_bytes);
    settle();
    {
      const Mapped code(files[1].get(), false);
      must(reference_.load(code.at(0, 1)), "loading the reference");
    }
    if (Status bound = reference_.bind(plan); !bound.ok()) return {{"error", bound.error().message}};
    for (const bool once : {true, false}) must(reference_.launch(plan, places, once), "launching the reference");
    must(reference_.finish(), "computing the reference");
    reference_.unload();
    Json all = Json::array();
    for (std::size_t call = first; call < first + count; ++call) {
      Json of = Json::array();
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        of.push_back(checked(outputs.at(i), calls_.at(call).outputs.at(i).address,
                             calls_.at(first).outputs.at(i).address, places.outputs[i], found));
      }
      all.push_back(std::move(of));
    }
    referee_.unload();
    return {{"calls", std::move(all)}};
  }

  // An input of the reference: what was drawn or written, not what a kernel left there.
  api::Address wide_input(const Json& input, Borrowed& borrowed) {
    const auto count = input.at("count").get<std::int64_t>(), element = input.at("element").get<std::int64_t>();
    const auto type = input.at("type").get<std::int64_t>();
    const api::Address wide = borrowed.take(count * std::max<std::int64_t>(element, 8));
    if (const Json* drawn = input.find("drawn"); drawn != nullptr) {
      must(referee_.draw(*drawn, 0, wide, count), "drawing an input");
      return wide;
    }
    const auto bytes = static_cast<std::uint64_t>(count * element);
    if (bytes == 0) return wide;
    const std::byte* from = host_inputs_.at(input.at("offset").get<std::uint64_t>(), bytes);
    if (from == nullptr) throw std::runtime_error("an input lies outside of the shared memory");
    const api::Address as_it_is = type == kNoFloat ? wide : borrowed.take(count * element);
    must(driver_.cuMemcpyHtoD_v2(as_it_is, from, bytes), "writing an input");
    if (type != kNoFloat) must(referee_.widen(as_it_is, type, wide, count), "widening an input");
    return wide;
  }

  Json checked(const Json& output, api::Address got, api::Address first, api::Address expected, api::Address found) {
    const auto count = output.at("count").get<std::int64_t>(), element = output.at("element").get<std::int64_t>();
    const auto type = output.at("type").get<std::int64_t>();
    const auto bound = [&](std::size_t i) {
      return std::bit_cast<double>(output.at("bounds").at(i).get<std::int64_t>());
    };
    begin_search(found);
    if (type == kNoFloat) {
      must(referee_.same(got, expected, type, element, count, found), "comparing an output");
    } else {
      must(referee_.compare(got, type, expected, {bound(0), bound(1), bound(2)}, count, found), "comparing an output");
    }
    const Found wrong = end_search(found);
    begin_search(found);
    if (got != first) must(referee_.same(got, first, type, element, count, found), "comparing two calls");
    const Found differs = end_search(found);
    const auto word = [](double value) { return std::bit_cast<std::int64_t>(value); };
    Json examples = Json::array();
    for (std::size_t i = 0; i < std::min<unsigned long long>(wrong.examples, 8); ++i) {
      const auto& one = wrong.example[i];
      examples.push_back(Json::array({one.at, word(one.got), word(one.expected), word(one.allowed)}));
    }
    return {{"wrong", static_cast<std::int64_t>(wrong.count)},
            {"worst", static_cast<std::int64_t>(wrong.worst)},
            {"differs", static_cast<std::int64_t>(differs.count)},
            {"difference",
             Json::array({differs.example[0].at, word(differs.example[0].got), word(differs.example[0].expected)})},
            {"examples", std::move(examples)}};
  }

  void begin_search(api::Address found) const {
    settle();
    must(driver_.cuMemsetD8_v2(found, 0, sizeof(Found)), "comparing");
    settle();
  }
  Found end_search(api::Address found) const {
    settle();
    Found result;
    must(driver_.cuMemcpyDtoH_v2(&result, found, sizeof result), "comparing");
    return result;
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

  // A copy, until the next one.
  const char* on_host(api::Address address, std::size_t bytes, const char* what) const {
    if (copy_.size() < bytes) copy_.resize(bytes);
    must(driver_.cuMemcpyDtoH_v2(copy_.data(), address, bytes), what);
    return copy_.data();
  }

  bool holds(api::Address address, std::size_t bytes, unsigned char value) const {
    if (bytes == 0) return true;
    const char* copy = on_host(address, bytes, "reading around an output");
    // All bytes are as the first one if each is as the one before it.
    return static_cast<unsigned char>(copy[0]) == value && std::memcmp(copy, copy + 1, bytes - 1) == 0;
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

  Json put(const Json& ask) {
    const Buffer& buffer = calls_.at(ask.at("call").get<std::size_t>()).outputs.at(ask.at("output").get<std::size_t>());
    const auto bytes = ask.at("bytes").get<std::size_t>();
    if (bytes == 0) return Json::object();
    const std::byte* from = host_outputs_.at(0, bytes);
    if (bytes > buffer.size_bytes || from == nullptr) return {{"error", "more was given than the output has"}};
    must(driver_.cuMemcpyHtoD_v2(buffer.address, from, bytes), "writing an output");
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
        const char* now = on_host(buffer.address, buffer.size_bytes, "reading an input");
        if (was != nullptr && std::memcmp(was, now, buffer.size_bytes) != 0) {
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

  static constexpr std::int64_t kNoFloat = 4;  // kOther of kernels/cuda/judge/checks.cuh

  const api::Functions& driver_;
  GpuMemory memory_;
  Launcher launcher_, reference_;
  RefereeCode referee_;
  Mapped host_inputs_, host_outputs_;
  std::vector<CallBuffers> calls_;
  std::vector<Region> owned_;
  Region scratch_, kept_, shapes_;
  Plan plan_;
  mutable std::vector<char> copy_;
};

Json facts_of(const api::Functions& driver, api::Device device) {
  char name[256] = {};
  driver.cuDeviceGetName(name, sizeof name - 1, device);
  std::size_t memory = 0;
  driver.cuDeviceTotalMem_v2(&memory, device);
  char bus[32] = {};
  driver.cuDeviceGetPCIBusId(bus, sizeof bus - 1, device);
  int version = 0;
  driver.cuDriverGetVersion(&version);
  const auto attribute = [&](api::DeviceAttribute which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  return {{"name", std::string(name)},
          {"bus", std::string(bus)},
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
