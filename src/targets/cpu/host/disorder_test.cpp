#include "targets/cpu/host/disorder.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kw::host {
namespace {

#if defined(__x86_64__)

// In place of a kw_call: what the function that was called found, and what it returns.
struct Noted {
  std::uint64_t rsi, r8, rbx, r15;
  std::int32_t status;
};

__attribute__((naked, noinline)) int note(kw_call*) {
  asm("movq %rsi, 0(%rdi); movq %r8, 8(%rdi); movq %rbx, 16(%rdi); movq %r15, 24(%rdi); movl 32(%rdi), %eax; ret");
}

// Does not give back the registers that a function must give back.
__attribute__((naked, noinline)) int note_and_spoil(kw_call*) {
  asm("movl 32(%rdi), %eax; xorl %ebx, %ebx; xorl %ebp, %ebp; xorl %r12d, %r12d; xorl %r13d, %r13d; xorl %r14d, %r14d;"
      "xorl %r15d, %r15d; ret");
}

struct Called {
  std::array<Noted, 5> noted{};
  std::array<int, 5> statuses{};
  int readied = 0;
};

Called call_five(KernelFunction function, std::uint32_t number) {
  Called called;
  std::vector<kw_call*> calls;
  for (std::size_t i = 0; i < called.noted.size(); ++i) {
    called.noted[i].status = static_cast<int>(10 + i);
    calls.push_back(reinterpret_cast<kw_call*>(&called.noted[i]));
  }
  called.statuses.fill(-1);
  // One less than there are.
  call_all(function, calls.data(), called.statuses.data(), 4, number, [&] { ++called.readied; });
  return called;
}

TEST(CallsInARow, HaveTheirOwnArgumentsAndStatuses) {
  for (const std::uint32_t number : {0u, 1u, 64u, 130u}) {  // from each of the places
    const Called called = call_five(note, number);
    EXPECT_EQ(called.statuses, (std::array<int, 5>{10, 11, 12, 13, -1}));
    EXPECT_EQ(called.readied, 1);
  }
  int none = -1;
  call_all(note, nullptr, &none, 0, 7, [] {});
  EXPECT_EQ(none, -1);
}

TEST(CallsInARow, FindTheSameRubbishInAllRegistersAndAnotherOneTheNextTime) {
  const Called called = call_five(note, 6), next = call_five(note, 71);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(called.noted[i].rsi, 0u);
    EXPECT_EQ(called.noted[i].r8, called.noted[i].rsi);
    EXPECT_EQ(called.noted[i].rbx, called.noted[i].rsi);
    EXPECT_EQ(called.noted[i].r15, called.noted[i].rsi);
    EXPECT_EQ(called.noted[i].rsi, called.noted[0].rsi);
    EXPECT_NE(called.noted[i].rsi, next.noted[i].rsi);
  }
}

TEST(CallsInARow, GoOnAfterAFunctionThatSpoilsRegisters) {
  const Called called = call_five(note_and_spoil, 3);
  EXPECT_EQ(called.statuses, (std::array<int, 5>{10, 11, 12, 13, -1}));
}

#endif

}  // namespace
}  // namespace kw::host
