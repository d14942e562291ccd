// The CPU of this machine.
#include "targets/target.h"

#include "base/files.h"
#include "targets/cpu/about.h"
#include "targets/cpu/device.h"

namespace kw::targets {

namespace {

std::string identity(const std::string&) {
  const cpu::CpuFacts facts = cpu::read_cpu_facts();
  std::string text = fmt::format("machine {} {} cores\n", facts.model, facts.usable_cores) + state_of("/usr/bin/g++") +
                     state_of("/usr/bin/clang++");
  // What kernels include.
  const auto data = data_folder();
  if (!data.ok()) return text;
  return text + state_of((*data / "include" / "kernelwright.h").string()) + states_in(*data / "kernels/cpu/parts");
}

}  // namespace

Target cpu() {
  return {.name = "cpu",
          .languages = {".cpp", ".c", ".cc", ".cxx"},
          .open = kw::cpu::CpuDevice::open,
          .identity = identity,
          .is_usual = true,
          .names = "cpu",
          .facts = [](const std::string&) { return kw::cpu::device_facts(); },
          .known_roofs = [](const std::string&) { return kw::cpu::known_roof_table(); },
          .measure_roofs = [](const std::string&) { return kw::cpu::measured_roof_table(); },
          .least_time = [](const std::string&, const Cost& cost,
                           int threads) { return kw::cpu::least_time(cost, threads); },
          .tools = kw::cpu::tools,
          .build_options = kw::cpu::build_options,
          .techniques = "cpu",
          .offers_parts = true,
          .build_command = kw::cpu::build_command,
          .make_shared_calls = kw::cpu::shared_calls,
          .make_shared_outputs = kw::cpu::shared_outputs,
          .takeaway = "takeaway"};
}

}  // namespace kw::targets
