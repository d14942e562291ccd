// What runs a model without any framework: kernels one after the other on tensors whose places were planned when the
// sources were written. Included by model.cpp, which has the tables.
#pragma once

#include <kernelwright.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kw_model {

struct Tensor {
  enum Place { input, output, constant, memory } place;
  int64_t at;  // the number of the model's input or output; bytes into the weights or the memory
  int32_t dtype;
  int32_t rank;
  int64_t shape[KW_MAX_RANK];
};

struct Kernel {
  int (*run)(kw_call*);
  int (*prepare)(kw_call*);  // null: it prepares nothing
  const kw_attribute* attributes;
  int32_t attribute_count;
};

// A call of a kernel, or, without one, a copy of a tensor.
struct Step {
  const Kernel* kernel;
  const int32_t* tensors;  // inputs, then outputs
  int32_t inputs, outputs;
  int64_t scratch_bytes, kept_bytes;
};

struct Plan {
  const Tensor* tensors;
  const Step* steps;
  int32_t step_count;
  const unsigned char* weights;
  int64_t memory_bytes;  // of results in between
};

constexpr int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

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

class Model {
 public:
  // Null where there is no memory, or a kernel cannot prepare its weights.
  static Model* create(const Plan& plan) {
    Model* model = new (std::nothrow) Model(plan);
    if (model != nullptr && model->make_ready()) return model;
    delete model;
    return nullptr;
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
#if !defined(KW_MODEL_MEASURE)
  ~Model() {
    std::free(block_);
    std::free(lent_block_);
  }
#endif

  // parallel(pool, count, work, data): work(data, i) for each i below count, on any threads; all done when it returns.
  using Parallel = void (*)(void* pool, int32_t count, void (*work)(void* data, int32_t index), void* data);

  // Lends `threads` threads to the kernels; 1 takes them back. False: there is no memory, and nothing has changed.
  bool lend(int32_t threads, Parallel parallel, void* pool) {
    const bool lent = threads > 1 && parallel != nullptr;
    int64_t scratch = 0;
    for (int32_t i = 0; i < plan_.step_count; ++i) scratch = std::max(scratch, aligned(scratch_of(plan_.steps[i])));
    const int64_t lent_bytes = 2 * threads * scratch + kMoreScratch;  // kernels leave a half alone (parts/threads.h)
    unsigned char* block = nullptr;
    if (lent) {
      block = static_cast<unsigned char*>(std::aligned_alloc(64, static_cast<size_t>(lent_bytes)));
      if (block == nullptr) return false;
    }
    std::free(lent_block_);
    lent_block_ = block;
    parallel_ = parallel;
    pool_ = pool;
    for (int32_t i = 0; i < plan_.step_count; ++i) {
      kw_call& call = calls_[static_cast<size_t>(i)];
      call.threads = lent ? threads : 1;
      call.crew = this;
      call.parallel = lent ? share : nullptr;
      call.scratch = lent ? lent_block_ : block_ + aligned(plan_.memory_bytes);
      call.scratch_bytes = lent ? lent_bytes : scratch_of(plan_.steps[i]);
    }
    return true;
  }

  int run(const void* const* inputs, void* const* outputs) {
    for (const Outside& one : outside_) {
      tensors_[one.tensor].data = one.is_input ? const_cast<void*>(inputs[one.number]) : outputs[one.number];
    }
    for (int32_t i = 0; i < plan_.step_count; ++i) {
      const Step& step = plan_.steps[i];
      kw_call& call = calls_[static_cast<size_t>(i)];
      if (step.kernel == nullptr) {
        const kw_tensor &from = call.inputs[0], &to = call.outputs[0];
        std::memcpy(to.data, from.data, static_cast<size_t>(to.count * size_of(to.dtype)));
        continue;
      }
      call.scratch_used = 0;
      if (step.kernel->run(&call) != KW_OK) return KW_FAILED;
#if defined(KW_MODEL_MEASURE)
      note(i, call);
#endif
    }
    return KW_OK;
  }

 private:
  struct Outside {
    size_t tensor;
    bool is_input;
    int64_t number;
  };

  static constexpr int64_t kMoreScratch = int64_t{1} << 20;  // lists of pieces

  explicit Model(const Plan& plan) : plan_(plan) {}

  static void share(const kw_call* call, int32_t count, void (*work)(void* data, int32_t index), void* data) {
    const Model* const model = static_cast<const Model*>(call->crew);
    model->parallel_(model->pool_, count, work, data);
  }

  // A plan whose memory is being measured grants as much as the contract does.
  int64_t scratch_of(const Step& step) const {
#if defined(KW_MODEL_MEASURE)
    return most_bytes(step, 16) + (int64_t{64} << 20);
#else
    return step.scratch_bytes;
#endif
  }
  int64_t kept_of(const Step& step) const {
#if defined(KW_MODEL_MEASURE)
    return step.kernel != nullptr && step.kernel->prepare != nullptr ? most_bytes(step, 4) + (int64_t{16} << 20) : 0;
#else
    return step.kept_bytes;
#endif
  }
#if defined(KW_MODEL_MEASURE)
  int64_t most_bytes(const Step& step, int64_t times) const {
    int64_t bytes = 0;
    for (int32_t k = 0; k < step.inputs + step.outputs; ++k) {
      const kw_tensor made = made_of(plan_.tensors[step.tensors[k]]);
      bytes += times * made.count * size_of(made.dtype);
    }
    return bytes;
  }
  void note(int32_t step, const kw_call& call) const {
    const int64_t scratch = std::max(call.scratch_used, prepare_scratch_[static_cast<size_t>(step)]);
    std::printf("used %d %lld %lld\n", step, static_cast<long long>(scratch), static_cast<long long>(call.kept_used));
  }
#endif

  static kw_tensor made_of(const Tensor& tensor) {
    kw_tensor made{};
    made.rank = tensor.rank;
    made.dtype = tensor.dtype;
    made.count = 1;
    for (int k = 0; k < tensor.rank; ++k) {
      made.shape[k] = tensor.shape[k];
      made.count *= tensor.shape[k];
    }
    return made;
  }

  bool make_ready() {
    int64_t scratch = 0, kept = 0;
    size_t count = 0;
    for (int32_t i = 0; i < plan_.step_count; ++i) {
      const Step& step = plan_.steps[i];
      scratch = std::max(scratch, aligned(scratch_of(step)));
      kept += aligned(kept_of(step));
      count += static_cast<size_t>(step.inputs + step.outputs);
    }
    if (!allocate(aligned(plan_.memory_bytes) + scratch + kept)) return false;
    tensors_.resize(count);
    calls_.resize(static_cast<size_t>(plan_.step_count));
    unsigned char* const scratch_at = block_ + aligned(plan_.memory_bytes);
    unsigned char* kept_at = scratch_at + scratch;
    size_t at = 0;
    for (int32_t i = 0; i < plan_.step_count; ++i) {
      const Step& step = plan_.steps[i];
      kw_call& call = calls_[static_cast<size_t>(i)];
      call = kw_call{};
      call.version = KW_CONTRACT_VERSION;
      call.threads = 1;
      call.input_count = step.inputs;
      call.output_count = step.outputs;
      call.inputs = tensors_.data() + at;
      call.outputs = tensors_.data() + at + step.inputs;
      call.scratch = scratch_at;
      call.scratch_bytes = scratch_of(step);
      for (int32_t k = 0; k < step.inputs + step.outputs; ++k)
        place(plan_.tensors[step.tensors[k]], at + static_cast<size_t>(k));
      if (step.kernel != nullptr) {
        call.attributes = step.kernel->attributes;
        call.attribute_count = step.kernel->attribute_count;
        call.kept = kept_at;
        call.kept_bytes = kept_of(step);
        if (step.kernel->prepare != nullptr && !prepare(step, call, at)) return false;
      }
#if defined(KW_MODEL_MEASURE)
      prepare_scratch_.push_back(call.scratch_used);
#endif
      kept_at += aligned(kept_of(step));
      at += static_cast<size_t>(step.inputs + step.outputs);
    }
    return true;
  }

  void place(const Tensor& tensor, size_t slot) {
    kw_tensor& made = tensors_[slot];
    made = made_of(tensor);
    if (tensor.place == Tensor::constant) made.data = const_cast<unsigned char*>(plan_.weights + tensor.at);
    if (tensor.place == Tensor::memory) made.data = block_ + tensor.at;
    if (tensor.place == Tensor::input) outside_.push_back({slot, true, tensor.at});
    if (tensor.place == Tensor::output) outside_.push_back({slot, false, tensor.at});
  }

  // It sees the data of constants alone.
  bool prepare(const Step& step, kw_call& call, size_t at) {
    std::vector<void*> hidden;
    for (int32_t k = 0; k < step.inputs + step.outputs; ++k) {
      kw_tensor& tensor = tensors_[at + static_cast<size_t>(k)];
      hidden.push_back(tensor.data);
      if (plan_.tensors[step.tensors[k]].place != Tensor::constant) tensor.data = nullptr;
    }
    const int status = step.kernel->prepare(&call);
    for (size_t k = 0; k < hidden.size(); ++k) tensors_[at + k].data = hidden[k];
    call.prepared = call.kept_used > 0 ? call.kept : nullptr;
    return status == KW_OK;
  }

  bool allocate(int64_t bytes) {
#if defined(KW_MODEL_MEASURE)
    void* const pages = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);  // until the process ends
    block_ = pages == MAP_FAILED ? nullptr : static_cast<unsigned char*>(pages);
    return block_ != nullptr;
#else
    constexpr int64_t kPage = int64_t{2} << 20;
    const bool is_large = bytes >= 2 * kPage;
    const int64_t unit = is_large ? kPage : 64;
    bytes = std::max(unit, (bytes + unit - 1) / unit * unit);
    block_ = static_cast<unsigned char*>(std::aligned_alloc(static_cast<size_t>(unit), static_cast<size_t>(bytes)));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (block_ != nullptr && is_large) madvise(block_, static_cast<size_t>(bytes), MADV_HUGEPAGE);
#endif
    return block_ != nullptr;
#endif
  }

  const Plan& plan_;
  unsigned char* block_ = nullptr;
  unsigned char* lent_block_ = nullptr;  // scratch memory while threads are lent
  Parallel parallel_ = nullptr;
  void* pool_ = nullptr;
  std::vector<kw_tensor> tensors_;  // of all steps, in their order
  std::vector<kw_call> calls_;
  std::vector<Outside> outside_;  // tensors that are the caller's
#if defined(KW_MODEL_MEASURE)
  std::vector<int64_t> prepare_scratch_;  // of each step
#endif
};

}  // namespace kw_model
