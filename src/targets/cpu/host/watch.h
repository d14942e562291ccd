// Watches every write to a call's outputs: their pages are read-only, so that each write faults; the bytes beside the
// output change, the one instruction runs, and then they are looked at. A kernel that writes back there what it had
// read before leaves an old value; one instruction that reads and writes there (`lock or`) is known by its address.
// Slow, so for small outputs only; x86-64 only.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>

namespace kw::host {

class Watch {
 public:
  // A kernel that writes more often is let go on unwatched.
  static constexpr int kMostWrites = 8192;
  static constexpr std::size_t kMostOutputs = 16;

  void add(std::uint64_t begin, std::uint64_t size_bytes, std::uint64_t region, std::uint64_t region_bytes) {
    if (count_ < kMostOutputs) outputs_[count_++] = {begin, begin + size_bytes, region, region + region_bytes, false};
  }

  void begin() {
    writes_ = 0;
    on_ = true;
    for (std::size_t i = 0; i < count_; ++i) {
      change(outputs_[i]);
      protect(outputs_[i], PROT_READ);
    }
  }

  // 1 + the output beside which was written, or 0.
  std::uint32_t end() {
    for (std::size_t i = 0; i < count_; ++i) protect(outputs_[i], PROT_READ | PROT_WRITE);
    count_ = 0;
    on_ = false;
    const std::uint32_t found = found_;
    found_ = 0;
    return found;
  }

  // At a fault: true where it was a write to an output, which now goes on.
  bool let_write(std::uint64_t address, void* context) {
    if (!on_) return false;
    for (std::size_t i = 0; i < count_; ++i) {
      Output& output = outputs_[i];
      if (address < output.region || address >= output.region_end || output.open) continue;
      output.open = true;
      if ((address < output.begin || address >= output.end) && !has_mask(context)) {
        found_ = static_cast<std::uint32_t>(i) + 1;
      }
      protect(output, PROT_READ | PROT_WRITE);
      change(output);
      step(context, ++writes_ < kMostWrites);
      return true;
    }
    return false;
  }

  // After the instruction: true where this was ours.
  bool look(void* context) {
    if (!on_) return false;
    step(context, false);
    bool ours = false;
    for (std::size_t i = 0; i < count_; ++i) {
      Output& output = outputs_[i];
      if (!output.open) continue;
      ours = true;
      output.open = false;
      if (!unchanged(output)) found_ = static_cast<std::uint32_t>(i) + 1;
      protect(output, PROT_READ);
    }
    return ours;
  }

 private:
  struct Output {
    std::uint64_t begin, end, region, region_end;
    bool open;
  };
  static constexpr std::uint64_t kNear = 256;

  static void protect(const Output& output, int rights) {
    ::mprotect(reinterpret_cast<void*>(output.region), output.region_end - output.region, rights);
  }

  // The bytes beside an output, as far as its pages go.
  template <class See>
  static void beside(const Output& output, See see) {
    for (std::uint64_t at = output.begin - std::min(kNear, output.begin - output.region); at < output.begin; ++at) {
      see(*reinterpret_cast<volatile std::uint8_t*>(at));
    }
    for (std::uint64_t at = output.end; at < std::min(output.end + kNear, output.region_end); ++at) {
      see(*reinterpret_cast<volatile std::uint8_t*>(at));
    }
  }

  void change(const Output& output) {
    value_ = static_cast<std::uint8_t>(value_ * 5 + 17);
    beside(output, [&](volatile std::uint8_t& byte) { byte = value_; });
  }
  bool unchanged(const Output& output) const {
    bool same = true;
    beside(output, [&](const volatile std::uint8_t& byte) { same = same && byte == value_; });
    return same;
  }

  // The address of a store with a mask may be that of elements which it leaves alone. True where it may have one.
  static bool has_mask([[maybe_unused]] void* context) {
#if defined(__x86_64__)
    const auto* code =
        reinterpret_cast<const std::uint8_t*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
    while (*code == 0x66 || *code == 0xf2 || *code == 0xf3 || *code == 0xf0 || (*code & 0xf0) == 0x40) ++code;
    return *code == 0x62 || *code == 0xc4 || *code == 0xc5 || (code[0] == 0x0f && (code[1] == 0xf7 || code[1] == 0xae));
#else
    return true;
#endif
  }

  static void step([[maybe_unused]] void* context, [[maybe_unused]] bool one) {
#if defined(__x86_64__)
    constexpr std::int64_t kTrap = 0x100;
    auto& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
    flags = one ? flags | kTrap : flags & ~kTrap;
#endif
  }

  Output outputs_[kMostOutputs] = {};
  std::size_t count_ = 0;
  int writes_ = 0;
  std::uint8_t value_ = 0;
  std::uint32_t found_ = 0;
  bool on_ = false;
};

}  // namespace kw::host
