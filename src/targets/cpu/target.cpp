// The CPU of this machine.
#include "targets/target.h"

#include "targets/cpu/device.h"
#include "targets/cpu/facts.h"

namespace kw::targets {

namespace {

std::string identity(const std::string&) {
  const CpuFacts facts = read_cpu_facts();
  return fmt::format("machine {} {} cores\n", facts.model, facts.usable_cores) + state_of("/usr/bin/g++") +
         state_of("/usr/bin/clang++");
}

}  // namespace

Target cpu() {
  return {.name = "cpu", .languages = {".cpp", ".c"}, .open = kw::cpu::CpuDevice::open, .identity = identity};
}

}  // namespace kw::targets
