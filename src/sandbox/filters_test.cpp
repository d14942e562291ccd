#include "sandbox/filters.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>

namespace kw::sandbox {
namespace {

// What the system would do for a program of 32-bit ARM: the filter's instructions, one after the other. None where one
// of them is not known here.
std::optional<std::uint32_t> answer_on_arm(const Program& program, int number, std::uint32_t protection = 0,
                                           std::uint32_t flags = 0, std::uint32_t descriptor = 0) {
  const seccomp_data data{
      .nr = number, .arch = AUDIT_ARCH_ARM, .instruction_pointer = 0, .args = {0, 0, protection, flags, descriptor, 0}};
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& one = program[at];
    const auto jump = [&](bool is) { at += is ? one.jt : one.jf; };
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + one.k, sizeof value);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= one.k;
        break;
      case BPF_JMP | BPF_JA:
        at += one.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump(value == one.k);
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jump(value > one.k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump(value >= one.k);
        break;
      case BPF_RET | BPF_K:
        return one.k;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

TEST(Filters, KnowTheCallsOf32BitArm) {
  constexpr int kMmap2 = 192, kFstat64 = 197, kLlseek = 140, kOpenat = 322, kMmap = 90;
  ASSERT_EQ(system_call_name(kMmap2, "arm"), "mmap2");
  ASSERT_EQ(system_call_name(kOpenat, "arm"), "openat");
  const Program start = make_filter(Filter::start, "arm"), kernel = make_filter(Filter::kernel, "arm");
  ASSERT_FALSE(start.empty() || kernel.empty());
  for (const int number : {kMmap2, kFstat64, kLlseek}) EXPECT_EQ(answer_on_arm(start, number), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer_on_arm(start, kOpenat).value_or(0) & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);

  constexpr std::uint32_t kData = PROT_READ | PROT_WRITE, kOwn = MAP_PRIVATE | MAP_ANONYMOUS;
  EXPECT_EQ(answer_on_arm(kernel, kMmap2, kData, kOwn), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer_on_arm(kernel, kMmap2, kData, MAP_SHARED, kInputsDescriptor), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer_on_arm(kernel, kMmap2, kData, MAP_SHARED, kCommandDescriptor), SECCOMP_RET_TRAP);
  EXPECT_EQ(answer_on_arm(kernel, kMmap2, kData | PROT_EXEC, kOwn), SECCOMP_RET_TRAP) << "code";
  EXPECT_EQ(answer_on_arm(kernel, kOpenat), SECCOMP_RET_TRAP);
  EXPECT_EQ(answer_on_arm(kernel, kMmap, kData, kOwn), SECCOMP_RET_TRAP) << "older than the system's calls for ARM";
}

}  // namespace
}  // namespace kw::sandbox
