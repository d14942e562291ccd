// The host: the small piece of ours that lives in one process with a candidate, on this machine (kernel_role.cpp) and
// on devices (remote/kernel/main.cpp).
//
// It knows nothing worth stealing: the inputs, where outputs go, and the shape of the call. It sets the table for each
// command before `go`, so that between `go` and `done` nothing happens but the candidate's calls. A check and a timed
// run look the same from here.
#pragma once

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "targets/cpu/host/control.h"
#include "targets/cpu/host/disorder.h"
#include "targets/cpu/host/pool.h"
#include "targets/cpu/host/rest.h"
#include "targets/cpu/host/settle.h"
#include "targets/cpu/host/warmth.h"
#include "targets/cpu/host/watch.h"

namespace kw::host {

inline constexpr int kCrashed = 101;

inline Control* control = nullptr;

// From here down a kernel gets as much stack as the contract says. The system counts from the stack's upper end, where
// the name of the program lies.
inline std::uint64_t limit_stack() {
  constexpr std::uint64_t kPage = 4096, kOurs = 64 * 1024;  // what the host needs between here and a call
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (name == nullptr) return 0;
  const std::uint64_t top = (reinterpret_cast<std::uintptr_t>(name) + std::strlen(name) + kPage) / kPage * kPage;
  // The system grows a stack by whole pages: where the end is amid one, a fault in that page lies above it.
  const std::uint64_t here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uint64_t end = (here - kOurs - kMostStackBytes) / kPage * kPage;
  if (end >= top) return 0;
  const rlimit limit{top - end, top - end};
  return ::setrlimit(RLIMIT_STACK, &limit) == 0 ? end : 0;
}

inline Watch watch;

// Whether the instruction that faulted is rdtsc or rdtscp.
inline bool reads_clock([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  const auto* code =
      reinterpret_cast<const unsigned char*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  return code[0] == 0x0f && (code[1] == 0x31 || (code[1] == 0x01 && code[2] == 0xf9));
#else
  return false;
#endif
}

inline void on_signal(int signal, siginfo_t* about, void* context) {
  if (signal == SIGSEGV && watch.let_write(reinterpret_cast<std::uintptr_t>(about->si_addr), context)) return;
  if (signal == SIGTRAP && watch.look(context)) return;
  control->fault = {signal, signal == SIGSYS ? about->si_syscall : 0, about->si_code, 0,
                    reinterpret_cast<std::uintptr_t>(about->si_addr)};
  if (signal == SIGSEGV && about->si_code == SI_KERNEL && reads_clock(context)) {
    control->fault.signal = SIGSYS;
    control->fault.system_call = kClockInstruction;
  }
  ::_exit(kCrashed);
}

// Called before loading, and again after it: a constructor may have put in its own.
inline void catch_faults() {
  static char stack[64 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  ::sigaltstack(&alternate, nullptr);
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  }
}

// The bits that govern arithmetic: rounding, flushing of subnormals, masks; and the direction flag. Besides them what a
// thread has and no compiler touches: where its second segment begins, and which signals it does not take.
struct Registers {
  std::uint64_t bits = 0, segment = 0, blocked = 0;
  bool operator==(const Registers&) const = default;
};

inline std::uint64_t blocked_signals() {
  sigset_t blocked;
  std::uint64_t bits = 0;
  if (::sigprocmask(SIG_BLOCK, nullptr, &blocked) == 0) std::memcpy(&bits, &blocked, sizeof bits);
  return bits;
}

inline std::uint64_t second_segment() {
  std::uint64_t base = 0;
#if defined(__x86_64__)
  constexpr unsigned long kMayAsk = 2;  // HWCAP2_FSGSBASE
  static const bool may_ask = (::getauxval(AT_HWCAP2) & kMayAsk) != 0;
  if (may_ask) asm volatile("rdgsbase %0" : "=r"(base));
#endif
  return base;
}

inline Registers registers() {
#if defined(__x86_64__)
  // Control, status and tags of the x87: who leaves its stack in use (MMX without emms) breaks the next one's
  // arithmetic. Tile registers likewise.
  std::uint16_t x87[14] = {};
  asm volatile("fnstenv %0; fldenv %0" : "+m"(x87));
  const std::uint64_t in_use = x87[4] != 0xffff || tiles_in_use();
  return {.bits = (_mm_getcsr() & 0xffc0u) | std::uint64_t{x87[0]} << 32 | in_use << 31 |
                  (__builtin_ia32_readeflags_u64() & 0x40400) << 32,
          .segment = second_segment(),
          .blocked = blocked_signals()};
#elif defined(__aarch64__)
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return {.bits = fpcr, .blocked = blocked_signals()};
#elif defined(__arm__)
  std::uint32_t fpscr = 0;
  asm volatile("vmrs %0, fpscr" : "=r"(fpscr));
  // Without what arithmetic itself leaves: comparisons, exceptions.
  return {.bits = fpscr & 0x07f79f00, .blocked = blocked_signals()};
#else
  return {.blocked = blocked_signals()};
#endif
}

inline void reset_registers() {
#if defined(__x86_64__)
  _mm_setcsr(0x1f80);
  asm volatile("fninit; cld");
  if (tiles_in_use()) asm volatile("tilerelease");
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
#elif defined(__arm__)
  asm volatile("vmsr fpscr, %0" : : "r"(0));
#endif
}

// Threads that are lent begin with the registers that the contract promises; what a kernel leaves in them shows.
inline Registers usual_registers{};
inline void note_registers_of_lent() {
  if (registers() != usual_registers) control->registers_changed = 1;
}

class Host {
  static constexpr std::uint64_t kMostConstantsBefore = 256 * 1024, kMostScratchBefore = std::uint64_t{128} << 20;

 public:
  using Function = int (*)(kw_call*);

  // The kernel's functions; it need not have the second.
  void take(Function to_run, Function to_prepare, bool varies) {
    run_ = to_run;
    prepare_ = to_prepare;
    control->prepares = to_prepare != nullptr;
    control->varies = varies;
  }

  void note_registers() const {
    if (registers() != usual_) control->registers_changed = 1;
    reset_registers();
  }

  [[noreturn]] void serve() {
    dirty_stack(kMostStackBytes / 4, 0);
    // As many as there are: a kernel is never lent more than the call's description says.
    usual_registers = usual_;
    lent_ = &pool_;
    if (control->threads > 1) pool_.start(static_cast<int>(control->threads), kMostStackBytes + kStackOfPool);
    for (;;) {
      std::uint64_t ignored = 0;
      if (::read(kCommand, &ignored, sizeof ignored) != sizeof ignored) ::_exit(0);
      control->failed = 0;
      switch (control->command) {
        case Command::arrange:
          arrange();
          break;
        case Command::stand:
          stand(control->first, control->count);
          break;
        case Command::warm:
          warm(control->first, control->count);
          break;
        case Command::run:
          run();
          break;
        case Command::poison:
          poison_scratch();
          break;
        case Command::none:
          break;
      }
      control->stage = Stage::idle;
      answer();
    }
  }

  static void answer() {
    const std::uint64_t one = 1;
    if (::write(kAnswer, &one, sizeof one) != sizeof one) ::_exit(0);
  }

 private:
  // Memory for a kernel: it begins where the contract says, amid a page, and ends with one.
  struct Room {
    unsigned char* memory = nullptr;
    std::uint64_t size_bytes = 0;
    void* block = nullptr;
    std::uint64_t block_bytes = 0;
  };
  // What one prepared instance keeps.
  struct Kept : Room {
    std::uint64_t used = 0;
  };
  // What was arranged before.
  struct Before {
    bool known = false;
    std::uint64_t kept_bytes = 0, scratch_bytes = 0;
    Room kept, scratch;
    alignas(64) std::byte image[kMostImageBytes];
    alignas(64) std::byte constants[kMostConstantsBefore];
  };

  // The judge wrote these; a candidate may have written over them since. What is out of bounds ends the process.
  void check(bool good) const {
    if (!good) ::_exit(kCrashed + 1);
  }

  void arrange() {
    unmap_regions();
    if (scratch_.block != nullptr) ::munmap(scratch_.block, scratch_.block_bytes);
    for (Kept& kept : kept_) {
      if (kept.block != nullptr) ::munmap(kept.block, kept.block_bytes);
      kept = {};
    }
    for (Room* room : {&before_.kept, &before_.scratch}) {
      if (room->block != nullptr) ::munmap(room->block, room->block_bytes);
      *room = {};
    }
    dirty_stack(kDirtyStackBytes, ++arranged_);
    lies_as_timed_ = control->dirty_heap == 0;
    dirty_heap(lies_as_timed_ ? 0 : arranged_);
    constexpr Pool::Order kOrders[] = {Pool::Order::downwards, Pool::Order::all_to_the_caller, Pool::Order::upwards};
    pool_.hand_out(lies_as_timed_ ? Pool::Order::upwards : kOrders[arranged_ / 4 % 3]);
    mapped_count_ = control->region_count;
    check(mapped_count_ <= kMostRegions && control->image_bytes <= kMostImageBytes &&
          control->call_count <= kMostCalls && control->tensor_count <= kMostTensors && control->instances > 0 &&
          control->instances <= kMostInstances);
    for (std::uint32_t i = 0; i < mapped_count_; ++i) {
      const Region region = mapped_[i] = control->regions[i];
      const int rights = region.writable ? PROT_READ | PROT_WRITE : PROT_READ;
      void* at = ::mmap(reinterpret_cast<void*>(region.address), region.size_bytes, rights,
                        MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, region.writable ? kOutputs : kInputs,
                        static_cast<off_t>(region.offset));
      check(at == reinterpret_cast<void*>(region.address));
    }
    scratch_ = room(control->scratch_bytes);
    most_used_ = 0;
    image_bytes_ = control->image_bytes;
    std::memcpy(image_, control->image, image_bytes_);
    std::memcpy(addresses_, control->addresses, sizeof addresses_);
    tensor_count_ = control->tensor_count;
    for (std::uint32_t i = 0; i < control->call_count * tensor_count_; ++i) sizes_[i] = mapped_behind(addresses_[i]);
    wants_shapes_ = control->shapes_wanted != 0;
    standing_count_ = 0;
    call_count_ = control->call_count;
    const std::uint32_t instances = control->instances;
    calls_each_ = std::max(call_count_ / instances, 1u);
    for (std::uint32_t i = 0; i < instances; ++i) {
      static_cast<Room&>(kept_[i]) = room(control->kept_bytes);
      // As far as constants may get: the rest stays untouched, or every case would pay for it.
      const std::uint64_t filled =
          std::min({control->kept_bytes, constants_bytes(control->kept_bytes), kMostFilledBytes});
      if (prepare_ != nullptr) std::memset(kept_[i].memory, rubbish_byte(arranged_), filled);
      prepare(kept_[i], i * calls_each_);
    }
    if (prepare_ != nullptr && control->dirty_heap) prepare_the_one_before();
    if (prepare_ != nullptr) remember();
  }

  // In one go: they lie in the order of their addresses, and nothing else lies between them.
  void unmap_regions() const {
    if (mapped_count_ == 0) return;
    const Region& last = mapped_[mapped_count_ - 1];
    const std::uint64_t begin = mapped_[0].address, end = last.address + last.size_bytes;
    ::munmap(reinterpret_cast<void*>(begin), end - begin);
  }

  void poison_scratch() const {
    std::memset(scratch_.memory, static_cast<int>(control->poison), std::min(most_used_, scratch_.size_bytes));
  }

  // What was arranged before, of another shape as a rule, is prepared once more beside what is now: a program may hold
  // both, and nothing of it may get into the calls that follow.
  void prepare_the_one_before() {
    if (!before_.known) return;
    auto* call = reinterpret_cast<kw_call*>(before_.image);
    before_.kept = room(before_.kept_bytes);
    before_.scratch = room(before_.scratch_bytes);
    call->kept = before_.kept.memory;
    call->kept_bytes = static_cast<std::int64_t>(before_.kept.size_bytes);
    call->scratch = before_.scratch.memory;
    call->scratch_bytes = static_cast<std::int64_t>(before_.scratch.size_bytes);
    control->stage = Stage::prepare;
    prepare_(call);
    control->stage = Stage::idle;
    note_registers();
  }

  // A copy of the description and of the constants: the judge writes the next ones over them.
  void remember() {
    before_.known = false;
    before_.kept_bytes = control->kept_bytes;
    before_.scratch_bytes = control->scratch_bytes;
    if (before_.scratch_bytes > kMostScratchBefore) return;
    std::memcpy(before_.image, image_, image_bytes_);
    kw_call* call = targets::settle(before_.image);
    std::uint64_t used = 0;
    for (int i = 0; i < call->input_count; ++i) {
      auto& tensor = const_cast<kw_tensor&>(call->inputs[i]);
      if (!control->constant[i]) continue;
      const std::uint64_t bytes = bytes_of(tensor);
      if (used + bytes > kMostConstantsBefore) return;
      std::memcpy(before_.constants + used, reinterpret_cast<const void*>(addresses_[i]), bytes);
      tensor.data = before_.constants + used;
      used += (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
    before_.known = used > 0;
  }

  void prepare(Kept& kept, std::uint32_t first_call) {
    if (prepare_ == nullptr) return;
    // This description is gone when calls come: a kernel keeps what it needs, and not where it stood.
    std::byte* const image = image_at(kMostCalls);
    kw_call* call = set_up(first_call, image);
    for (int i = 0; i < call->input_count; ++i) {
      if (!control->constant[i]) const_cast<kw_tensor&>(call->inputs[i]).data = nullptr;
    }
    for (int i = 0; i < call->output_count; ++i) call->outputs[i].data = nullptr;
    call->parallel = nullptr;
    call->kept = kept.memory;
    call->kept_bytes = static_cast<std::int64_t>(kept.size_bytes);
    control->stage = Stage::prepare;
    const int status = prepare_(call);
    control->stage = Stage::idle;
    note_registers();
    if (status != KW_OK) say(call);
    kept.used = std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(call->kept_used, 0)), kept.size_bytes);
    control->kept_used = kept.used;
    most_used_ = std::max(most_used_, static_cast<std::uint64_t>(std::max<std::int64_t>(call->scratch_used, 0)));
    std::memset(image, rubbish_byte(arranged_ + 1), image_bytes_);
    // And what lies behind the memory that it asked for is somebody else's.
    std::memset(kept.memory + kept.used, rubbish_byte(arranged_ + 1),
                std::min(kept.size_bytes - kept.used, kDirtyStackBytes));
    ::mprotect(kept.block, kept.block_bytes, PROT_READ);
  }

  void stand(std::uint32_t first, std::uint32_t count) {
    check(first + count <= call_count_);
    for (std::uint32_t i = 0; i < count; ++i) calls_[i] = set_up(first + i);
    standing_first_ = first;
    standing_count_ = count;
  }

  // As little as can be besides the calls: what is done here and not timed is CPU time in which work could hide.
  void run() {
    const std::uint32_t first = control->first, count = control->count, sequence = control->sequence;
    if (control->poisons_first) poison_scratch();
    if (first != standing_first_ || count != standing_count_) stand(first, count);
    standing_count_ = 0;
    int statuses[kMostCalls];
    translate(first, count);
    reset_registers();
    pool_.wake();
    control->stage = Stage::run;
    const auto ready = [&] {
      control->ready.store(sequence, std::memory_order_release);
      if (control->spin) {
        while (control->go.load(std::memory_order_acquire) != sequence) rest();
      }
    };
    if (control->watched && count == 1) {
      ready();
      statuses[0] = run_watched();
    } else {
      call_all(run_, calls_, statuses, count, (sequence ^ arranged_ << 4) * 0x9e3779b9u >> 8, ready);
    }
    control->done.store(sequence, std::memory_order_release);
    pool_.sleep();
    note_registers();
    for (std::uint32_t i = 0; i < count; ++i) {
      const kw_call& call = *calls_[i];
      const char* changed = statuses[i] == KW_OK ? changed_in(call, first + i) : nullptr;
      if (changed != nullptr) {
        statuses[i] = KW_FAILED;
        std::snprintf(calls_[i]->message, sizeof calls_[i]->message, "it changed the description of %s, which %s",
                      changed, "belongs to the caller");
      }
      most_used_ = std::max(most_used_, static_cast<std::uint64_t>(std::max<std::int64_t>(call.scratch_used, 0)));
      control->statuses[first + i] = statuses[i];
      FoundShapes& found = control->found[first + i];
      for (int k = 0; wants_shapes_ && k < call.output_count && k < static_cast<int>(kMostOutputs); ++k) {
        found.ranks[k] = call.outputs[k].rank;
        std::memcpy(found.shapes[k], call.outputs[k].shape, sizeof found.shapes[k]);
      }
      if (statuses[i] != KW_OK) say(&call);
    }
    control->scratch_used = most_used_;
  }

  static std::uint64_t bytes_of(const kw_tensor& tensor) {
    constexpr std::uint64_t kSizes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2};  // by KW_FLOAT32 and so on
    return static_cast<std::uint64_t>(tensor.count) * kSizes[tensor.dtype];
  }

  int run_watched() {
    const kw_call& call = *calls_[0];
    for (int i = 0; i < call.output_count; ++i) {
      const auto begin = reinterpret_cast<std::uintptr_t>(call.outputs[i].data);
      const std::uint64_t bytes = bytes_of(call.outputs[i]);
      for (std::uint32_t k = 0; k < mapped_count_; ++k) {
        const Region& region = mapped_[k];
        if (begin < region.address || begin >= region.address + region.size_bytes) continue;
        watch.add(begin, bytes, region.address, region.size_bytes);
      }
    }
    // What describes the inputs cannot be written either: another thread may read it meanwhile.
    std::byte* const locked = images_ + ((kMostCalls + 1) * kImageStride + kPageBytes - 1) / kPageBytes * kPageBytes;
    kw_call seen = *set_up(control->first, locked);
    kw_tensor outputs[kMostOutputs];
    const auto output_count = std::min(static_cast<std::size_t>(seen.output_count), kMostOutputs);
    std::copy_n(seen.outputs, output_count, outputs);
    seen.outputs = outputs;
    ::mprotect(locked, kMostImageBytes, PROT_READ);
    watch.begin();
    const int status = run_(&seen);
    control->rewritten = watch.end();
    ::mprotect(locked, kMostImageBytes, PROT_READ | PROT_WRITE);
    std::copy_n(outputs, output_count, calls_[0]->outputs);
    std::copy_n(seen.message, sizeof seen.message, calls_[0]->message);
    calls_[0]->scratch_used = seen.scratch_used;
    return status;
  }

  // While others had their turns, what this process needs has gone out of the caches. The inputs have other values yet.
  void warm(std::uint32_t first, std::uint32_t count) const {
    check(first + count <= call_count_);
    if (bytes_of(first, count) + kept_[0].used > kMostWarmBytes) return;
    const Block prepared[] = {{kept_[0].memory, kept_[0].used}};
    for (int pass = 0; pass < kWarmPasses; ++pass) {
      read_tensors(first, count, kLineBytes);
      read_side_by_side(prepared, kLineBytes);
    }
  }

  // And out of the core's table of addresses: the judge has written the tensors through its own. This is done with the
  // inputs there, and a kernel that worked on them in this time instead would meet the addresses that it left out
  // later.
  void translate(std::uint32_t first, std::uint32_t count) const {
    if (bytes_of(first, count) <= kMostWarmBytes) read_tensors(first, count, kPageBytes);
  }

  std::uint64_t bytes_of(std::uint32_t first, std::uint32_t count) const {
    const std::uint64_t* begin = sizes_ + first * tensor_count_;
    return std::accumulate(begin, begin + count * tensor_count_, std::uint64_t{0});
  }

  void read_tensors(std::uint32_t first, std::uint32_t count, std::uint64_t step) const {
    Block tensors[kMostTensors];
    for (std::uint32_t call = first; call < first + count; ++call) {
      for (std::uint32_t i = 0; i < tensor_count_; ++i) {
        const std::uint32_t at = call * tensor_count_ + i;
        tensors[i] = {reinterpret_cast<const void*>(addresses_[at]), sizes_[at]};
      }
      read_side_by_side({tensors, tensor_count_}, step);
    }
  }

  // The call as the judge described it, whatever the candidate did to an earlier copy.
  kw_call* set_up(std::uint32_t index) { return set_up(index, image_at(index)); }
  kw_call* set_up(std::uint32_t index, std::byte* image) {
    std::memcpy(image, image_, image_bytes_);
    kw_call* call = targets::settle(image);
    const std::uint64_t* address = addresses_ + index * tensor_count_;
    for (int i = 0; i < call->input_count; ++i) {
      const_cast<kw_tensor&>(call->inputs[i]).data = reinterpret_cast<void*>(*address++);
    }
    for (int i = 0; i < call->output_count; ++i) call->outputs[i].data = reinterpret_cast<void*>(*address++);
    call->scratch = scratch_.memory;
    call->scratch_bytes = static_cast<std::int64_t>(scratch_.size_bytes);
    lend(*call);
    const Kept& kept = kept_[index / calls_each_ % kMostInstances];
    call->prepared = kept.used > 0 ? kept.memory : nullptr;
    return call;
  }

  // Threads, where the call may use several and they could be started. Callers differ: where calls lie unlike timed
  // ones, some lend a thread that uses one the way to itself, some lend nothing, and `crew` is whatever they like.
  void lend(kw_call& call) {
    const bool usual = call.threads > 1;
    const bool lends = pool_.threads() >= call.threads && (lies_as_timed_ || arranged_ % 4 != 3 ? usual : !usual);
    call.parallel = lends ? run_together : nullptr;
    call.crew = lends && (lies_as_timed_ || arranged_ % 3 != 0) ? &pool_ : nullptr;
  }
  static void run_together(const kw_call*, std::int32_t count, Pool::Piece work, void* data) {
    lent_->run(count, work, data);
  }

  // Structures are aligned to their largest member and no further.
  std::byte* image_at(std::uint32_t index) const {
    return images_ + index * kImageStride + sizeof(std::int64_t) * ((index + arranged_) % 8);
  }

  // The next call with the same kw_call must find in it what it wrote there. Null, or what is changed.
  const char* changed_in(const kw_call& call, std::uint32_t index) const {
    const auto* original = reinterpret_cast<const kw_call*>(image_);
    const std::byte* image = image_at(index);
    const auto moved = [&](const void* now, const void* offset) {
      return now != (offset == nullptr ? nullptr : image + reinterpret_cast<std::size_t>(offset));
    };
    if (call.version != original->version || call.threads != original->threads ||
        call.input_count != original->input_count || call.output_count != original->output_count ||
        call.attribute_count != original->attribute_count || moved(call.inputs, original->inputs) ||
        moved(call.outputs, original->outputs) || moved(call.attributes, original->attributes) ||
        (call.parallel != nullptr && call.parallel != run_together) || (call.crew != nullptr && call.crew != &pool_)) {
      return "the call";
    }
    if (call.scratch != scratch_.memory || call.scratch_bytes != static_cast<std::int64_t>(scratch_.size_bytes)) {
      return "scratch memory";
    }
    const auto* inputs = at_offset<kw_tensor>(original->inputs);
    const std::uint64_t* address = addresses_ + index * tensor_count_;
    constexpr std::size_t kAfterData = offsetof(kw_tensor, shape);
    for (int i = 0; i < original->input_count; ++i) {
      const auto* now = reinterpret_cast<const std::byte*>(call.inputs + i);
      if (reinterpret_cast<std::uintptr_t>(call.inputs[i].data) != *address++ ||
          std::memcmp(now + kAfterData, reinterpret_cast<const std::byte*>(inputs + i) + kAfterData,
                      sizeof(kw_tensor) - kAfterData) != 0) {
        return "an input";
      }
    }
    const auto* outputs = at_offset<kw_tensor>(original->outputs);
    for (int i = 0; i < original->output_count; ++i) {
      if (reinterpret_cast<std::uintptr_t>(call.outputs[i].data) != *address++ ||
          call.outputs[i].count != outputs[i].count || call.outputs[i].dtype != outputs[i].dtype) {
        return "an output";
      }
    }
    const auto* attributes = at_offset<kw_attribute>(original->attributes);
    for (int i = 0; i < original->attribute_count; ++i) {
      const kw_attribute& now = call.attributes[i];
      const kw_attribute& before = attributes[i];
      const auto bytes = static_cast<std::size_t>(before.count) * sizeof(std::int64_t);
      if (now.node != before.node || now.list != before.list || now.count != before.count ||
          moved(now.name, before.name) || moved(now.integers, before.integers) || moved(now.reals, before.reals) ||
          moved(now.texts, before.texts) ||
          (now.integers != nullptr &&
           std::memcmp(now.integers, at_offset<std::int64_t>(before.integers), bytes) != 0) ||
          (now.reals != nullptr && std::memcmp(now.reals, at_offset<double>(before.reals), bytes) != 0)) {
        return "an attribute";
      }
    }
    return nullptr;
  }

  template <class T>
  const T* at_offset(const void* offset) const {
    return reinterpret_cast<const T*>(image_ + reinterpret_cast<std::size_t>(offset));
  }

  static void say(const kw_call* call) {
    control->failed = 1;
    std::snprintf(control->message, sizeof control->message, "%.*s", static_cast<int>(sizeof call->message) - 1,
                  call->message);
  }

  // How much of a region lies behind an address.
  std::uint64_t mapped_behind(std::uint64_t address) const {
    for (std::uint32_t i = 0; i < mapped_count_; ++i) {
      const std::uint64_t begin = mapped_[i].address, end = begin + mapped_[i].size_bytes;
      if (address >= begin && address < end) return end - address;
    }
    return 0;
  }

  unsigned char* memory(std::uint64_t size) const {
    void* block = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(block != MAP_FAILED);
    return static_cast<unsigned char*>(block);
  }

  // Somewhere in a page, as aligned as the contract says and no further.
  Room room(std::uint64_t size) const {
    Room room;
    room.block_bytes = (size + kPageBytes - 1) / kPageBytes * kPageBytes + kPageBytes;
    room.block = memory(room.block_bytes);
    const std::uint64_t offset = kLineBytes * (1 + 2 * (arranged_ * 7 % 31));
    room.memory = static_cast<unsigned char*>(room.block) + offset;
    room.size_bytes = room.block_bytes - offset;
    return room;
  }

  // What kw_keep offers is four times the constants and 16 MiB.
  static std::uint64_t constants_bytes(std::uint64_t kept_bytes) {
    constexpr std::uint64_t kBesides = std::uint64_t{16} << 20;
    return kDirtyStackBytes + (kept_bytes > kBesides ? kept_bytes - kBesides : 0);
  }

  static constexpr std::uint64_t kDirtyStackBytes = 64 * 1024, kMostFilledBytes = 1 << 20;
  static constexpr std::size_t kImageStride = kMostImageBytes + 64;
  // One for kw_prepare, one in pages of its own for a watched call.
  static constexpr std::size_t kImagesBytes = (kMostCalls + 1) * kImageStride + kPageBytes + kMostImageBytes;

  static constexpr std::size_t kStackOfPool = 64 * 1024;
  Pool pool_{reset_registers, note_registers_of_lent};
  static inline Pool* lent_ = nullptr;
  Function run_ = nullptr;
  Function prepare_ = nullptr;
  const Registers usual_ = (reset_registers(), registers());
  Room scratch_;
  Kept kept_[kMostInstances];
  Before before_;
  std::uint64_t image_bytes_ = 0, most_used_ = 0;
  std::uint32_t arranged_ = 0;  // how often
  std::uint32_t tensor_count_ = 0, call_count_ = 0, mapped_count_ = 0, calls_each_ = 1;
  std::uint32_t standing_first_ = 0, standing_count_ = 0;
  bool wants_shapes_ = false, lies_as_timed_ = true;
  kw_call* calls_[kMostCalls] = {};
  Region mapped_[kMostRegions] = {};
  alignas(64) std::byte image_[kMostImageBytes] = {};
  std::byte* const images_ = reinterpret_cast<std::byte*>(memory(kImagesBytes));
  std::uint64_t addresses_[kMostCalls * kMostTensors] = {};
  std::uint64_t sizes_[kMostCalls * kMostTensors] = {};
};

}  // namespace kw::host
