// A double of what a custom layer needs of ncnn: tensors whose channels always have room between them, layers, and a
// net of one layer. Written from ncnn's documented interface, for tests that have no ncnn.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ncnn {

struct Allocator {};
struct Option {
  Allocator* blob_allocator = nullptr;
};

class Mat {
 public:
  Mat() = default;
  void create(int w_, std::size_t size, Allocator*) { make(1, w_, 1, 1, 1, size); }
  void create(int w_, int h_, std::size_t size, Allocator*) { make(2, w_, h_, 1, 1, size); }
  void create(int w_, int h_, int c_, std::size_t size, Allocator*) { make(3, w_, h_, 1, c_, size); }
  void create(int w_, int h_, int d_, int c_, std::size_t size, Allocator*) { make(4, w_, h_, d_, c_, size); }
  bool empty() const { return data == nullptr; }

  void* data = nullptr;
  std::size_t elemsize = 0, cstep = 0;
  int elempack = 1, dims = 0, w = 0, h = 0, d = 0, c = 0;

 private:
  void make(int dims_, int w_, int h_, int d_, int c_, std::size_t size) {
    dims = dims_, w = w_, h = h_, d = d_, c = c_, elemsize = size;
    cstep = static_cast<std::size_t>(w) * h * d + (dims > 2 ? 4 : 0);
    memory_ = std::make_shared<std::vector<char>>(cstep * c * size, '\x7f');
    data = memory_->data();
  }
  std::shared_ptr<std::vector<char>> memory_;
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual int create_pipeline(const Option&) { return 0; }
  virtual int forward(const std::vector<Mat>&, std::vector<Mat>&, const Option&) const { return -1; }
  bool one_blob_only = false, support_inplace = false;
};

class Net {
 public:
  ~Net() {
    if (layer != nullptr) destroy_(layer, nullptr);
  }
  int register_custom_layer(const char*, Layer* (*make)(void*), void (*destroy)(Layer*, void*)) {
    layer = make(nullptr);
    destroy_ = destroy;
    return layer->create_pipeline({});
  }
  Layer* layer = nullptr;

 private:
  void (*destroy_)(Layer*, void*) = nullptr;
};

}  // namespace ncnn
