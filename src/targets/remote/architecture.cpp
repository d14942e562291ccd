#include "targets/remote/architecture.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/terminal.h"

namespace kw::remote {
namespace {

// Bits of the auxiliary vector on ARM, as Linux numbers them: with 32 bits, and with 64.
constexpr int kNeon = 12, kFusedNeon = 16, kDivides = 17, kDividesInThumb = 18;
constexpr int kChecksums = 4;  // of the second word: a core of ARMv8
constexpr int kAtomics = 8, kHalf = 10, kRounding = 12, kDotProducts = 20, kSve = 22;
constexpr int kInt8Products = 13, kBfloat16 = 14;  // of the second word

bool bit(std::uint64_t word, int number) { return (word >> number & 1) != 0; }

struct Core {
  unsigned part;  // of ARM's own numbers
  const char* name;
  const char* tune;
};
constexpr Core kCores[] = {{0xd03, "Cortex-A53", "cortex-a53"},   {0xd05, "Cortex-A55", "cortex-a55"},
                           {0xd07, "Cortex-A57", "cortex-a57"},   {0xd08, "Cortex-A72", "cortex-a72"},
                           {0xd09, "Cortex-A73", "cortex-a73"},   {0xd0a, "Cortex-A75", "cortex-a75"},
                           {0xd0b, "Cortex-A76", "cortex-a76"},   {0xd0c, "Neoverse-N1", "neoverse-n1"},
                           {0xd0d, "Cortex-A77", "cortex-a77"},   {0xd41, "Cortex-A78", "cortex-a78"},
                           {0xd44, "Cortex-X1", "cortex-x1"},     {0xd46, "Cortex-A510", "cortex-a510"},
                           {0xd47, "Cortex-A710", "cortex-a710"}, {0xd48, "Cortex-X2", "cortex-x2"},
                           {0xd49, "Neoverse-N2", "neoverse-n2"}};

const Core* core_of(const std::string& midr) {
  const unsigned long value = std::strtoul(midr.c_str(), nullptr, 16);
  if ((value >> 24 & 0xff) != 0x41) return nullptr;
  const auto* found = std::ranges::find(kCores, static_cast<unsigned>(value >> 4 & 0xfff), &Core::part);
  return found == std::end(kCores) ? nullptr : found;
}

// What the core says that kernels are timed on.
std::string best_midr(const Said& said) {
  const std::string best = said.text("best_core");
  for (const std::string& line : said.all("core")) {
    std::istringstream words(line);
    std::string number, midr;
    if (words >> number >> midr && number == best) return midr;
  }
  return {};
}

}  // namespace

Said::Said(const std::string& lines) : lines_(lines) {
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) values_.emplace(line.substr(0, space), fit_for_a_line(line.substr(space + 1)));
  }
}

std::string Said::text(const std::string& name) const {
  const auto found = values_.lower_bound(name);
  return found == values_.end() || found->first != name ? std::string() : found->second;
}

std::uint64_t Said::number(const std::string& name) const {
  const std::string digits = text(name);
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::vector<std::string> Said::all(const std::string& name) const {
  std::vector<std::string> found;
  for (auto [at, end] = values_.equal_range(name); at != end; ++at) found.push_back(at->second);
  return found;
}

const std::vector<Architecture>& all_architectures() {
  static const std::vector<Architecture> all = {
      {.name = "aarch64",
       .machines = {"aarch64"},
       .compiler = "aarch64-linux-gnu-g++",
       .objcopy = "aarch64-linux-gnu-objcopy",
       .package = "g++-aarch64-linux-gnu",
       .emulator = "qemu-aarch64-static",
       .emulator_words = {"-cpu", "cortex-a76"},
       .loader = "/lib/ld-linux-aarch64.so.1",
       .triple = "aarch64-linux-gnu"},
      // With the floating-point registers in calls; what runs 32-bit programs on a 64-bit core is armv8l.
      {.name = "armv7",
       .machines = {"armv7l", "armv8l"},
       .compiler = "arm-linux-gnueabihf-g++",
       .objcopy = "arm-linux-gnueabihf-objcopy",
       .package = "g++-arm-linux-gnueabihf",
       .emulator = "qemu-arm-static",
       .emulator_words = {"-cpu", "cortex-a15"},
       .triple = "arm-linux-gnueabihf",
       .in_filters = "arm",
       .address_bits = 32},
      {.name = "riscv64",
       .machines = {"riscv64"},
       .compiler = "riscv64-linux-gnu-g++",
       .objcopy = "riscv64-linux-gnu-objcopy",
       .package = "g++-riscv64-linux-gnu",
       .emulator = "qemu-riscv64-static",
       .loader = "/lib/ld-linux-riscv64-lp64d.so.1",
       .triple = "riscv64-linux-gnu"},
      {.name = "x86_64",
       .machines = {"x86_64"},
       .compiler = "g++",
       .objcopy = "objcopy",
       .package = "g++",
       .loader = "/lib64/ld-linux-x86-64.so.2"},
  };
  return all;
}

Result<Architecture> architecture_named(const std::string& name) {
  std::string names;
  for (const Architecture& one : all_architectures()) {
    if (one.name == name || std::ranges::find(one.machines, name) != one.machines.end()) return one;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  return fail("kernels cannot be built for '{}'; for these they can: {}", name, names);
}

std::string missing_for(const Architecture& architecture, bool emulated) {
  const auto is_here = [](const std::string& program) { return ::access(("/usr/bin/" + program).c_str(), X_OK) == 0; };
  std::string packages;
  if (!is_here(architecture.compiler) || !is_here(architecture.objcopy)) packages += " " + architecture.package;
  if (emulated && !is_here(architecture.emulator)) packages += " qemu-user-static";
  return packages.empty() ? "" : "apt-get install" + packages;
}

std::vector<std::string> flags_for(const Architecture& architecture, const Said& said) {
  if (architecture.name == "x86_64") {
    const std::string level = said.text("level");
    return {"-march=" + (level.starts_with("x86-64-v") ? level : "x86-64")};
  }
  const std::uint64_t first = said.number("hwcap"), second = said.number("hwcap2");
  if (architecture.name == "armv7") {
    const bool divides = bit(first, kDivides) && bit(first, kDividesInThumb);
    if (!bit(first, kNeon)) return {"-march=armv7-a+fp"};
    if (!bit(first, kFusedNeon)) return {"-march=armv7-a+simd"};
    if (bit(second, kChecksums)) return {"-march=armv8-a+crc+simd"};
    return {divides ? "-march=armv7ve+simd" : "-march=armv7-a+neon-vfpv4"};
  }
  if (architecture.name != "aarch64") return {};
  std::string march = "armv8-a";
  if (bit(first, kAtomics) && bit(first, kRounding)) march = bit(first, kHalf) ? "armv8.2-a+fp16" : "armv8.1-a";
  if (bit(first, kDotProducts)) march += "+dotprod";
  if (bit(second, kInt8Products)) march += "+i8mm";
  if (bit(second, kBfloat16)) march += "+bf16";
  std::vector<std::string> flags = {"-march=" + march};
  if (const std::string core = core_to_tune_for(said); !core.empty()) flags.push_back("-mtune=" + core);
  return flags;
}

std::string core_to_tune_for(const Said& said) {
  const Core* core = core_of(best_midr(said));
  return core == nullptr ? "" : core->tune;
}

Result<std::string> core_named(const std::string& name) {
  std::string small, names;
  for (const char c : name) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Core& core : kCores) {
    if (small == core.tune || "cortex-" + small == core.tune) return std::string(core.tune);
    names += (names.empty() ? "" : ", ") + std::string(core.tune);
  }
  return fail("no core is called '{}' here; these are: {}", fit_for_a_line(name), names);
}

std::string vectors_of(const Architecture& architecture, const Said& said) {
  const std::uint64_t first = said.number("hwcap"), second = said.number("hwcap2");
  if (architecture.name == "x86_64") return said.text("level");
  if (architecture.name == "armv7") return !bit(first, kNeon) ? "" : bit(first, kFusedNeon) ? "NEON, VFPv4" : "NEON";
  if (architecture.name != "aarch64") return {};
  std::string text = "NEON";
  if (bit(first, kHalf)) text += ", fp16";
  if (bit(first, kDotProducts)) text += ", dotprod";
  if (bit(second, kInt8Products)) text += ", i8mm";
  if (bit(second, kBfloat16)) text += ", bf16";
  if (bit(first, kSve)) text += ", SVE";
  return text;
}

std::string core_name(const std::string& midr) {
  const Core* core = core_of(midr);
  return core == nullptr ? "" : core->name;
}

}  // namespace kw::remote
