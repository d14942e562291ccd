// Kernels as custom operators of ONNX Runtime: what the library beside a rewritten model consists of, besides the
// kernels themselves.
//
// ONNX Runtime loads the library (SessionOptions.register_custom_ops_library, OrtApi::RegisterCustomOpsLibrary) and
// calls RegisterCustomOps with a table of functions. That table, and the structure that describes an operator, are a
// stable binary interface: functions are only added at the end, and a runtime says which version of it it has. So the
// few entries that are needed are declared here by their places, and no header of ONNX Runtime is needed.
#pragma once

#include <kernelwright.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "crew.h"

namespace kw_ort {

// ----- ONNX Runtime's C interface, version 16 (ONNX Runtime 1.16, September 2023) and later

constexpr uint32_t kVersion = 16;
constexpr uint32_t kVersionWithThreads = 17;  // the first in which an operator may use the session's threads

struct Status;
struct Value;
struct SessionOptions;
struct Domain;
struct Info;
struct Context;
struct ShapeInfo;

enum ErrorCode { kFail = 1, kInvalidArgument = 2, kNotImplemented = 9 };

// The table has hundreds of entries; each of these is one of them.
struct Api {
  const void* functions[1];

  template <class Function>
  Function at(size_t place) const {
    return reinterpret_cast<Function>(const_cast<void*>(functions[place]));
  }
  Status* status(int code, const char* message) const { return at<Status* (*)(int, const char*)>(0)(code, message); }
  void release(Status* status) const { at<void (*)(Status*)>(93)(status); }
  Status* create_domain(const char* name, Domain** domain) const {
    return at<Status* (*)(const char*, Domain**)>(26)(name, domain);
  }
  Status* add_to_domain(Domain* domain, const struct Op* op) const {
    return at<Status* (*)(Domain*, const struct Op*)>(27)(domain, op);
  }
  Status* add_domain(SessionOptions* options, Domain* domain) const {
    return at<Status* (*)(SessionOptions*, Domain*)>(28)(options, domain);
  }
  Status* data(const Value* value, void** address) const {
    return at<Status* (*)(const Value*, void**)>(51)(value, address);
  }
  Status* rank(const ShapeInfo* shape, size_t* count) const {
    return at<Status* (*)(const ShapeInfo*, size_t*)>(61)(shape, count);
  }
  Status* lengths(const ShapeInfo* shape, int64_t* to, size_t count) const {
    return at<Status* (*)(const ShapeInfo*, int64_t*, size_t)>(62)(shape, to, count);
  }
  Status* shape(const Value* value, ShapeInfo** shape) const {
    return at<Status* (*)(const Value*, ShapeInfo**)>(65)(value, shape);
  }
  Status* input(const Context* context, size_t index, const Value** value) const {
    return at<Status* (*)(const Context*, size_t, const Value**)>(90)(context, index, value);
  }
  Status* output(Context* context, size_t index, const int64_t* lengths, size_t rank, Value** value) const {
    return at<Status* (*)(Context*, size_t, const int64_t*, size_t, Value**)>(91)(context, index, lengths, rank, value);
  }
  void release(ShapeInfo* shape) const { at<void (*)(ShapeInfo*)>(99)(shape); }
  Status* constant_input(const Info* info, size_t index, int* is_constant, const Value** value) const {
    return at<Status* (*)(const Info*, size_t, int*, const Value**)>(249)(info, index, is_constant, value);
  }
  // Of kVersionWithThreads: calls function(data, i) for each i below count on the session's threads.
  Status* parallel_for(const Context* context, void (*function)(void*, size_t), size_t count, void* data) const {
    return at<Status* (*)(const Context*, void (*)(void*, size_t), size_t, size_t, void*)>(274)(context, function,
                                                                                                count, 0, data);
  }
};

struct ApiBase {
  const Api* (*api)(uint32_t version);
  const char* (*version)();
};

// What describes an operator, up to the members of version 16; later ones are not asked for.
struct Op {
  uint32_t version;
  void* (*create)(const Op* op, const Api* api, const Info* info);  // of older versions
  const char* (*name)(const Op* op);
  const char* (*provider)(const Op* op);
  int (*input_type)(const Op* op, size_t index);
  size_t (*input_count)(const Op* op);
  int (*output_type)(const Op* op, size_t index);
  size_t (*output_count)(const Op* op);
  void (*compute)(void* kernel, Context* context);  // of older versions
  void (*destroy)(void* kernel);
  int (*input_kind)(const Op* op, size_t index);
  int (*output_kind)(const Op* op, size_t index);
  int (*input_memory)(const Op* op, size_t index);
  int (*fewest_inputs)(const Op* op);
  int (*inputs_alike)(const Op* op);
  int (*fewest_outputs)(const Op* op);
  int (*outputs_alike)(const Op* op);
  Status* (*create_checked)(const Op* op, const Api* api, const Info* info, void** kernel);
  Status* (*compute_checked)(void* kernel, Context* context);
  void* later[8];
};

// ----- Kernels

struct Slot {
  int32_t dtype;
  int32_t rank;
  int64_t shape[KW_MAX_RANK];
  bool constant;  // known when the session is made
};

struct Kernel {
  const char* name;  // of the operator
  int (*run)(kw_call*);
  int (*prepare)(kw_call*);  // null: there is nothing to prepare
  const Slot* inputs;
  int32_t input_count;
  const Slot* outputs;
  int32_t output_count;
  const kw_attribute* attributes;
  int32_t attribute_count;
  bool uses_threads;
};

// Whether the runtime lends its threads; found out when the library is registered.
inline bool& lends_threads() {
  static bool lends = false;
  return lends;
}

inline int64_t size_of(int32_t dtype) {
  switch (dtype) {
    case KW_FLOAT64:
    case KW_INT64:
    case KW_UINT64:
      return 8;
    case KW_FLOAT32:
    case KW_INT32:
    case KW_UINT32:
      return 4;
    case KW_FLOAT16:
    case KW_BFLOAT16:
    case KW_INT16:
    case KW_UINT16:
      return 2;
    default:
      return 1;
  }
}

inline kw_tensor tensor_of(const Slot& slot) {
  kw_tensor tensor{};
  tensor.rank = slot.rank;
  tensor.dtype = slot.dtype;
  tensor.count = 1;
  for (int i = 0; i < slot.rank; ++i) {
    tensor.shape[i] = slot.shape[i];
    tensor.count *= slot.shape[i];
  }
  return tensor;
}

// Memory that takes room only where it is touched.
class Pages {
 public:
  Pages() = default;
  explicit Pages(int64_t bytes) : bytes_(bytes) {
    void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<unsigned char*>(memory);
    madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // where the system has them
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages& operator=(Pages&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages() {
    if (memory_ != nullptr) munmap(memory_, static_cast<size_t>(bytes_));
  }
  unsigned char* data() const { return memory_; }
  int64_t bytes() const { return bytes_; }

 private:
  unsigned char* memory_ = nullptr;
  int64_t bytes_ = 0;
};

// Scratch memory belongs to the thread that calls: sessions may run in several at once.
inline unsigned char* scratch_of_thread(int64_t bytes) {
  static thread_local Pages pages;
  if (pages.bytes() < bytes) pages = Pages(bytes);
  return pages.data();
}

// One operator's node in one session, with its weights prepared.
struct Instance {
  const Api* api;
  const Kernel* kernel;
  std::vector<kw_tensor> inputs, outputs;
  Pages kept;
  int64_t scratch_bytes = 64 << 20;
  kw_call call{};
  mutable std::atomic<int> threads{1};  // the most that worked on a call so far

  Instance(const Api* api_, const Kernel* kernel_) : api(api_), kernel(kernel_) {
    int64_t constant_bytes = 16 << 20;
    for (int32_t i = 0; i < kernel->input_count; ++i) {
      inputs.push_back(tensor_of(kernel->inputs[i]));
      const int64_t bytes = inputs.back().count * size_of(inputs.back().dtype);
      scratch_bytes += 16 * bytes;
      if (kernel->inputs[i].constant) constant_bytes += 4 * bytes;
    }
    for (int32_t i = 0; i < kernel->output_count; ++i) {
      outputs.push_back(tensor_of(kernel->outputs[i]));
      scratch_bytes += 16 * outputs.back().count * size_of(outputs.back().dtype);
    }
    if (kernel->prepare != nullptr) kept = Pages(constant_bytes);
    call.version = KW_CONTRACT_VERSION;
    call.threads = 1;
    call.input_count = kernel->input_count;
    call.output_count = kernel->output_count;
    call.attribute_count = kernel->attribute_count;
    call.attributes = kernel->attributes;
    call.kept = kept.data();
    call.kept_bytes = kept.bytes();
  }

  Status* failure(const char* what, const char* why) const {
    const std::string words = std::string(kernel->name) + ": " + what + why;
    return api->status(kFail, words.c_str());
  }

  Status* prepare(const Info* info) {
    for (int32_t i = 0; i < kernel->input_count; ++i) {
      if (!kernel->inputs[i].constant) continue;
      int is_constant = 0;
      const Value* value = nullptr;
      if (Status* status = api->constant_input(info, static_cast<size_t>(i), &is_constant, &value)) return status;
      if (is_constant == 0 || value == nullptr) return failure("a weight is not an initializer of the model", "");
      if (Status* status = check_shape(value, inputs[static_cast<size_t>(i)])) return status;
      if (Status* status = api->data(value, &inputs[static_cast<size_t>(i)].data)) return status;
    }
    if (kernel->prepare == nullptr) return nullptr;
    kw_call now = call;
    now.inputs = inputs.data();
    now.outputs = outputs.data();
    now.scratch = scratch_of_thread(scratch_bytes);
    now.scratch_bytes = scratch_bytes;
    if (kernel->prepare(&now) != KW_OK) return failure("its weights cannot be prepared: ", now.message);
    call.kept_used = now.kept_used;
    call.prepared = now.kept_used > 0 ? kept.data() : nullptr;
    return nullptr;
  }

  Status* check_shape(const Value* value, const kw_tensor& wanted) const {
    ShapeInfo* shape = nullptr;
    if (Status* status = api->shape(value, &shape)) return status;
    size_t rank = 0;
    int64_t lengths[KW_MAX_RANK] = {};
    Status* status = api->rank(shape, &rank);
    bool same = status == nullptr && rank == static_cast<size_t>(wanted.rank);
    if (same) status = api->lengths(shape, lengths, rank);
    for (size_t i = 0; same && i < rank; ++i) same = lengths[i] == wanted.shape[i];
    api->release(shape);
    if (status != nullptr || same) return status;
    return failure("the model was made for inputs of other shapes; run kw model with --dim of these", "");
  }

  Status* run(Context* context) const {
    std::vector<kw_tensor> in = inputs, out = outputs;  // of this call alone: sessions run in several threads
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (kernel->inputs[i].constant) continue;
      const Value* value = nullptr;
      if (Status* status = api->input(context, i, &value)) return status;
      if (Status* status = check_shape(value, in[i])) return status;
      if (Status* status = api->data(value, &in[i].data)) return status;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value* value = nullptr;
      if (Status* status = api->output(context, i, out[i].shape, static_cast<size_t>(out[i].rank), &value))
        return status;
      if (Status* status = api->data(value, &out[i].data)) return status;
    }
    kw_call now = call;
    now.inputs = in.data();
    now.outputs = out.data();
    now.scratch = scratch_of_thread(scratch_bytes);
    now.scratch_bytes = scratch_bytes;
    int code = KW_OK;
    if (!kernel->uses_threads || !lends_threads()) {
      code = kernel->run(&now);
    } else if (Status* status = run_together(context, now, code)) {
      return status;
    }
    if (code != KW_OK) return failure("", now.message);
    return nullptr;
  }

  // On the session's threads. How many there are the interface does not say: a call counts on as many as have come to
  // one before it.
  Status* run_together(const Context* context, kw_call& now, int& code) const {
    struct Together {
      Crew crew;
      int (*run)(kw_call*);
      kw_call* call;
      int code;
    } all{{}, kernel->run, &now, KW_FAILED};
    now.threads = threads.load(std::memory_order_relaxed);
    now.crew = &all.crew;
    now.parallel = [](const kw_call* of, int32_t count, void (*work)(void*, int32_t), void* data) {
      static_cast<Crew*>(of->crew)->run(count, work, data);
    };
    const auto work = [](void* data, size_t) {
      auto& together = *static_cast<Together*>(data);
      if (!together.crew.leads()) return together.crew.help();
      together.code = together.run(together.call);
      together.crew.end();
    };
    static const size_t most = std::max(1u, std::min(64u, std::thread::hardware_concurrency()));
    if (Status* status = api->parallel_for(context, work, most, &all)) return status;
    code = all.code;
    const int came = 1 + all.crew.helpers();
    if (came > threads.load(std::memory_order_relaxed)) threads.store(came, std::memory_order_relaxed);
    return nullptr;
  }
};

// An operator of ONNX Runtime that knows its kernel.
struct NamedOp : Op {
  const Kernel* kernel;

  explicit NamedOp(const Kernel* kernel_) : Op{}, kernel(kernel_) {
    version = kVersion;
    name = [](const Op* op) { return of(op)->name; };
    provider = [](const Op*) -> const char* { return nullptr; };  // the CPU
    input_type = [](const Op* op, size_t i) -> int { return of(op)->inputs[i].dtype; };
    input_count = [](const Op* op) { return static_cast<size_t>(of(op)->input_count); };
    output_type = [](const Op* op, size_t i) -> int { return of(op)->outputs[i].dtype; };
    output_count = [](const Op* op) { return static_cast<size_t>(of(op)->output_count); };
    input_kind = output_kind = [](const Op*, size_t) { return 0; };
    input_memory = [](const Op*, size_t) { return 0; };
    fewest_inputs = fewest_outputs = [](const Op*) { return 1; };
    inputs_alike = outputs_alike = [](const Op*) { return 1; };
    destroy = [](void* kernel_instance) { delete static_cast<Instance*>(kernel_instance); };
    create_checked = make;
    compute_checked = [](void* kernel_instance, Context* context) {
      return static_cast<const Instance*>(kernel_instance)->run(context);
    };
  }

  static const Kernel* of(const Op* op) { return static_cast<const NamedOp*>(op)->kernel; }

  static Status* make(const Op* op, const Api* api, const Info* info, void** made) {
    try {
      auto instance = std::make_unique<Instance>(api, of(op));
      if (Status* status = instance->prepare(info)) return status;
      *made = instance.release();
      return nullptr;
    } catch (const std::bad_alloc&) {
      return api->status(kFail, "no memory for the weights of a kernel");
    }
  }
};

inline Status* register_kernels(SessionOptions* options, const ApiBase* base, const char* domain_name,
                                const Kernel* kernels, size_t count) {
  const Api* api = base->api(kVersion);
  if (api == nullptr) {
    // The first entries are the same in every version.
    const Api* oldest = base->api(1);
    if (oldest == nullptr) return nullptr;
    char words[256];
    std::snprintf(words, sizeof words, "this library needs ONNX Runtime 1.%u or later, and this is %s", kVersion,
                  base->version());
    return oldest->status(kNotImplemented, words);
  }
  unsigned minor = 0;
  lends_threads() = std::sscanf(base->version(), "1.%u", &minor) == 1 && minor >= kVersionWithThreads;
  static std::vector<std::unique_ptr<NamedOp>>& ops = *new std::vector<std::unique_ptr<NamedOp>>;
  static Domain* domain = nullptr;  // lives as long as the library, as sessions may
  if (domain == nullptr) {
    if (Status* status = api->create_domain(domain_name, &domain)) return status;
    for (size_t i = 0; i < count; ++i) {
      ops.push_back(std::make_unique<NamedOp>(&kernels[i]));
      if (Status* status = api->add_to_domain(domain, ops.back().get())) return status;
    }
  }
  return api->add_domain(options, domain);
}

}  // namespace kw_ort
