// ncnn by its C interface: one thread, float32 throughout. An extractor is made, fed and asked in every call, as ncnn's
// users do: that is part of its time.
#pragma once

#include <algorithm>
#include <cstdio>

#include "targets/remote/native/framework.h"

namespace kw::native {

class Ncnn final : public Framework {
 public:
  std::string open(void* library) override {
    Symbols symbols(library);
    symbols.find(version_, "ncnn_version");
    symbols.find(net_create_, "ncnn_net_create");
    symbols.find(net_destroy_, "ncnn_net_destroy");
    symbols.find(net_option_, "ncnn_net_get_option");
    symbols.find(load_param_, "ncnn_net_load_param");
    symbols.find(load_model_, "ncnn_net_load_model");
    symbols.find(set_threads_, "ncnn_option_set_num_threads");
    symbols.find(set_fp16_[0], "ncnn_option_set_use_fp16_packed");
    symbols.find(set_fp16_[1], "ncnn_option_set_use_fp16_storage");
    symbols.find(set_fp16_[2], "ncnn_option_set_use_fp16_arithmetic");
    symbols.find(set_fp16_[3], "ncnn_option_set_use_bf16_storage");
    symbols.find(extractor_create_, "ncnn_extractor_create");
    symbols.find(extractor_destroy_, "ncnn_extractor_destroy");
    symbols.find(input_, "ncnn_extractor_input");
    symbols.find(extract_, "ncnn_extractor_extract");
    symbols.find(create_1d_, "ncnn_mat_create_1d_elem");
    symbols.find(create_2d_, "ncnn_mat_create_2d_elem");
    symbols.find(create_3d_, "ncnn_mat_create_3d_elem");
    symbols.find(create_4d_, "ncnn_mat_create_4d_elem");
    symbols.find(mat_destroy_, "ncnn_mat_destroy");
    symbols.find(mat_data_, "ncnn_mat_get_data");
    symbols.find(mat_cstep_, "ncnn_mat_get_cstep");
    symbols.find(mat_elemsize_, "ncnn_mat_get_elemsize");
    symbols.find(mat_length_[0], "ncnn_mat_get_w");
    symbols.find(mat_length_[1], "ncnn_mat_get_h");
    symbols.find(mat_length_[2], "ncnn_mat_get_d");
    symbols.find(mat_length_[3], "ncnn_mat_get_c");
    symbols.find(mat_dims_, "ncnn_mat_get_dims");
    return symbols.missing();
  }

  std::string version() override { return version_(); }
  // As rivals/ncnn.py has them, and for its reasons.
  std::vector<std::string> settings() override { return {kAsTheyAre, kNoBatch, kOneByOne}; }

  std::string load(const Load& load) override {
    release();
    if (net_ != nullptr) net_destroy_(net_);
    net_ = net_create_();
    void* option = net_option_(net_);
    set_threads_(option, load.threads);
    for (const auto set : set_fp16_) set(option, 0);
    setting_ = load.setting;
    output_count_ = load.outputs.size();
    std::string weights = load.model;
    if (weights.size() > 5) weights.replace(weights.size() - 5, 5, "bin");
    if (load_param_(net_, load.model.c_str()) != 0 || load_model_(net_, weights.c_str()) != 0) {
      return "it cannot load its own model: a layer is missing";
    }
    return {};
  }

  std::string bind(const std::vector<Call>& calls) override {
    release();
    parts_.clear();
    for (const Call& call : calls) {
      std::vector<Call>& parts = parts_.emplace_back();
      if (const std::string why = divide(call, parts); !why.empty()) return why;
    }
    return {};
  }

  std::string feed(std::size_t call) override {
    release();
    for (const Call& part : parts_[call]) {
      std::vector<void*>& mats = fed_.emplace_back();
      for (const Array& array : part.inputs) mats.push_back(mat_of(array));
    }
    made_.assign(parts_[call].size(), std::vector<void*>(output_count_, nullptr));
    failed_ = false;
    return {};
  }

  void run(std::size_t) override {
    char name[16];
    for (std::size_t part = 0; part < fed_.size(); ++part) {
      void* extractor = extractor_create_(net_);
      for (std::size_t i = 0; i < fed_[part].size(); ++i) {
        std::snprintf(name, sizeof name, "in%d", static_cast<int>(i));
        input_(extractor, name, fed_[part][i]);
      }
      for (std::size_t i = 0; i < output_count_; ++i) {
        std::snprintf(name, sizeof name, "out%d", static_cast<int>(i));
        if (extract_(extractor, name, &made_[part][i]) != 0) failed_ = true;
      }
      extractor_destroy_(extractor);
    }
  }

  std::string fetch(std::size_t call, std::vector<Shape>&) override {
    if (failed_) return "it could not compute an output";
    for (std::size_t part = 0; part < made_.size(); ++part) {
      for (std::size_t i = 0; i < output_count_; ++i) {
        if (const std::string why = copy(made_[part][i], parts_[call][part].outputs[i]); !why.empty()) return why;
      }
    }
    return {};
  }

 private:
  static constexpr char kAsTheyAre[] = "tensors as they are", kNoBatch[] = "no batch axis", kOneByOne[] = "one by one";
  static constexpr std::size_t kElement = 4;

  static Array inner(const Array& array, std::int64_t part) {
    Array one = array;
    one.shape.erase(one.shape.begin());
    one.data += part * one.bytes();
    return one;
  }

  std::string divide(const Call& call, std::vector<Call>& parts) const {
    for (const std::vector<Array>* arrays : {&call.inputs, &call.outputs}) {
      for (const Array& array : *arrays) {
        if (array.dtype != "float32" && array.dtype != "int32") return "its tensors hold no " + array.dtype;
      }
    }
    const Shape& first = call.inputs.empty() ? Shape() : call.inputs[0].shape;
    const std::int64_t batch = first.size() > 1 ? first[0] : 0;
    if (setting_ == kNoBatch) {
      for (const Array& array : call.outputs) {
        if (batch != 1 || array.shape.size() < 2 || array.shape[0] != 1) return "its tensors have no batch axis";
      }
      Call part = call;
      for (Array& array : part.inputs) {
        if (array.shape.size() > 1 && array.shape[0] == 1) array = inner(array, 0);
      }
      parts.push_back(part);
    } else if (setting_ == kOneByOne) {
      for (const std::vector<Array>* arrays : {&call.inputs, &call.outputs}) {
        for (const Array& array : *arrays) {
          if (batch == 0 || array.shape.empty() || array.shape[0] != batch) return "its tensors have no batch axis";
        }
      }
      for (std::int64_t i = 0; i < batch; ++i) {
        Call part;
        for (const Array& array : call.inputs) part.inputs.push_back(inner(array, i));
        for (const Array& array : call.outputs) part.outputs.push_back(inner(array, i));
        parts.push_back(part);
      }
    } else {
      parts.push_back(call);
    }
    for (const Array& array : parts.back().inputs) {
      if (array.shape.empty() || array.shape.size() > 4) return "its tensors have one to four axes";
    }
    return {};
  }

  // A tensor of ncnn's own: its channels do not lie next to each other.
  void* mat_of(const Array& array) const {
    const Shape& n = array.shape;
    const auto length = [&](std::size_t i) { return static_cast<int>(n[i]); };
    void* mat = n.size() == 1   ? create_1d_(length(0), kElement, 1, nullptr)
                : n.size() == 2 ? create_2d_(length(1), length(0), kElement, 1, nullptr)
                : n.size() == 3 ? create_3d_(length(2), length(1), length(0), kElement, 1, nullptr)
                                : create_4d_(length(3), length(2), length(1), length(0), kElement, 1, nullptr);
    const std::size_t channels = n.size() < 3 ? 1 : static_cast<std::size_t>(n[0]);
    const std::size_t bytes = static_cast<std::size_t>(array.bytes()) / std::max<std::size_t>(channels, 1);
    for (std::size_t c = 0; c < channels; ++c) {
      __builtin_memcpy(static_cast<char*>(mat_data_(mat)) + c * mat_cstep_(mat) * kElement, array.data + c * bytes,
                       bytes);
    }
    return mat;
  }

  std::string copy(void* mat, const Array& array) const {
    if (mat == nullptr || mat_data_(mat) == nullptr || mat_elemsize_(mat) != kElement) return "its output is no tensor";
    std::size_t count = 1;
    for (const auto length : mat_length_) count *= static_cast<std::size_t>(std::max(length(mat), 1));
    if (count != static_cast<std::size_t>(array.count())) return "its output has another number of elements";
    const std::size_t channels = mat_dims_(mat) < 3 ? 1 : static_cast<std::size_t>(mat_length_[3](mat));
    const std::size_t bytes = count * kElement / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      __builtin_memcpy(array.data + c * bytes, static_cast<char*>(mat_data_(mat)) + c * mat_cstep_(mat) * kElement,
                       bytes);
    }
    return {};
  }

  void release() {
    for (std::vector<std::vector<void*>>* lists : {&fed_, &made_}) {
      for (const std::vector<void*>& mats : *lists) {
        for (void* mat : mats) {
          if (mat != nullptr) mat_destroy_(mat);
        }
      }
      lists->clear();
    }
  }

  const char* (*version_)() = nullptr;
  void* (*net_create_)() = nullptr;
  void (*net_destroy_)(void*) = nullptr;
  void* (*net_option_)(void*) = nullptr;
  int (*load_param_)(void*, const char*) = nullptr;
  int (*load_model_)(void*, const char*) = nullptr;
  void (*set_threads_)(void*, int) = nullptr;
  void (*set_fp16_[4])(void*, int) = {};
  void* (*extractor_create_)(void*) = nullptr;
  void (*extractor_destroy_)(void*) = nullptr;
  int (*input_)(void*, const char*, void*) = nullptr;
  int (*extract_)(void*, const char*, void**) = nullptr;
  void* (*create_1d_)(int, std::size_t, int, void*) = nullptr;
  void* (*create_2d_)(int, int, std::size_t, int, void*) = nullptr;
  void* (*create_3d_)(int, int, int, std::size_t, int, void*) = nullptr;
  void* (*create_4d_)(int, int, int, int, std::size_t, int, void*) = nullptr;
  void (*mat_destroy_)(void*) = nullptr;
  void* (*mat_data_)(void*) = nullptr;
  std::size_t (*mat_cstep_)(void*) = nullptr;
  std::size_t (*mat_elemsize_)(void*) = nullptr;
  int (*mat_length_[4])(void*) = {};  // w, h, d, c
  int (*mat_dims_)(void*) = nullptr;

  void* net_ = nullptr;
  std::string setting_;
  std::size_t output_count_ = 0;
  bool failed_ = false;
  std::vector<std::vector<Call>> parts_;  // of each call
  std::vector<std::vector<void*>> fed_, made_;
};

}  // namespace kw::native
