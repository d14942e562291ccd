// ONNX Runtime by its C interface, a table of functions whose places never change (kernels/models/onnxruntime_ops.h):
// one thread, sequential; inputs and outputs are the shared memory itself.
#pragma once

#include "targets/remote/native/framework.h"

namespace kw::native {

class OnnxRuntime final : public Framework {
 public:
  std::string open(void* library) override {
    const Base* (*base)() = nullptr;
    Symbols symbols(library);
    symbols.find(base, "OrtGetApiBase");
    if (base == nullptr) return symbols.missing();
    version_ = base()->version();
    api_ = base()->api(kVersion);
    if (api_ == nullptr) return "ONNX Runtime " + version_ + " is older than 1.16";
    return said(at<void* (*)(int, const char*, void**)>(3)(kFatal, "kw", &environment_));
  }

  std::string version() override { return version_; }
  std::vector<std::string> settings() override { return {"default"}; }

  std::string load(const Load& load) override {
    release();
    if (session_ != nullptr) at<void (*)(void*)>(95)(session_);
    session_ = nullptr;
    inputs_ = load.inputs;
    outputs_ = load.outputs;
    void* options = nullptr;
    std::string why = said(at<void* (*)(void**)>(10)(&options));
    if (why.empty()) why = said(at<void* (*)(void*, int)>(13)(options, 0));
    if (why.empty()) why = said(at<void* (*)(void*, int)>(22)(options, kFatal));
    if (why.empty()) why = said(at<void* (*)(void*, int)>(24)(options, load.threads));
    if (why.empty()) why = said(at<void* (*)(void*, int)>(25)(options, 1));
    if (why.empty()) {
      why = said(at<void* (*)(const void*, const char*, const void*, void**)>(7)(environment_, load.model.c_str(),
                                                                                 options, &session_));
    }
    if (options != nullptr) at<void (*)(void*)>(100)(options);
    return why.empty() ? find_free_outputs() : why;
  }

  std::string bind(const std::vector<Call>& calls) override {
    release();
    calls_ = calls;
    void* memory = nullptr;
    std::string why = said(at<void* (*)(int, int, void**)>(69)(0, 0, &memory));
    for (const Call& call : calls_) {
      Values& values = values_.emplace_back();
      for (const Array& array : call.inputs) why = why.empty() ? add(values.inputs, array, memory) : why;
      for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        if (free_[i]) {
          values.outputs.push_back(nullptr);
        } else if (why.empty()) {
          why = add(values.outputs, call.outputs[i], memory);
        }
      }
    }
    if (memory != nullptr) at<void (*)(void*)>(94)(memory);
    return why;
  }

  // What the values alone tell the length of is made by the runtime, anew in every call.
  std::string feed(std::size_t call) override {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i]) drop(values_[call].outputs[i]);
    }
    return failed_;
  }

  void run(std::size_t call) override {
    Values& values = values_[call];
    const char *in[kMost], *out[kMost];
    for (std::size_t i = 0; i < inputs_.size(); ++i) in[i] = inputs_[i].c_str();
    for (std::size_t i = 0; i < outputs_.size(); ++i) out[i] = outputs_[i].c_str();
    failed_ = said(
        run_(session_, nullptr, in, values.inputs.data(), inputs_.size(), out, outputs_.size(), values.outputs.data()));
  }

  std::string fetch(std::size_t call, std::vector<Shape>& shapes) override {
    if (!failed_.empty()) return failed_;
    bool any = false;
    for (const char one : free_) any = any || one;
    if (!any) return {};
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Array& array = calls_[call].outputs[i];
      if (!free_[i]) {
        shapes.push_back(array.shape);
        continue;
      }
      void *data = nullptr, *info = nullptr;
      std::string why = said(at<void* (*)(void*, void**)>(51)(values_[call].outputs[i], &data));
      if (why.empty()) why = said(at<void* (*)(const void*, void**)>(65)(values_[call].outputs[i], &info));
      if (!why.empty()) return why;
      shapes.push_back(lengths(info));
      at<void (*)(void*)>(99)(info);
      const std::int64_t count = product(shapes.back());
      if (count > array.count()) return "its output is larger than its room";
      __builtin_memcpy(array.data, data, static_cast<std::size_t>(count * array.element_bytes()));
    }
    return {};
  }

 private:
  static constexpr std::uint32_t kVersion = 16;
  static constexpr int kFatal = 4;
  static constexpr std::size_t kMost = 64;

  struct Base {
    const void* const* (*api)(std::uint32_t version);
    const char* (*version)();
  };
  struct Values {
    std::vector<void*> inputs, outputs;
  };
  using Run = void* (*)(void*, const void*, const char* const*, const void* const*, std::size_t, const char* const*,
                        std::size_t, void**);

  template <class Function>
  Function at(std::size_t place) const {
    return reinterpret_cast<Function>(const_cast<void*>(api_[place]));
  }

  // Of a status, which goes with it.
  std::string said(void* status) const {
    if (status == nullptr) return {};
    std::string words = at<const char* (*)(const void*)>(2)(status);
    at<void (*)(void*)>(93)(status);
    return words.empty() ? "it failed" : words;
  }

  Shape lengths(const void* info) const {
    std::size_t rank = 0;
    if (!said(at<void* (*)(const void*, std::size_t*)>(61)(info, &rank)).empty() || rank > kMost) return {};
    Shape shape(rank);
    if (!said(at<void* (*)(const void*, std::int64_t*, std::size_t)>(62)(info, shape.data(), rank)).empty()) return {};
    return shape;
  }

  std::string find_free_outputs() {
    if (inputs_.size() > kMost || outputs_.size() > kMost) return "more tensors than kw hands over";
    run_ = at<Run>(9);
    failed_.clear();
    free_.assign(outputs_.size(), 0);
    std::size_t count = 0;
    void* allocator = nullptr;
    std::string why = said(at<void* (*)(const void*, std::size_t*)>(31)(session_, &count));
    if (why.empty()) why = said(at<void* (*)(void**)>(78)(&allocator));
    for (std::size_t k = 0; k < count && why.empty(); ++k) {
      char* name = nullptr;
      void* type = nullptr;
      const void* info = nullptr;
      why = said(at<void* (*)(const void*, std::size_t, void*, char**)>(37)(session_, k, allocator, &name));
      if (why.empty()) why = said(at<void* (*)(const void*, std::size_t, void**)>(34)(session_, k, &type));
      if (why.empty()) why = said(at<void* (*)(const void*, const void**)>(55)(type, &info));
      for (std::size_t i = 0; i < outputs_.size() && why.empty(); ++i) {
        if (outputs_[i] != name) continue;
        for (const std::int64_t length : lengths(info)) free_[i] = free_[i] || length < 0;
      }
      if (name != nullptr) said(at<void* (*)(void*, void*)>(76)(allocator, name));
      if (type != nullptr) at<void (*)(void*)>(98)(type);
    }
    return why;
  }

  static int element_type(const std::string& dtype) {
    constexpr const char* kNames[] = {"",      "float32", "uint8", "int8",    "uint16",  "int16",  "int32",
                                      "int64", "",        "bool",  "float16", "float64", "uint32", "uint64"};
    for (int i = 1; i < 14; ++i) {
      if (dtype == kNames[i] && kNames[i][0] != '\0') return i;
    }
    return 0;
  }

  std::string add(std::vector<void*>& values, const Array& array, const void* memory) const {
    const int type = element_type(array.dtype);
    if (type == 0) return "it has no type for " + array.dtype;
    void* value = nullptr;
    const std::string why =
        said(at<void* (*)(const void*, void*, std::size_t, const std::int64_t*, std::size_t, int, void**)>(49)(
            memory, array.data, static_cast<std::size_t>(array.bytes()), array.shape.data(), array.shape.size(), type,
            &value));
    values.push_back(value);
    return why;
  }

  void drop(void*& value) const {
    if (value != nullptr) at<void (*)(void*)>(96)(value);
    value = nullptr;
  }

  void release() {
    for (Values& values : values_) {
      for (std::vector<void*>* list : {&values.inputs, &values.outputs}) {
        for (void*& value : *list) drop(value);
      }
    }
    values_.clear();
  }

  const void* const* api_ = nullptr;
  Run run_ = nullptr;
  void *environment_ = nullptr, *session_ = nullptr;
  std::string version_, failed_;
  std::vector<std::string> inputs_, outputs_;
  std::vector<char> free_;  // by output: only the values tell its length
  std::vector<Call> calls_;
  std::vector<Values> values_;
};

}  // namespace kw::native
