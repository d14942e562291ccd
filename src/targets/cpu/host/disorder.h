// What a caller may leave around a call, and a kernel must not rely on: old bytes on the stack and in freed memory,
// numbers in registers, flags, any errno, any depth and alignment of the stack, any place that the call comes from.
// Checks and timed runs get the same, so that nothing of it tells them apart; but for allocated memory, which is not
// filled where calls lie as timed ones do, in checks as well.
#pragma once

#include <alloca.h>
#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "targets/contract.h"

namespace kw::host {

// Bytes whose float32 is a number, a large one or NaN: a kernel that takes them for zeros gets wrong answers. Zeros
// too, which are what most programs have there.
inline std::uint8_t rubbish_byte(std::uint32_t number) {
  constexpr std::uint8_t kBytes[] = {0xff, 0x7f, 0xc1, 0x3f, 0x81, 0x5a, 0x00};
  return kBytes[number % sizeof kBytes];
}

// Fills the stack below the caller.
__attribute__((noinline)) inline void dirty_stack(std::size_t bytes, std::uint32_t number) {
  void* below = ::alloca(bytes);
  std::memset(below, rubbish_byte(number), bytes);
  asm volatile("" : : "r"(below) : "memory");
}

// Registers that belong to the callee. The upper halves of the first sixteen stay zero: code that is called may be
// slow with them in use, and no compiler leaves them so.
inline void dirty_registers([[maybe_unused]] std::uint32_t number) {
#if defined(__x86_64__)
  _mm_setcsr(0x1f80 | (number & 0x3f));  // exceptions that came up earlier
  static const bool has_avx = __builtin_cpu_supports("avx"), has_avx512 = __builtin_cpu_supports("avx512bw");
  const std::uint64_t word = 0x0101010101010101u * rubbish_byte(number >> 6);
  if (!has_avx) return;
  asm volatile(
      "vmovq %0, %%xmm0; vpshufd $0, %%xmm0, %%xmm0; vmovdqa %%xmm0, %%xmm1; vmovdqa %%xmm0, %%xmm2;"
      "vmovdqa %%xmm0, %%xmm3; vmovdqa %%xmm0, %%xmm4; vmovdqa %%xmm0, %%xmm5; vmovdqa %%xmm0, %%xmm6;"
      "vmovdqa %%xmm0, %%xmm7; vmovdqa %%xmm0, %%xmm8; vmovdqa %%xmm0, %%xmm9; vmovdqa %%xmm0, %%xmm10;"
      "vmovdqa %%xmm0, %%xmm11; vmovdqa %%xmm0, %%xmm12; vmovdqa %%xmm0, %%xmm13; vmovdqa %%xmm0, %%xmm14;"
      "vmovdqa %%xmm0, %%xmm15"
      :
      : "r"(word)
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
  if (!has_avx512) return;
  // The compiler of this file need not know them.
  asm volatile(
      "vpbroadcastq %0, %%zmm16; vmovdqa64 %%zmm16, %%zmm17; vmovdqa64 %%zmm16, %%zmm18; vmovdqa64 %%zmm16, %%zmm19;"
      "vmovdqa64 %%zmm16, %%zmm20; vmovdqa64 %%zmm16, %%zmm21; vmovdqa64 %%zmm16, %%zmm22; vmovdqa64 %%zmm16, %%zmm23;"
      "vmovdqa64 %%zmm16, %%zmm24; vmovdqa64 %%zmm16, %%zmm25; vmovdqa64 %%zmm16, %%zmm26; vmovdqa64 %%zmm16, %%zmm27;"
      "vmovdqa64 %%zmm16, %%zmm28; vmovdqa64 %%zmm16, %%zmm29; vmovdqa64 %%zmm16, %%zmm30; vmovdqa64 %%zmm16, %%zmm31;"
      "kmovq %0, %%k1; kmovq %0, %%k2; kmovq %0, %%k3; kmovq %0, %%k4; kmovq %0, %%k5; kmovq %0, %%k6; kmovq %0, %%k7"
      :
      : "r"(word));
#endif
}

// Memory that malloc gives is full of rubbish from now on, and what is freed too; 0: as the library leaves it.
inline void dirty_heap([[maybe_unused]] std::uint32_t number) {
#if defined(__GLIBC__)
  // The library fills with the complement of a byte, and takes zero for "no": the ninth bit says yes.
  ::mallopt(M_PERTURB, number == 0 ? 0 : 0x100 | (rubbish_byte(number) ^ 0xff));
#endif
}

using KernelFunction = int (*)(kw_call*);

// Calls of a kernel in a row, with rubbish in the general registers that carry no argument and in the flags. Registers
// that a function must give back as it found them get theirs before the first call, and so hold it in all; nothing of
// the loop's own lies in them, so that a kernel that does not give them back breaks nothing. Several such loops, so
// that calls come from several places.
#if defined(__x86_64__)
struct CallsInARow {
  KernelFunction run;
  kw_call* const* calls;
  int* statuses;
  std::uint64_t count;
  std::uint64_t rubbish;
};
// What the loops below have as numbers.
static_assert(offsetof(CallsInARow, calls) == 8 && offsetof(CallsInARow, statuses) == 16 &&
              offsetof(CallsInARow, count) == 24 && offsetof(CallsInARow, rubbish) == 32);

#define KW_CALLS_IN_A_ROW(NAME, MARK)                                                                               \
  __attribute__((naked, noinline)) inline void NAME(const CallsInARow*) {                                           \
    asm(MARK                                                                                                        \
        "pushq %rbx; .cfi_adjust_cfa_offset 8; pushq %rbp; .cfi_adjust_cfa_offset 8;"                               \
        "pushq %r12; .cfi_adjust_cfa_offset 8; pushq %r13; .cfi_adjust_cfa_offset 8;"                               \
        "pushq %r14; .cfi_adjust_cfa_offset 8; pushq %r15; .cfi_adjust_cfa_offset 8;"                               \
        "subq $24, %rsp; .cfi_adjust_cfa_offset 24;"                                                                \
        "movq %rdi, (%rsp); movq $0, 8(%rsp);" /* the structure, and which call comes next */                       \
        "movq 32(%rdi), %rbx; movq %rbx, %rbp; movq %rbx, %r12; movq %rbx, %r13; movq %rbx, %r14; movq %rbx, %r15;" \
        "movq %rdi, %rax; xorl %ecx, %ecx;"                                                                         \
        "1: cmpq 24(%rax), %rcx; jae 2f;"                                                                           \
        "movq 8(%rax), %rdi; movq (%rdi,%rcx,8), %rdi; movq 32(%rax), %rdx; movq (%rax), %rax;"                     \
        "movq %rdx, %rsi; movq %rdx, %rcx; movq %rdx, %r8; movq %rdx, %r9; movq %rdx, %r10; movq %rdx, %r11;"       \
        "addq %rdx, %rdx; call *%rax;" /* the sum sets flags */                                                     \
        "movl %eax, %edx; movq (%rsp), %rax; movq 8(%rsp), %rcx; movq 16(%rax), %rdi; movl %edx, (%rdi,%rcx,4);"    \
        "incq %rcx; movq %rcx, 8(%rsp); jmp 1b;"                                                                    \
        "2: addq $24, %rsp; .cfi_adjust_cfa_offset -24;"                                                            \
        "popq %r15; .cfi_adjust_cfa_offset -8; popq %r14; .cfi_adjust_cfa_offset -8;"                               \
        "popq %r13; .cfi_adjust_cfa_offset -8; popq %r12; .cfi_adjust_cfa_offset -8;"                               \
        "popq %rbp; .cfi_adjust_cfa_offset -8; popq %rbx; .cfi_adjust_cfa_offset -8;"                               \
        "ret");                                                                                                     \
  }
KW_CALLS_IN_A_ROW(calls_in_a_row, "")
KW_CALLS_IN_A_ROW(calls_in_a_row_too, "nop;")
KW_CALLS_IN_A_ROW(calls_in_a_row_as_well, "nop; nop;")
#undef KW_CALLS_IN_A_ROW
using Caller = void (*)(const CallsInARow*);
inline constexpr Caller kCallers[] = {calls_in_a_row, calls_in_a_row_too, calls_in_a_row_as_well};
#endif

// One of several places that the same call comes from. `ready` comes when nothing but the calls is left to do: what
// follows it is timed.
template <int Place, class Ready>
__attribute__((noinline)) void call_from(KernelFunction run, kw_call* const* calls, int* statuses, std::uint32_t count,
                                         std::uint32_t number, Ready ready) {
  dirty_registers(number);
  errno = static_cast<int>(number % 100);
  // Not an address, the like of one, or zero.
  const std::uint64_t word = number % 5 == 0 ? 0 : number * 0x9e3779b97f4a7c15u >> (number % 3 == 0 ? 20 : 0);
#if defined(__x86_64__)
  const CallsInARow row{run, calls, statuses, count, word};
  ready();
  kCallers[Place](&row);
#else
  static_cast<void>(word);
  ready();
  for (std::uint32_t i = 0; i < count; ++i) statuses[i] = run(calls[i]);
#endif
  asm volatile("" : : "i"(Place));  // or the linker folds them into one
}

// At a depth of the stack that goes by the number.
template <class Ready>
__attribute__((noinline)) void call_all(KernelFunction run, kw_call* const* calls, int* statuses, std::uint32_t count,
                                        std::uint32_t number, Ready ready) {
  void* deeper = ::alloca(16 * (number % 64 + 1));
  asm volatile("" : : "r"(deeper) : "memory");
  switch (number / 64 % 3) {
    case 0:
      return call_from<0>(run, calls, statuses, count, number, ready);
    case 1:
      return call_from<1>(run, calls, statuses, count, number, ready);
    default:
      return call_from<2>(run, calls, statuses, count, number, ready);
  }
}

// Whether the tile registers (AMX) are still set up: the system then saves and restores 8 kB with every switch, and the
// next kernel finds tiles that are not its own.
inline bool tiles_in_use() {
#if defined(__x86_64__)
  static const bool can_ask = [] {
    unsigned a = 0xd, b = 0, c = 1, d = 0;
    if (!__builtin_cpu_supports("avx512bw")) return false;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (a & 4) != 0;  // xgetbv with ecx = 1
  }();
  if (!can_ask) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & 0x60000) != 0;
#else
  return false;
#endif
}

}  // namespace kw::host
