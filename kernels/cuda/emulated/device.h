// A GPU's side of a CUDA kernel, on a CPU: threads of a block, their barriers and warps, shared memory, and the
// device's functions. src/targets/cuda/emulated/source.cpp puts this file, the kernel's plan and its device code into
// one C++ kernel, which the judge then treats as any other.
//
// Threads run one after the other, each on a stack of its own once it waits for others. Blocks and threads begin in
// another order with every launch, and shared memory holds rubbish when a block begins: a missing barrier, or a sum in
// the order of arrival, shows. What cannot be seen here: memory that is ordered weakly, instructions that round
// otherwise than the C library, and time.
#pragma once

#include <kernelwright.h>
#include <kernelwright_cuda.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace kw::emulated {

struct Index {
  unsigned int x = 0, y = 0, z = 0;
};

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;
constexpr std::size_t kStackBytes = 32 << 10;
constexpr std::size_t kMostSharedBytes = 227 << 10, kMostStaticSharedBytes = 48 << 10;
constexpr std::uint64_t kCanary = 0x6b77737461636b21;

// What the running thread sees of itself.
struct Here {
  Index thread, block, block_size, grid_size;
  int number = 0;  // of the thread in its block
};
static Here here;

alignas(1024) static unsigned char dynamic_shared[kMostSharedBytes];

// Why a launch came to nothing; empty: it did not.
static char trouble[200];

// Joined to one text, cut to what fits.
template <std::size_t room, class... Parts>
void write_text(char (&to)[room], const Parts*... parts) {
  std::size_t used = 0;
  const auto add = [&](const char* part) {
    while (*part != 0 && used + 1 < room) to[used++] = *part++;
  };
  (add(parts), ...);
  to[used] = 0;
}

// A number as text.
struct Digits {
  char text[24];
  explicit Digits(std::uint64_t value) {
    char* at = text + sizeof text - 1;
    *at = 0;
    do *--at = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    std::memmove(text, at, static_cast<std::size_t>(text + sizeof text - at));
  }
};

static std::uint64_t launches = 0;  // so far: another order each time

extern "C" void kw_emulated_switch(void** from, void* to);
#if !defined(__x86_64__)
#error "CUDA kernels are emulated on x86-64 only"
#endif
// Keeps what a function must keep, and goes on where the other one stopped.
asm(R"(
  .text
  .type kw_emulated_switch, @function
kw_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size kw_emulated_switch, . - kw_emulated_switch
)");

enum class State : unsigned char { fresh, ready, at_barrier, in_warp, done };

struct Thread {
  void* stack = nullptr;  // top of what it has pushed
  unsigned char* memory = nullptr;
  State state = State::fresh;
  std::uint64_t value = 0;  // what it brought to its warp
  unsigned int mask = 0;
};

// Runs the blocks of a launch. One launch at a time, as on a stream.
class Block {
 public:
  using Body = void (*)(void* arguments);

  // `stacks`: memory for one stack a thread.
  Block(Body body, void* arguments, int count, unsigned char* stacks)
      : body_(body), arguments_(arguments), count_(count), stacks_(count) {
    for (int i = 0; i < count; ++i) pool_[i] = stacks + static_cast<std::size_t>(i) * kStackBytes;
  }

  // False: `trouble` says why not.
  bool run(std::uint64_t order) {
    current_ = this;
    left_ = count_;
    for (int i = 0; i < count_; ++i) threads_[i] = Thread();
    // A warp runs ahead of the others until it has to wait for them, so that what they still read shows when it is
    // overwritten.
    const int warps = (count_ + kWarp - 1) / kWarp;
    const int first = static_cast<int>(order % static_cast<std::uint64_t>(warps));
    const int step = order >> 32 & 1 ? 1 : warps - 1;
    const bool backwards = order >> 33 & 1;
    while (left_ > 0 && trouble[0] == 0) {
      bool moved = false;
      for (int k = 0, warp = first; k < warps; ++k, warp = (warp + step) % warps) {
        for (bool again = true; again && trouble[0] == 0;) {
          again = false;
          for (int lane = 0; lane < kWarp && trouble[0] == 0; ++lane) {
            const int i = warp * kWarp + (backwards ? kWarp - 1 - lane : lane);
            if (i >= count_ || (threads_[i].state != State::fresh && threads_[i].state != State::ready)) continue;
            again = moved = true;
            if (!resume(i)) return false;
          }
        }
      }
      release_barrier();
      if (!moved && !released_) {
        write_text(trouble, "threads of a block wait for each other for ever: not all reach the same barrier");
      }
      released_ = false;
    }
    return trouble[0] == 0;
  }

  static Block& now() { return *current_; }

  void wait_at_barrier() {
    threads_[here.number].state = State::at_barrier;
    pause();
  }

  // What each lane of the warp that is named in `mask` brought; others' words are left as they were. Lanes that have
  // ended give `of_the_gone`.
  void meet_warp(unsigned int mask, std::uint64_t value, std::uint64_t* all, std::uint64_t of_the_gone = 0) {
    of_the_gone_ = of_the_gone;
    const int number = here.number, first = number / kWarp * kWarp;
    Thread& own = threads_[number];
    own.value = value;
    own.mask = mask;
    own.state = State::in_warp;
    if ((mask >> (number - first) & 1) == 0) fail_here("a lane calls a function of its warp without being in its mask");
    // The last one to come gives everybody what all brought, before any of them goes on.
    if (all_in_warp(first, mask)) {
      release_warp(first, mask);
    }
    pause();
    std::memcpy(all, warp_values_[number / kWarp], sizeof warp_values_[0]);
  }

  unsigned int lanes_alive() const {
    const int first = here.number / kWarp * kWarp;
    unsigned int mask = 0;
    for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
      if (threads_[first + lane].state != State::done) mask |= 1u << lane;
    }
    return mask;
  }

  // Those that the block has at all.
  unsigned int lanes_there() const {
    const int lanes = count_ - here.number / kWarp * kWarp;
    return lanes >= kWarp ? ~0u : (1u << lanes) - 1;
  }

  [[noreturn]] void fail_here(const char* why) {
    write_text(trouble, why);
    for (;;) pause();
  }

  // A vote of the whole block is made in this.
  int votes = 0, voters = 0;

 private:
  static void begin() {
    Block& block = now();
    block.body_(block.arguments_);
    block.threads_[here.number].state = State::done;
    block.pause();
    std::abort();  // a thread that is done is not resumed
  }

  bool resume(int i) {
    Thread& thread = threads_[i];
    if (thread.state == State::fresh) make_stack(thread);
    thread.state = State::ready;
    here.number = i;
    const unsigned int number = static_cast<unsigned int>(i);
    here.thread = {number % here.block_size.x, number / here.block_size.x % here.block_size.y,
                   number / here.block_size.x / here.block_size.y};
    kw_emulated_switch(&main_, thread.stack);
    std::uint64_t canary;
    std::memcpy(&canary, thread.memory, sizeof canary);
    if (canary != kCanary) {
      write_text(trouble, "a thread needs more than ", Digits(kStackBytes >> 10).text, " KiB for its variables");
      return false;
    }
    if (thread.state == State::done) {
      --left_;
      pool_[stacks_++] = thread.memory;  // the next thread's
      thread.memory = nullptr;
    }
    return true;
  }

  void make_stack(Thread& thread) {
    thread.memory = pool_[--stacks_];
    std::memcpy(thread.memory, &kCanary, sizeof kCanary);
    // As if it had called the switch right before its first instruction: six registers, where to go, and the 8 bytes
    // that a function finds above its return address.
    auto* top = reinterpret_cast<std::uint64_t*>(thread.memory + kStackBytes) - 2;
    top[0] = reinterpret_cast<std::uint64_t>(&Block::begin);
    top[1] = 0;
    for (int i = 1; i <= 6; ++i) top[-i] = 0;
    thread.stack = top - 6;
  }

  void pause() {
    Thread& thread = threads_[here.number];
    asm volatile("" ::: "memory");
    kw_emulated_switch(&thread.stack, main_);
    asm volatile("" ::: "memory");
  }

  // Of the lanes in the mask that still run.
  bool all_in_warp(int first, unsigned int mask) const {
    for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const State state = threads_[first + lane].state;
      if (state != State::in_warp && state != State::done) return false;
    }
    return true;
  }

  // What was brought stays as it is until every lane of the mask has come again.
  void release_warp(int first, unsigned int mask) {
    for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      Thread& thread = threads_[first + lane];
      warp_values_[first / kWarp][lane] = thread.state == State::done ? of_the_gone_ : thread.value;
      if (thread.state == State::in_warp) thread.state = State::ready;
    }
    released_ = true;
  }

  void release_barrier() {
    int waiting = 0;
    for (int i = 0; i < count_; ++i) waiting += threads_[i].state == State::at_barrier;
    if (waiting == 0 || waiting < left_) {
      // A warp whose other lanes ended meanwhile goes on.
      for (int i = 0; i < count_; ++i) {
        if (threads_[i].state != State::in_warp) continue;
        const int first = i / kWarp * kWarp;
        if (all_in_warp(first, threads_[i].mask)) release_warp(first, threads_[i].mask);
      }
      return;
    }
    for (int i = 0; i < count_; ++i) {
      if (threads_[i].state == State::at_barrier) threads_[i].state = State::ready;
    }
    voters = 0;
    released_ = true;
  }

  static inline Block* current_ = nullptr;

  Body body_;
  void* arguments_;
  int count_, left_ = 0;
  bool released_ = false;
  void* main_ = nullptr;
  Thread threads_[kMostThreads];
  unsigned char* pool_[kMostThreads];
  int stacks_;  // that are free
  std::uint64_t of_the_gone_ = 0;
  std::uint64_t warp_values_[kMostThreads / kWarp][kWarp];
};

// Static shared memory lies in a section of its own, so that it can be filled with rubbish.
extern "C" {
extern unsigned char __start_kw_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_kw_shared[] __attribute__((weak, visibility("hidden")));
}

struct Launch {
  Index grid, block;
  std::size_t shared_bytes = 0;
};

inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Blocks of memory that nobody has written hold one of these; zeros are what a kernel might wait for.
inline int rubbish_of(std::uint64_t seed) {
  constexpr int kBytes[] = {0xd5, 0xff, 0x3f, 0};
  return kBytes[seed >> 40 & 3];
}

// Behind the shared memory that a launch asked for.
constexpr std::size_t kWatchedBytes = 256;
inline bool is_untouched(const unsigned char* bytes, std::size_t count, int value) {
  for (std::size_t i = 0; i < count; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

inline std::size_t static_shared_bytes() {
  return __start_kw_shared == nullptr ? 0 : static_cast<std::size_t>(__stop_kw_shared - __start_kw_shared);
}

inline bool run_blocks(kw_call* call, const Launch& launch, Block::Body body, void* arguments) {
  here.block_size = launch.block;
  here.grid_size = launch.grid;
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  const std::uint64_t seed = mixed(++launches);
  const int threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  const std::int64_t used_before = call->scratch_used;
  auto* stacks = static_cast<unsigned char*>(kw_scratch(call, threads * std::int64_t{kStackBytes}));
  if (stacks == nullptr) {
    write_text(trouble, "there is no memory for the stacks of a block's threads");
    return false;
  }
  auto* block = new Block(body, arguments, threads, stacks);
  bool well = true;
  for (std::uint64_t k = 0; k < blocks && well; ++k) {
    const std::uint64_t at = (seed % blocks + (seed >> 63 ? blocks - k : k)) % blocks;
    here.block = {static_cast<unsigned int>(at % launch.grid.x),
                  static_cast<unsigned int>(at / launch.grid.x % launch.grid.y),
                  static_cast<unsigned int>(at / launch.grid.x / launch.grid.y)};
    const int rubbish = rubbish_of(mixed(seed ^ k));
    const std::size_t watched = std::min(kWatchedBytes, kMostSharedBytes - launch.shared_bytes);
    std::memset(dynamic_shared, rubbish, launch.shared_bytes + watched);
    if (static_shared_bytes() > 0) std::memset(__start_kw_shared, rubbish, static_shared_bytes());
    well = block->run(mixed(seed + k));
    if (well && !is_untouched(dynamic_shared + launch.shared_bytes, watched, rubbish)) {
      write_text(trouble, "writes past the end of the shared memory that the launch asked for");
      well = false;
    }
  }
  delete block;
  call->scratch_used = used_before;
  return well;
}

// A kernel as the plan calls it: by its name, with the bytes of its arguments.
struct Kernel {
  const char* name;
  int arguments;
  const std::size_t* sizes;
  Block::Body run;
};

template <auto function, class Signature>
struct Caller;
template <auto function, class... Parameters>
struct Caller<function, void (*)(Parameters...)> {
  static constexpr std::size_t sizes[sizeof...(Parameters) + 1] = {sizeof(std::remove_cvref_t<Parameters>)...};

  static void run(void* arguments) { call(static_cast<void**>(arguments), std::index_sequence_for<Parameters...>()); }

 private:
  template <std::size_t... i>
  static void call([[maybe_unused]] void** arguments, std::index_sequence<i...>) {
    function(*static_cast<std::remove_cvref_t<Parameters>*>(arguments[i])...);
  }
};

template <auto function>
constexpr Kernel kernel_named(const char* name) {
  using Called = Caller<function, decltype(function)>;
  return {name, static_cast<int>(std::size(Called::sizes)) - 1, Called::sizes, Called::run};
}

// The plan's bytes (class Plan of kernelwright_cuda.h), read back.
class PlanReader {
 public:
  PlanReader(const unsigned char* bytes) : at_(bytes) {}
  std::int64_t number() {
    std::int64_t value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  const unsigned char* bytes(std::int64_t count) {
    const unsigned char* begin = at_;
    at_ += count;
    return begin;
  }

 private:
  const unsigned char* at_;
};

// What kw_prepare keeps: this, the plan's bytes, and the memory that launches of plan.prepare fill.
struct Kept {
  std::int64_t plan_bytes;
  std::int64_t memory_offset;  // from here

  unsigned char* memory() const {
    return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(this)) + memory_offset;
  }
};

class Runner {
 public:
  Runner(kw_call* call, const unsigned char* plan, unsigned char* kept, const Kernel* kernels, int count)
      : call_(call), plan_(plan), kept_(kept), kernels_(kernels), kernel_count_(count) {}

  // Those of plan.prepare, or the others.
  int run(bool once) {
    trouble[0] = 0;
    PlanReader reader(plan_);
    reader.number();  // what the bytes are
    const std::int64_t launches = reader.number(), scratch_bytes = reader.number();
    reader.number();
    reader.number();
    auto* scratch = static_cast<unsigned char*>(kw_scratch(call_, scratch_bytes + 256));
    if (scratch == nullptr) return failed("the plan asks for more scratch memory than there is");
    scratch_ = scratch + (256 - reinterpret_cast<std::uintptr_t>(scratch) % 256) % 256;
    for (std::int64_t i = 0; i < launches; ++i) {
      if (!launch_next(reader, once)) return failed(trouble);
    }
    if (!once) take_found_shapes();
    return KW_OK;
  }

 private:
  static constexpr int kMostArguments = 256;

  int failed(const char* why) {
    if (call_->message[0] == 0) write_text(call_->message, why);
    return KW_FAILED;
  }

  bool launch_next(PlanReader& reader, bool once) {
    char name[128] = {};
    const std::int64_t length = reader.number();
    const unsigned char* text = reader.bytes(length);
    std::memcpy(name, text, static_cast<std::size_t>(length < 127 ? length : 127));
    const bool is_once = reader.number() != 0;
    std::int64_t lengths[9];
    for (std::int64_t& one : lengths) one = reader.number();
    const std::int64_t shared_bytes = reader.number(), count = reader.number();
    if (count > kMostArguments) return refuse(name, "more arguments than there can be");
    // Places of the arguments: a pointer to a pointer, or to a value of the plan.
    const Kernel* kernel = find(name);
    if (kernel == nullptr) return refuse(name, "no extern \"C\" __global__ function of that name is in the source");
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t size = 0;
      if (!take_argument(reader, static_cast<int>(i), &size)) return refuse(name, trouble);
      if (i < kernel->arguments && size != kernel->sizes[i]) {
        write_text(trouble, "argument ", Digits(static_cast<std::uint64_t>(i)).text, " has ", Digits(size).text,
                   " bytes, and the kernel takes ", Digits(kernel->sizes[i]).text);
        return refuse(name, trouble);
      }
    }
    if (count != kernel->arguments) return refuse(name, "the kernel takes another number of arguments");
    const bool fits = lengths[0] >= 1 && lengths[0] < (std::int64_t{1} << 31) && lengths[1] >= 1 &&
                      lengths[1] <= 65535 && lengths[2] >= 1 && lengths[2] <= 65535;
    if (!fits) return refuse(name, "a grid that no GPU has");
    const bool block_fits = lengths[3] >= 1 && lengths[4] >= 1 && lengths[5] >= 1 && lengths[5] <= 64 &&
                            lengths[3] <= kMostThreads && lengths[4] <= kMostThreads &&
                            lengths[3] * lengths[4] * lengths[5] <= kMostThreads;
    if (!block_fits) return refuse(name, "a block that no GPU has");
    if (lengths[6] * lengths[7] * lengths[8] != 1) return refuse(name, "clusters of blocks are not emulated");
    if (shared_bytes < 0 || shared_bytes > std::int64_t{kMostSharedBytes}) {
      return refuse(name, "more shared memory than there is");
    }
    // Which kernel each of them belongs to is not known.
    if (static_shared_bytes() > kMostStaticSharedBytes * static_cast<std::size_t>(kernel_count_)) {
      return refuse(name, "more than 48 KiB of shared memory whose size no launch says");
    }
    if (is_once != once) return true;
    const auto index = [](const std::int64_t* from) {
      return Index{static_cast<unsigned int>(from[0]), static_cast<unsigned int>(from[1]),
                   static_cast<unsigned int>(from[2])};
    };
    const Launch launch{index(lengths), index(lengths + 3), static_cast<std::size_t>(shared_bytes)};
    return run_blocks(call_, launch, kernel->run, arguments_) || refuse(name, trouble);
  }

  bool refuse(const char* name, const char* why) {
    char said[sizeof trouble];
    write_text(said, "launch of ", name, ": ", why);
    std::memcpy(trouble, said, sizeof said);
    return false;
  }

  const Kernel* find(const char* name) const {
    for (int i = 0; i < kernel_count_; ++i) {
      if (std::strcmp(kernels_[i].name, name) == 0) return &kernels_[i];
    }
    return nullptr;
  }

  bool take_argument(PlanReader& reader, int i, std::size_t* size) {
    const std::int64_t kind = reader.number();
    if (kind == Plan::kValue) {
      const std::int64_t bytes = reader.number();
      std::memcpy(values_[i], reader.bytes(bytes), static_cast<std::size_t>(bytes));
      arguments_[i] = values_[i];
      *size = static_cast<std::size_t>(bytes);
      return true;
    }
    const std::int64_t place = reader.number();
    *size = sizeof(void*);
    arguments_[i] = &pointers_[i];
    if (kind == Plan::kInput && place < call_->input_count) {
      pointers_[i] = call_->inputs[place].data;
    } else if (kind == Plan::kOutput && place < call_->output_count) {
      pointers_[i] = call_->outputs[place].data;
    } else if (kind == Plan::kScratch) {
      pointers_[i] = scratch_ + place;
    } else if (kind == Plan::kKept) {
      pointers_[i] = kept_ + place;
    } else if (kind == Plan::kFoundShape && place < call_->output_count && place < kMostOutputs) {
      pointers_[i] = found_[place];
      is_found_[place] = true;
    } else {
      write_text(trouble,
                 kind == Plan::kTensorMap ? "TMA descriptors are not emulated" : "an argument that is no tensor");
      return false;
    }
    return true;
  }

  void take_found_shapes() {
    for (int i = 0; i < call_->output_count && i < kMostOutputs; ++i) {
      if (!is_found_[i]) continue;
      kw_tensor& output = call_->outputs[i];
      output.rank = static_cast<std::int32_t>(found_[i][0]);
      output.count = 1;
      for (int axis = 0; axis < KW_MAX_RANK && axis < output.rank; ++axis) {
        output.shape[axis] = found_[i][axis + 1];
        output.count *= output.shape[axis];
      }
    }
  }

  static constexpr int kMostOutputs = 16;

  kw_call* call_;
  const unsigned char* plan_;
  unsigned char* kept_;
  const Kernel* kernels_;
  int kernel_count_;
  unsigned char* scratch_ = nullptr;
  void* arguments_[kMostArguments];
  void* pointers_[kMostArguments];
  alignas(16) unsigned char values_[kMostArguments][2048];
  std::int64_t found_[kMostOutputs][KW_MAX_RANK + 1] = {};
  bool is_found_[kMostOutputs] = {};
};

constexpr std::int64_t kMostPlanBytes = 1 << 20;
constexpr std::int64_t kMostConstantBytes = 4096;  // that a plan sees the values of

// Makes the plan as the locked-up planner of a real GPU does, keeps it, and runs what runs once.
template <class Planner>
int prepare(kw_call* call, Planner planner, const Kernel* kernels, int count) {
  auto* bytes = static_cast<unsigned char*>(kw_scratch(call, kMostPlanBytes));
  auto* inputs = static_cast<kw_tensor*>(kw_scratch(call, std::int64_t{sizeof(kw_tensor)} * call->input_count));
  if (bytes == nullptr || inputs == nullptr) return KW_FAILED;
  std::memcpy(inputs, call->inputs, sizeof(kw_tensor) * static_cast<std::size_t>(call->input_count));
  const auto width = [](int dtype) {
    return dtype == KW_INT64 || dtype == KW_UINT64 || dtype == KW_FLOAT64   ? 8
           : dtype == KW_FLOAT32 || dtype == KW_INT32 || dtype == KW_UINT32 ? 4
           : dtype == KW_UINT8 || dtype == KW_INT8 || dtype == KW_BOOL      ? 1
                                                                            : 2;
  };
  for (int i = 0; i < call->input_count; ++i) {
    if (inputs[i].count * width(inputs[i].dtype) > kMostConstantBytes) inputs[i].data = nullptr;
  }
  kw_call seen = *call;
  seen.inputs = inputs;
  Plan plan(&seen, bytes, kMostPlanBytes);
  planner(plan);
  if (plan.finish() != KW_OK) {
    std::memcpy(call->message, seen.message, sizeof call->message);
    return KW_FAILED;
  }
  PlanReader reader(bytes);
  for (int i = 0; i < 3; ++i) reader.number();
  const std::int64_t kept_bytes = reader.number(), plan_bytes = reader.number();
  auto* kept = static_cast<Kept*>(kw_keep(call, std::int64_t{sizeof(Kept)} + plan_bytes));
  auto* memory = static_cast<unsigned char*>(kw_keep(call, kept_bytes + 256));
  if (kept == nullptr || memory == nullptr) {
    write_text(call->message, "the plan keeps more memory than there is");
    return KW_FAILED;
  }
  memory += (256 - reinterpret_cast<std::uintptr_t>(memory) % 256) % 256;
  *kept = {plan_bytes, memory - reinterpret_cast<unsigned char*>(kept)};
  std::memcpy(kept + 1, bytes, static_cast<std::size_t>(plan_bytes));
  auto* runner = new Runner(call, bytes, kept->memory(), kernels, count);
  const int status = runner->run(true);
  delete runner;
  return status;
}

inline int run(kw_call* call, const Kernel* kernels, int count) {
  const auto* kept = static_cast<const Kept*>(call->prepared);
  auto* runner = new Runner(call, reinterpret_cast<const unsigned char*>(kept + 1), kept->memory(), kernels, count);
  const int status = runner->run(false);
  delete runner;
  return status;
}

}  // namespace kw::emulated
