// MNN by its C++ interface, without its headers: functions are found by their symbols, and the few structures are
// written down here as they lie in memory. An empty std::vector is three null pointers in every C++ library, so it does
// not matter which one MNN was built with. One thread, full precision, through its session; the layout changes that MNN
// makes around an operator belong to its time, bringing tensors to and from its memory does not.
#pragma once

#include "targets/remote/native/framework.h"

namespace kw::native {

class Mnn final : public Framework {
 public:
  std::string open(void* library) override {
    Symbols symbols(library);
    symbols.find(version_, "_ZN3MNN10getVersionEv");
    symbols.find(from_file_, "_ZN3MNN11Interpreter14createFromFileEPKc");
    symbols.find(create_session_, "_ZN3MNN11Interpreter13createSessionERKNS_14ScheduleConfigE");
    symbols.find(release_session_, "_ZN3MNN11Interpreter14releaseSessionEPNS_7SessionE");
    symbols.find(hint_, "_ZN3MNN11Interpreter14setSessionHintENS0_8HintModeEi");
    symbols.find(input_, "_ZN3MNN11Interpreter15getSessionInputEPKNS_7SessionEPKc");
    symbols.find(output_, "_ZN3MNN11Interpreter16getSessionOutputEPKNS_7SessionEPKc");
    symbols.find(run_, "_ZNK3MNN11Interpreter10runSessionEPNS_7SessionE");
    symbols.find(make_host_, "_ZN3MNN6TensorC1EPKS0_NS0_13DimensionTypeEb");
    symbols.find(unmake_host_, "_ZN3MNN6TensorD1Ev");
    symbols.find(copy_from_, "_ZN3MNN6Tensor18copyFromHostTensorEPKS0_");
    symbols.find(copy_to_, "_ZNK3MNN6Tensor16copyToHostTensorEPS0_");
    return symbols.missing();
  }

  std::string version() override { return version_(); }
  std::vector<std::string> settings() override { return {"session", "session, no Winograd"}; }

  std::string load(const Load& load) override {
    inputs_.clear();
    outputs_.clear();
    if (session_ != nullptr) release_session_(net_, session_);
    session_ = nullptr;
    net_ = from_file_(load.model.c_str());  // an earlier one stays: there are a few in a task
    if (net_ == nullptr) return "it cannot read its own model";
    if (load.setting != "session") hint_(net_, kWinogradMemory, 0);
    Backend backend{.precision = kHighPrecision};
    Schedule schedule;
    schedule.threads = load.threads;
    schedule.backend = &backend;
    session_ = create_session_(net_, &schedule);
    if (session_ == nullptr) return "it makes no session of its own model";
    for (const std::string& name : load.inputs) inputs_.push_back(input_(net_, session_, name.c_str()));
    for (const std::string& name : load.outputs) outputs_.push_back(output_(net_, session_, name.c_str()));
    for (const std::vector<Tensor*>* tensors : {&inputs_, &outputs_}) {
      for (const Tensor* tensor : *tensors) {
        if (tensor == nullptr) return "its converter lost a tensor";
      }
    }
    return {};
  }

  std::string bind(const std::vector<Call>& calls) override {
    calls_ = calls;
    return {};
  }

  // Its input memory is its own and is used for other things during a run: so it is fed before every call.
  std::string feed(std::size_t call) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      HostTensor host(*this, inputs_[i]);
      const Array& array = calls_[call].inputs[i];
      if (product(shape_of(host.get())) != array.count()) return "it takes an input of another size";
      const Kind kind = kind_of(host.get());
      for (std::int64_t k = 0; k < array.count(); ++k) {
        if (!copy_element(host->host, kind, k, array)) return "it has no type for " + array.dtype;
      }
      copy_from_(inputs_[i], host.get());
    }
    return {};
  }

  void run(std::size_t) override { error_ = run_(net_, session_); }

  std::string fetch(std::size_t call, std::vector<Shape>& shapes) override {
    if (error_ != 0) return "it failed with error " + std::string(1, static_cast<char>('0' + error_ % 10));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      HostTensor host(*this, outputs_[i]);
      copy_to_(outputs_[i], host.get());
      const Array& array = calls_[call].outputs[i];
      shapes.push_back(shape_of(host.get()));
      const std::int64_t count = product(shapes.back());
      if (count > array.count()) return "its output is larger than its room";
      const Kind kind = kind_of(host.get());
      for (std::int64_t k = 0; k < count; ++k) {
        if (!fetch_element(host->host, kind, k, array)) return "it has no type for " + array.dtype;
      }
    }
    return {};
  }

 private:
  static constexpr int kWinogradMemory = 3, kHighPrecision = 1, kCaffe = 1;

  struct EmptyVector {
    void *begin = nullptr, *end = nullptr, *room = nullptr;
  };
  struct Backend {
    int memory = 0, power = 0, precision = 0;
    void* context = nullptr;
    void* later[4] = {};
  };
  struct Schedule {
    EmptyVector kept;
    int type = 0;  // the CPU
    int threads = 1;
    EmptyVector path_inputs, path_outputs;
    int path_mode = 0;
    int backup_type = 0;
    Backend* backend = nullptr;
    void* later[4] = {};
  };
  struct Axis {
    std::int32_t min, length, stride;
    std::uint32_t flags;
  };
  // A tensor begins with what Halide calls a buffer.
  struct Tensor {
    std::uint64_t device;
    const void* interface;
    char* host;
    std::uint64_t flags;
    std::int32_t code;  // of an element; 0: signed, 1: unsigned, 2: floating-point
    std::uint8_t bits;
    std::uint16_t lanes;
    std::int32_t rank;
    const Axis* axes;
    void* padding;
    void* later[24];  // its own, and room
  };

  // In the layout that tasks have, with memory of its own.
  class HostTensor {
   public:
    HostTensor(const Mnn& mnn, const Tensor* like) : mnn_(mnn) { mnn_.make_host_(&tensor_, like, kCaffe, true); }
    HostTensor(const HostTensor&) = delete;
    HostTensor& operator=(const HostTensor&) = delete;
    ~HostTensor() { mnn_.unmake_host_(&tensor_); }
    Tensor* get() { return &tensor_; }
    Tensor* operator->() { return &tensor_; }

   private:
    const Mnn& mnn_;
    Tensor tensor_ = {};
  };

  enum class Kind { none, float32, int32, uint8, int8, int64 };
  static Kind kind_of(const Tensor* tensor) {
    if (tensor->code == 2 && tensor->bits == 32) return Kind::float32;
    if (tensor->code == 0 && tensor->bits == 32) return Kind::int32;
    if (tensor->code == 0 && tensor->bits == 64) return Kind::int64;
    if (tensor->code == 0 && tensor->bits == 8) return Kind::int8;
    return tensor->code == 1 && tensor->bits == 8 ? Kind::uint8 : Kind::none;
  }

  static Shape shape_of(const Tensor* tensor) {
    Shape shape;
    for (std::int32_t i = 0; i < tensor->rank && i < 16; ++i) shape.push_back(tensor->axes[i].length);
    return shape;
  }

  template <class To, class From>
  static void move(char* to, const char* from, std::int64_t k) {
    From value;
    __builtin_memcpy(&value, from + k * static_cast<std::int64_t>(sizeof value), sizeof value);
    const To converted = static_cast<To>(value);
    __builtin_memcpy(to + k * static_cast<std::int64_t>(sizeof converted), &converted, sizeof converted);
  }

  // What MNN has no type of its own for is handed over as another.
  static bool copy_element(char* host, Kind kind, std::int64_t k, const Array& array) {
    if (kind == Kind::float32 && array.dtype == "float32") return move<float, float>(host, array.data, k), true;
    if (kind == Kind::int32 && array.dtype == "int32")
      return move<std::int32_t, std::int32_t>(host, array.data, k), true;
    if (kind == Kind::int32 && array.dtype == "int64")
      return move<std::int32_t, std::int64_t>(host, array.data, k), true;
    if (kind == Kind::int32 && array.dtype == "bool")
      return move<std::int32_t, std::uint8_t>(host, array.data, k), true;
    if (kind == Kind::int64 && array.dtype == "int64")
      return move<std::int64_t, std::int64_t>(host, array.data, k), true;
    if (kind == Kind::uint8 && array.dtype == "uint8")
      return move<std::uint8_t, std::uint8_t>(host, array.data, k), true;
    return kind == Kind::int8 && array.dtype == "int8" && (move<std::int8_t, std::int8_t>(host, array.data, k), true);
  }
  static bool fetch_element(const char* host, Kind kind, std::int64_t k, const Array& array) {
    if (kind == Kind::float32 && array.dtype == "float32") return move<float, float>(array.data, host, k), true;
    if (kind == Kind::int32 && array.dtype == "int32")
      return move<std::int32_t, std::int32_t>(array.data, host, k), true;
    if (kind == Kind::int32 && array.dtype == "int64")
      return move<std::int64_t, std::int32_t>(array.data, host, k), true;
    if (kind == Kind::int32 && array.dtype == "bool")
      return move<std::uint8_t, std::int32_t>(array.data, host, k), true;
    if (kind == Kind::int64 && array.dtype == "int64")
      return move<std::int64_t, std::int64_t>(array.data, host, k), true;
    if (kind == Kind::uint8 && array.dtype == "uint8")
      return move<std::uint8_t, std::uint8_t>(array.data, host, k), true;
    return kind == Kind::int8 && array.dtype == "int8" && (move<std::int8_t, std::int8_t>(array.data, host, k), true);
  }

  const char* (*version_)() = nullptr;
  void* (*from_file_)(const char*) = nullptr;
  void* (*create_session_)(void*, const Schedule*) = nullptr;
  bool (*release_session_)(void*, void*) = nullptr;
  void (*hint_)(void*, int, int) = nullptr;
  Tensor* (*input_)(void*, const void*, const char*) = nullptr;
  Tensor* (*output_)(void*, const void*, const char*) = nullptr;
  int (*run_)(const void*, void*) = nullptr;
  void (*make_host_)(Tensor*, const Tensor*, int, bool) = nullptr;
  void (*unmake_host_)(Tensor*) = nullptr;
  bool (*copy_from_)(Tensor*, const Tensor*) = nullptr;
  bool (*copy_to_)(const Tensor*, Tensor*) = nullptr;

  void *net_ = nullptr, *session_ = nullptr;
  int error_ = 0;
  std::vector<Tensor*> inputs_, outputs_;
  std::vector<Call> calls_;
};

}  // namespace kw::native
