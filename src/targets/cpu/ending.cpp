#include "targets/cpu/ending.h"

#include <signal.h>

namespace kw::cpu {
namespace {

// A fault so near below the end of the stack was an attempt to use more of it.
constexpr std::uint64_t kNearStack = std::uint64_t{256} << 20;

}  // namespace

std::string stage_text(host::Stage stage) {
  switch (stage) {
    case host::Stage::start:
    case host::Stage::load:
    case host::Stage::loaded:
      return "while it was loaded";
    case host::Stage::prepare:
      return "in kw_prepare";
    case host::Stage::run:
      return "in kw_run";
    case host::Stage::idle:
      return "after kw_run had returned";
  }
  return "";
}

std::string describe(std::uint64_t address, const Surroundings& around) {
  constexpr std::uint64_t kNear = std::uint64_t{8} << 20;
  if (around.layout == nullptr || address == 0) return {};
  for (const Layout::Call& call : around.layout->calls) {
    for (const bool output : {false, true}) {
      const std::vector<Buffer>& buffers = output ? call.outputs : call.inputs;
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        const Buffer& buffer = buffers[i];
        const std::uint64_t end = buffer.address + buffer.size_bytes;
        if (address + kNear < buffer.address || address >= end + kNear) continue;
        const auto slot = output ? static_cast<std::size_t>(around.instance->graph.outputs[i]) : i;
        const std::string name =
            fmt::format("{} {} ({})", output ? "output" : "input", i, around.instance->graph.names[slot]);
        if (address < buffer.address) {
          return fmt::format("{} bytes before the beginning of {}", buffer.address - address, name);
        }
        if (address >= end) return fmt::format("{} bytes past the end of {}", address - end, name);
        return fmt::format("byte {} of {}{}", address - buffer.address, name, output ? "" : ", which is read-only");
      }
    }
  }
  return {};
}

Reason reason_of_end(const host::Control& control, const std::optional<sandbox::Ending>& ending,
                     const Surroundings& around, const std::string& system_call) {
  const std::string where = stage_text(control.stage);
  const host::Fault fault = control.fault;
  switch (fault.signal) {
    case 0:
      // No fault was seen: it left by itself, or was ended from outside.
      if (!ending) return {ReasonCode::lost, {{"where", where}}};
      if (ending->exit_code >= 0) {
        return {ReasonCode::ended_itself, {{"where", where}, {"exit_code", ending->exit_code}}};
      }
      return {ending->signal == SIGKILL ? ReasonCode::killed : ReasonCode::ended_by_signal,
              {{"where", where}, {"ending", ending->text()}}};
    case SIGSYS:
      if (fault.system_call == host::kClockInstruction) {
        return {ReasonCode::system_call, {{"where", where}, {"instruction", "rdtsc"}}};
      }
      return {ReasonCode::system_call, {{"where", where}, {"name", system_call}}};
    case SIGSEGV:
    case SIGBUS: {
      // x86 reports these without an address.
      if (fault.code == SI_KERNEL || (fault.signal == SIGBUS && fault.code == BUS_ADRALN)) {
        return {ReasonCode::misaligned_access, {{"where", where}}};
      }
      Reason reason{ReasonCode::touched_memory, {{"where", where}}};
      if (const std::string place = describe(fault.address, around); !place.empty()) {
        reason.params["place"] = place;
      } else if (fault.address < control.stack_end && fault.address + kNearStack > control.stack_end) {
        return {ReasonCode::too_much_stack, {{"where", where}, {"kilobytes", host::kMostStackBytes >> 10}}};
      } else if (fault.address != 0 && around.layout != nullptr) {
        reason.params["address"] = fmt::format("{:#x}", fault.address);
      }
      return reason;
    }
    case SIGFPE:
      return {ReasonCode::divided_by_zero, {{"where", where}}};
    case SIGILL:
      return {ReasonCode::illegal_instruction, {{"where", where}}};
    case SIGABRT:
      return {ReasonCode::aborted, {{"where", where}}};
    default:
      return {ReasonCode::signal, {{"where", where}, {"signal", fault.signal}}};
  }
}

}  // namespace kw::cpu
