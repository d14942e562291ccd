/* kernelwright.h, version 1: the contract between a kernel and whoever calls it.
 *
 * A kernel is one C or C++ source that includes this file and defines kw_run. It gets dense row-major tensors with the
 * shapes of this call, the attributes of its operators, scratch memory and a number of threads, and fills outputs that
 * the caller has allocated. It is right for every shape that its task allows; it may be fast for some.
 *
 * In C++ the whole of it looks like this:
 *
 *     #include <kernelwright.h>
 *
 *     KW_TUNE(UNROLL, 4, 1, 2, 4, 8);  // a tunable: its default, then the values that are worth trying
 *
 *     KW_KERNEL(call) {
 *       const auto x = call.input<float>(0);
 *       auto y = call.output<float>(0);
 *       for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] > 0 ? x[i] : 0;
 *     }
 *
 * and in C:
 *
 *     KW_EXPORT int kw_run(kw_call* call) {
 *       const float* x = call->inputs[0].data;
 *       float* y = call->outputs[0].data;
 *       for (int64_t i = 0; i < call->inputs[0].count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
 *       return KW_OK;
 *     }
 *
 * What the caller promises
 *   - Tensors are aligned to their element's size and no further: vector code must use unaligned loads and stores.
 *   - Memory before the first and behind the last element of a tensor, weights and constants among them, is not the
 *     kernel's to read or to write, not even with what it holds: others may write there meanwhile.
 *   - Inputs are read-only, and so is what describes them. Outputs, and scratch memory, hold anything when a call
 *     begins.
 *   - A tensor may be empty. Tensors do not overlap.
 *   - Rounding is to nearest, subnormal numbers count, exceptions are masked.
 * What the kernel promises
 *   - Every element of every output is written, from the inputs, the attributes and what kw_prepare kept: from nothing
 *     else. The same inputs give the same bits, at any address, whatever was called before (or it says KW_VARIES).
 *   - It keeps the precision of its tensors' type. It leaves the control registers as they were, and the x87's stack
 *     empty.
 *   - What kw_prepare finds out it keeps with kw_keep, not in variables of its own: one program may hold several
 *     prepared instances of one kernel, with other weights, and weights may change between two preparations.
 *   - It uses at most `threads` threads, none of which does anything once kw_run has returned.
 *   - What a call allocates it frees. It uses at most 2 MiB of stack.
 *   - It calls the C and C++ libraries for arithmetic and memory, and asks the system for memory and threads only: no
 *     files, no clocks, no signals, no other processes.
 *
 * Stability: within version 1 fields are only added at the ends of structures, and nothing changes its meaning. A
 * source written for this header keeps compiling and meaning the same.
 */
#ifndef KERNELWRIGHT_H
#define KERNELWRIGHT_H

#define KW_CONTRACT_VERSION 1
#define KW_MAX_RANK 8

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define KW_EXPORT extern "C" __attribute__((visibility("default"), used))
extern "C" {
#else
#define KW_EXPORT __attribute__((visibility("default"), used))
#endif

/* Element types, with ONNX's numbers. */
enum {
  KW_FLOAT32 = 1,
  KW_UINT8 = 2,
  KW_INT8 = 3,
  KW_UINT16 = 4,
  KW_INT16 = 5,
  KW_INT32 = 6,
  KW_INT64 = 7,
  KW_BOOL = 9, /* one byte, 0 or 1 */
  KW_FLOAT16 = 10,
  KW_FLOAT64 = 11,
  KW_UINT32 = 12,
  KW_UINT64 = 13,
  KW_BFLOAT16 = 16
};

typedef struct kw_tensor {
  void* data;
  int64_t shape[KW_MAX_RANK];
  int64_t count; /* elements: the product of the shape */
  int32_t rank;
  int32_t dtype;
} kw_tensor;

/* One attribute of one node, defaults filled in; each node has one more, "opset": the version of ONNX's operators that
 * it is meant in. Integers, real numbers or texts; the other two are null. */
typedef struct kw_attribute {
  const char* name;
  int32_t node;  /* the task's nodes are numbered from 0 in the order in which `kw show` prints them */
  int32_t list;  /* 1 for a list, 0 for one value */
  int64_t count; /* of integers, reals or texts */
  const int64_t* integers;
  const double* reals;
  const char* const* texts;
} kw_attribute;

typedef struct kw_call {
  int32_t version; /* KW_CONTRACT_VERSION of the caller */
  int32_t threads; /* how many the kernel may use, itself included */
  int32_t input_count;
  int32_t output_count;
  int32_t attribute_count;
  int32_t reserved;
  /* All tensors that the task declares, in its order: inputs, weights and constants. */
  const kw_tensor* inputs;
  /* Where an output's shape depends on values (Unique), it comes as the largest possible, and the kernel writes the
   * shape that it found. */
  kw_tensor* outputs;
  const kw_attribute* attributes;
  const void* prepared; /* the first block that kw_prepare kept; null where it kept none */
  unsigned char* scratch;
  int64_t scratch_bytes;
  int64_t scratch_used;
  unsigned char* kept;
  int64_t kept_bytes;
  int64_t kept_used;
  char message[256]; /* why kw_run or kw_prepare failed, in words */
  /* Work that may be done at once: work(data, i) for each i below count, on up to `threads` threads, and all of it is
   * done when this returns. Only in kw_run, by the thread that was called. Null: the caller lends no threads, and the
   * kernel may start its own. */
  void (*parallel)(const struct kw_call* call, int32_t count, void (*work)(void* data, int32_t index), void* data);
  void* crew; /* the caller's, for `parallel` */
} kw_call;

enum { KW_OK = 0, KW_FAILED = 1 };

/* The kernel. KW_OK, or anything else for "I cannot do this one", with a message. */
KW_EXPORT int kw_run(kw_call* call);

/* Optional. Called once for given shapes and constants, before kw_run and outside of what is timed, as a framework does
 * when it loads a model. It sees the shapes of everything but the data of weights and constants alone: `data` of the
 * other inputs and of the outputs is null. What it keeps with kw_keep is read-only from then on. */
KW_EXPORT int kw_prepare(kw_call* call);

/* Memory for this call, aligned to 64 bytes, with anything in it; null when there is no more. There is room for
 * sixteen times all tensors and 64 MiB. */
static inline void* kw_scratch(kw_call* call, int64_t bytes) {
  const int64_t begin = (call->scratch_used + 63) / 64 * 64;
  if (bytes < 0 || bytes > call->scratch_bytes - begin) return NULL;
  call->scratch_used = begin + bytes;
  return call->scratch + begin;
}

/* Memory that lasts, for kw_prepare; aligned to 64 bytes. There is room for four times the constants and 16 MiB. */
static inline void* kw_keep(kw_call* call, int64_t bytes) {
  const int64_t begin = (call->kept_used + 63) / 64 * 64;
  if (bytes < 0 || bytes > call->kept_bytes - begin) return NULL;
  call->kept_used = begin + bytes;
  return call->kept + begin;
}

/* An attribute of a node by its name; null where the operator has none of that name. */
static inline const kw_attribute* kw_find(const kw_call* call, int node, const char* name) {
  for (int32_t i = 0; i < call->attribute_count; ++i) {
    const kw_attribute* attribute = &call->attributes[i];
    /* Attributes come in any order, and a call may look for one each time: most others differ in the first letter. */
    if (attribute->node != node || attribute->name[0] != name[0]) continue;
    if (strcmp(attribute->name, name) == 0) return attribute;
  }
  return NULL;
}

static inline int64_t kw_integer(const kw_call* call, int node, const char* name, int64_t otherwise) {
  const kw_attribute* found = kw_find(call, node, name);
  return found != NULL && found->integers != NULL && found->count > 0 ? found->integers[0] : otherwise;
}

static inline double kw_real(const kw_call* call, int node, const char* name, double otherwise) {
  const kw_attribute* found = kw_find(call, node, name);
  return found != NULL && found->reals != NULL && found->count > 0 ? found->reals[0] : otherwise;
}

static inline const char* kw_text(const kw_call* call, int node, const char* name, const char* otherwise) {
  const kw_attribute* found = kw_find(call, node, name);
  return found != NULL && found->texts != NULL && found->count > 0 ? found->texts[0] : otherwise;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

/* Tunables: integers that a search may set, written at file scope.
 *
 *     KW_TUNE(TILE, 8, 4, 8, 16);       TILE is 8 unless it is set; 4, 8 and 16 are worth trying
 *     KW_REQUIRE(TILE % 4 == 0);        a setting that breaks this is not tried; integer arithmetic on tunables
 *     KW_COMPILER("g++", "clang++");    the default, then others worth trying
 *     KW_FLAGS("-O3", "-O2", "-O3 -ffast-math");
 *
 * Set from outside: kw eval --set TILE=16 --set compiler=clang++ --set "flags=-O2". The compiler gets
 * -DKW_SET_TILE=~,16. */
#define KW_SECOND_(first, second, ...) second
#define KW_SECOND(...) KW_SECOND_(__VA_ARGS__)
#ifdef __cplusplus
#define KW_TUNE(NAME, DEFAULT, ...) [[maybe_unused]] static constexpr int NAME = KW_SECOND(KW_SET_##NAME, DEFAULT, 0)
#define KW_REQUIRE(...) static_assert(__VA_ARGS__, "KW_REQUIRE")
#else
#define KW_TUNE(NAME, DEFAULT, ...) enum { NAME = KW_SECOND(KW_SET_##NAME, DEFAULT, 0) }
#define KW_REQUIRE(...) _Static_assert((__VA_ARGS__), "KW_REQUIRE")
#endif
#define KW_COMPILER(...) extern int kw_declared
#define KW_FLAGS(...) extern int kw_declared

/* Says that the same inputs may give different bits (sums in the order in which threads finish). The verdict shows it.
 */
#define KW_VARIES() KW_EXPORT const int kw_varies = 1

#if defined(__cplusplus) && !defined(KW_ONLY_C)
/* The C++ layer: the same structures, pleasant to use. */

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace kw {

/* float16 and bfloat16 as storage: they turn into float and back by themselves. */
struct float16 {
  uint16_t bits;
  float16() = default;
  explicit float16(float value) {
    uint32_t word;
    memcpy(&word, &value, 4);
    const uint32_t sign = word >> 16 & 0x8000;
    word &= 0x7fffffff;
    if (word > 0x7f800000) {
      bits = static_cast<uint16_t>(sign | 0x7e00);
    } else if (word >= 0x477ff000) {
      bits = static_cast<uint16_t>(sign | 0x7c00);
    } else if (word < 0x38800000) {  // subnormal in 16 bits: let the addition round
      float small;
      memcpy(&small, &word, 4);
      small += 0.5f;
      memcpy(&word, &small, 4);
      bits = static_cast<uint16_t>(sign | (word - 0x3f000000));
    } else {
      bits = static_cast<uint16_t>(sign | (word - 0x38000000 + 0xfff + (word >> 13 & 1)) >> 13);
    }
  }
  operator float() const {
    const uint32_t magnitude = bits & 0x7fff;
    float value;
    if (magnitude < 0x400) {
      value = static_cast<float>(magnitude) * 0x1p-24f;
    } else {
      const uint32_t word = (magnitude << 13) + (magnitude >= 0x7c00 ? 0x70000000 : 0x38000000);
      memcpy(&value, &word, 4);
    }
    return bits & 0x8000 ? -value : value;
  }
};

struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  explicit bfloat16(float value) {
    uint32_t word;
    memcpy(&word, &value, 4);
    bits = static_cast<uint16_t>(value != value ? word >> 16 | 0x40 : (word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  operator float() const {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    memcpy(&value, &word, 4);
    return value;
  }
};

struct Shape {
  int rank = 0;
  int64_t dims[KW_MAX_RANK] = {};

  Shape() = default;
  Shape(std::initializer_list<int64_t> lengths) {
    for (int64_t length : lengths) push(length);
  }
  Shape(int rank_, const int64_t* lengths) {
    for (int i = 0; i < rank_; ++i) push(lengths[i]);
  }
  void push(int64_t length) {
    if (rank == KW_MAX_RANK) abort();
    dims[rank++] = length;
  }
  int64_t operator[](int axis) const { return dims[axis < 0 ? axis + rank : axis]; }
  int64_t& operator[](int axis) { return dims[axis < 0 ? axis + rank : axis]; }
  /* The product of the lengths, of all or of the axes from `first` up to but without `last`. */
  int64_t count() const { return count(0, rank); }
  int64_t count(int first, int last) const {
    int64_t product = 1;
    for (int i = first; i < last; ++i) product *= dims[i];
    return product;
  }
};

/* A list that belongs to the call: of integers or of real numbers. */
template <class T>
struct List {
  const T* first = nullptr;
  int64_t count = 0;

  int64_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T& operator[](int64_t i) const { return first[i]; }
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
};

/* A view of a tensor: an input (const T), an output, a result in between that lives in scratch memory, or memory of
 * the kernel's own. */
template <class T>
class Tensor {
 public:
  using Element = std::remove_const_t<T>;

  Tensor() = default; /* an input that is left out */
  Tensor(T* data, Shape shape) : data_(data), shape_(shape), count_(shape.count()) {}
  Tensor(kw_call* call, kw_tensor* bound) : call_(call), bound_(bound) {
    if (bound == nullptr) return;
    data_ = static_cast<T*>(bound->data);
    shape_ = Shape(bound->rank, bound->shape);
    count_ = bound->count;
  }
  operator Tensor<const Element>() const { return {data_, shape_}; }
  Tensor<const Element> read() const { return {data_, shape_}; } /* the same, to read from */

  bool given() const { return data_ != nullptr; }
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }
  int64_t count() const { return count_; }
  const Shape& shape() const { return shape_; }
  int64_t shape(int axis) const { return shape_[axis]; }
  int rank() const { return shape_.rank; }
  T* begin() const { return data_; }
  T* end() const { return data_ + count_; }

  /* Gives a result its shape. Of an output the memory is there already, and only an output whose shape depends on
   * values takes another shape than it came with; a result in between gets its memory from scratch; memory of the
   * kernel's own has to suffice. */
  void allocate(const Shape& shape) {
    const int64_t room = count_;
    shape_ = shape;
    count_ = shape.count();
    if (call_ == nullptr) {
      if (count_ > room) abort();
      return;
    }
    if (bound_ == nullptr) {
      data_ = static_cast<T*>(kw_scratch(call_, count_ * static_cast<int64_t>(sizeof(T))));
      if (data_ == nullptr) abort();
      return;
    }
    if (count_ > bound_->count) abort();
    bound_->rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i) bound_->shape[i] = shape.dims[i];
  }

 private:
  T* data_ = nullptr;
  Shape shape_;
  int64_t count_ = 0;
  kw_call* call_ = nullptr;
  kw_tensor* bound_ = nullptr;
};

/* The attributes of one node. */
class Node {
 public:
  Node(kw_call* call, int index) : call_(call), index_(index) {}
  bool has(const char* name) const { return kw_find(call_, index_, name) != nullptr; }
  int64_t integer(const char* name, int64_t otherwise = 0) const { return kw_integer(call_, index_, name, otherwise); }
  double real(const char* name, double otherwise = 0) const { return kw_real(call_, index_, name, otherwise); }
  const char* text(const char* name, const char* otherwise = "") const {
    return kw_text(call_, index_, name, otherwise);
  }
  bool is(const char* name, const char* value) const { return strcmp(text(name), value) == 0; }
  List<int64_t> integers(const char* name) const {
    const kw_attribute* found = kw_find(call_, index_, name);
    return found != nullptr && found->integers != nullptr ? List<int64_t>{found->integers, found->count}
                                                          : List<int64_t>{};
  }
  List<double> reals(const char* name) const {
    const kw_attribute* found = kw_find(call_, index_, name);
    return found != nullptr && found->reals != nullptr ? List<double>{found->reals, found->count} : List<double>{};
  }
  List<const char*> texts(const char* name) const {
    const kw_attribute* found = kw_find(call_, index_, name);
    return found != nullptr && found->texts != nullptr ? List<const char*>{found->texts, found->count}
                                                       : List<const char*>{};
  }
  /* How many threads the caller lends, its own included: 1 where it lends none. */
  int lent() const { return call_->parallel == nullptr ? 1 : std::max<int>(call_->threads, 1); }
  /* work(i) for each i below count, on all threads that are lent, or in turn. Nothing that one of them writes may
   * another one read or write. Not from inside of such work. */
  template <class Work>
  void each(int32_t count, Work&& work) const {
    if (lent() == 1 || count <= 1) {
      for (int32_t i = 0; i < count; ++i) work(i);
      return;
    }
    using Same = std::remove_reference_t<Work>;
    void* const data = const_cast<void*>(static_cast<const void*>(&work));
    call_->parallel(
        call_, count, [](void* all, int32_t i) { (*static_cast<Same*>(all))(i); }, data);
  }
  int64_t scratch_left() const { return call_->scratch_bytes - call_->scratch_used; } /* bytes */
  /* Memory for `count` elements, for this call only, with anything in it. */
  template <class T>
  T* scratch(int64_t count) const {
    T* memory = static_cast<T*>(kw_scratch(call_, count * static_cast<int64_t>(sizeof(T))));
    if (memory == nullptr) abort();
    return memory;
  }

 protected:
  kw_call* call_;
  int index_;
};

/* A call; its attributes are those of the first node. */
class Call : public Node {
 public:
  explicit Call(kw_call* call) : Node(call, 0) {}
  template <class T>
  Tensor<const T> input(int index) const {
    const kw_tensor& tensor = call_->inputs[index];
    return {static_cast<const T*>(tensor.data), Shape(tensor.rank, tensor.shape)};
  }
  template <class T>
  Tensor<T> output(int index) const {
    return {call_, &call_->outputs[index]};
  }
  /* A result in between: its memory comes with allocate(). */
  template <class T>
  Tensor<T> between() const {
    return {call_, nullptr};
  }
  kw::Node node(int index) const { return {call_, index}; }
  int threads() const { return call_->threads; }
  template <class T>
  const T* prepared() const {
    return static_cast<const T*>(call_->prepared);
  }
  template <class T>
  T* keep(int64_t count) const {
    T* memory = static_cast<T*>(kw_keep(call_, count * static_cast<int64_t>(sizeof(T))));
    if (memory == nullptr) abort();
    return memory;
  }
  /* Says that this kernel cannot do this call, and why. */
  void fail(const char* why) {
    strncpy(call_->message, why, sizeof call_->message - 1);
    failed_ = true;
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace kw

#define KW_BODY_(FUNCTION, BODY, CALL)        \
  static void BODY(kw::Call& CALL);           \
  KW_EXPORT int FUNCTION(kw_call* c) {        \
    kw::Call call(c);                         \
    BODY(call);                               \
    return call.failed() ? KW_FAILED : KW_OK; \
  }                                           \
  static void BODY([[maybe_unused]] kw::Call& CALL)
/* KW_KERNEL(call) { ... } defines kw_run; KW_PREPARE(call) { ... } defines kw_prepare. */
#define KW_KERNEL(CALL) KW_BODY_(kw_run, kw_run_body, CALL)
#define KW_PREPARE(CALL) KW_BODY_(kw_prepare, kw_prepare_body, CALL)

#endif /* the C++ layer */
#endif /* KERNELWRIGHT_H */
